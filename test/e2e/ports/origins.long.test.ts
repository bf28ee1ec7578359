/** Which web pages may connect to a cluster, as set on the command line or in the environment. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli, startCli } from "../world/command-line.js";
import { knock } from "../world/knock.js";

const ALLOWED = ["http://localhost:3000", "https://ops.example"] as const;
let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-origins-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test.each([
  ["flags", ALLOWED.map((origin) => `--allow-origin=${origin}`), {}],
  ["the environment", [], { HOLDFAST_ALLOW_ORIGIN: ALLOWED.join(", ") }],
] as const)(
  "a cluster that is configured by %s lets these pages in, and every node says whom not",
  async (name, flags, env) => {
    const data = join(directory, name);
    const ports = ["--nodes=1", "--port=0", "--peer-port=0"];
    const cluster = startCli(["cluster", `--data=${data}`, ...ports, "--json", ...flags], {
      ownGroup: true,
      env,
    });
    await cluster.printed("\n");
    const { nodes } = JSON.parse(cluster.stdout);
    const [{ endpoint, log }] = nodes;
    for (const origin of ALLOWED) expect(await knock(endpoint, origin)).toBe(101);
    expect(await knock(endpoint)).toBe(101);
    for (const origin of [
      "http://localhost:3001",
      "http://localhost:3001",
      "https://evil.example",
    ]) {
      expect(await knock(endpoint, origin)).toBe(403);
    }
    process.kill(-cluster.pid, "SIGINT");
    expect(await cluster.result).toMatchObject({ signal: "SIGINT" });
    const lines = (await readFile(log, "utf8")).split("\n").filter((line) => /may not/.test(line));
    expect(lines).toEqual([
      expect.stringContaining("http://localhost:3001"),
      expect.stringContaining("https://evil.example"),
    ]);
  },
);

test("a text that is not an origin is refused at the start, with the flag's own name", async () => {
  const server = ["server", "--id=1", "--initial-cluster=1=127.0.0.1:1", "--data"];
  const { code, stderr } = await runCli([...server, directory, "--allow-origin=*"]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('--allow-origin "*" would let the pages of any site in'),
  });
});
