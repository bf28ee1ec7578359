/**
 * A node's client port that tells its status and nothing else: it takes no client, so a command that
 * looks for a cluster finds a node and no service.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The endpoint of a page that ends with the test. */
export async function statusPage(id: number, fields: object): Promise<string> {
  const page = createServer((_, response) => {
    const endpoint = `ws://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const numbers = { pid: 40 + id, term: 3, leader: 1, commitIndex: 9, appliedIndex: 9 };
    response.end(JSON.stringify({ id, endpoint, ...numbers, ...fields }));
  });
  onTestFinished(() => {
    page.close();
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  return `ws://127.0.0.1:${(page.address() as AddressInfo).port}`;
}
