/**
 * A client port that serves the status page and refuses all clients. A command that looks for a
 * cluster there finds a node, but no service.
 */
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/**
 * The endpoint of a page that ends with the test. With `tls` the page is served over TLS; with
 * `token` it is the page of a closed cluster.
 */
export async function statusPage(
  id: number,
  fields: object,
  tls?: ServerOptions,
  token?: string,
): Promise<string> {
  const endpointOf = (): string => {
    const { port } = page.address() as AddressInfo;
    return `${tls === undefined ? "ws" : "wss"}://127.0.0.1:${port}`;
  };
  const answer: RequestListener = ({ headers }, response) => {
    if (token !== undefined && headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end("this page needs an access token\n");
      return;
    }
    const endpoint = endpointOf();
    const numbers = { pid: 40 + id, term: 3, leader: 1, commitIndex: 9, appliedIndex: 9 };
    response.end(JSON.stringify({ id, endpoint, ...numbers, ...fields }));
  };
  const page = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  onTestFinished(() => {
    page.close();
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  return endpointOf();
}
