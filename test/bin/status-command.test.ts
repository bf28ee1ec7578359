/** `holdfast status` of nodes in states that are rare: damaged, learning, starting. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { runCli } from "../e2e/command-line.js";

const pages: Server[] = [];
afterEach(() => {
  for (const page of pages.splice(0)) page.close();
});

/** A node's client port that only tells its status. */
async function statusPage(id: number, fields: object): Promise<string> {
  const page = createServer((_, response) => {
    const endpoint = `ws://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const numbers = { pid: 40 + id, term: 3, leader: 1, commitIndex: 9, appliedIndex: 9 };
    response.end(JSON.stringify({ id, endpoint, ...numbers, ...fields }));
  });
  pages.push(page);
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  return `ws://127.0.0.1:${(page.address() as AddressInfo).port}`;
}

const DAMAGE = { file: "/n2/log/7.seg", offset: 512, index: 7, reason: "wrong\u001b[2J checksum" };

async function endpoints(): Promise<string> {
  const urls = [
    await statusPage(1, { role: "leader" }),
    await statusPage(2, { role: "quarantined", damage: DAMAGE }),
    await statusPage(3, { role: "learner" }),
    await statusPage(4, { role: "starting" }),
  ];
  return `--endpoints=${urls.join(",")}`;
}

test("a quarantined node is shown with what is damaged and what to do", async () => {
  const { code, stdout, stderr } = await runCli(["status", await endpoints()]);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.split("\n");
  expect(lines.slice(1, 5).map((line) => line.trim().split(/ +/)[1])).toEqual([
    "leader",
    "quarantined",
    "learner",
    "starting",
  ]);
  expect(lines.slice(5)).toEqual([
    "",
    "node 2 is quarantined: /n2/log/7.seg: wrong\\u{1b}[2J checksum",
    "stop it, then: holdfast recover --id 2 --data DIRECTORY",
    "",
  ]);
});

test("the document names the damage of that node alone", async () => {
  const { stdout } = await runCli(["status", "--json", await endpoints()]);
  const { nodes } = JSON.parse(stdout) as { nodes: { role: string; damage?: object }[] };
  expect(nodes.map(({ role }) => role)).toEqual(["leader", "quarantined", "learner", "starting"]);
  const { file, reason } = DAMAGE;
  expect(nodes.map(({ damage }) => damage)).toEqual([
    undefined,
    { file, reason },
    undefined,
    undefined,
  ]);
});

test("a page with something else for the damage is no node's", async () => {
  const url = await statusPage(1, { role: "leader", damage: "none" });
  const { code, stdout } = await runCli(["status", "--json", `--endpoints=${url}`]);
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ nodes: [{ role: "unreachable" }] });
});
