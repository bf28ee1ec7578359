/**
 * Configuration as people see it: what a command uses comes from flags, environment and file in
 * that order, `holdfast config print` shows which, and what is wrong is said before anything
 * starts.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endAllStarted } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import { type ClusterProcess, runCli, startCluster } from "../world/cluster-process.js";
import { COMMAND } from "../world/command-line.js";
import { oneLine } from "../world/command-result.js";
import { NodeHandle } from "../world/node-handle.js";

interface Printed {
  readonly file: string | null;
  readonly options: readonly {
    readonly name: string;
    readonly command: string | null;
    readonly value: unknown;
    readonly source: string;
    readonly origin: string | null;
  }[];
}

let directory = "";
let cluster: ClusterProcess;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-config-"));
  cluster = await startCluster({ nodes: 1 });
});
afterAll(async () => {
  await cluster?.stop();
  endAllStarted();
  await rm(directory, { recursive: true, force: true });
});

let files = 0;
async function fileOf(content: unknown): Promise<string> {
  files += 1;
  const path = join(directory, `${files}.json`);
  await writeFile(path, JSON.stringify(content));
  return path;
}

async function printed(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runCli(["config", "print", ...args], { env });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Printed;
}

test("a file configures every command, wherever --config stands", async () => {
  const file = await fileOf({ endpoints: cluster.endpoints, conflictExitCode: 42, wait: false });
  const line = ["key", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"];
  for (const args of [
    ["run", "--config", file, ...line],
    ["--config", file, "run", ...line],
  ]) {
    const { code, stdout } = await runCli(args);
    expect([code, Number(stdout) > 0]).toEqual([0, true]);
  }
  expect((await runCli(["ls"], { env: { HOLDFAST_CONFIG: file } })).code).toBe(0);
  // The wait and the exit code too, inherited by a run inside a run.
  const inner = ["--", process.execPath, COMMAND, "run", "key", "--", "true"];
  const nested = await runCli(["run", "key", ...inner], { env: { HOLDFAST_CONFIG: file } });
  expect(nested.code).toBe(42);
});

test("config print shows what a command line would use, and where each value came from", async () => {
  const file = await fileOf({ ttl: "20s", killGrace: "1s", listen: "127.0.0.1:80" });
  const env = { HOLDFAST_TTL: "30s", HOLDFAST_CONFIG: file };
  const { file: path, options } = await printed(["--json", "run", "--kill-grace", "2s", "-n"], env);
  expect(path).toBe(file);
  const byName = Object.fromEntries(options.map((option) => [option.name, option]));
  expect(byName).toMatchObject({
    ttl: { command: "run", value: "30s", source: "environment", origin: "HOLDFAST_TTL" },
    killGrace: { value: "2s", source: "flag", origin: "--kill-grace" },
    wait: { value: "no", source: "flag" },
    maxHold: { value: null, source: "default", origin: null },
    connectTimeout: { command: null, value: "10s", source: "default" },
  });
  expect(byName).not.toHaveProperty("listen");

  const all = await printed(["--json"], env);
  expect(all.options.find(({ name }) => name === "listen")).toMatchObject({
    command: "server",
    source: "file",
    origin: file,
  });
  const text = await runCli(["config", "print", "run"], { env });
  expect(text.stdout).toMatch(/^ {2}ttl +30s +HOLDFAST_TTL$/m);
  expect(text.stdout).toMatch(/^ {2}killGrace +1s +\S+\.json$/m);
});

test("config print says what does not fit together, after the values that show it", async () => {
  const { code, stdout, stderr } = await runCli(["config", "print", "run", "--ttl", "6s"]);
  expect([code, oneLine(stderr)]).toEqual([2, expect.stringMatching(/--ttl 6s .*--kill-grace 5s/)]);
  expect(stdout).toMatch(/^ {2}ttl +6s +--ttl$/m);
  const unknown = await runCli(["config", "print", "sever"]);
  expect([unknown.code, oneLine(unknown.stderr)]).toEqual([
    2,
    expect.stringContaining("did you mean server?"),
  ]);
});

test("the JSON of config print is what a file takes", async () => {
  const server = ["server", "--peer-address", "2=a:1", "--join", "b:2", "--insecure"];
  const { options } = await printed(["--json", ...server]);
  const given = options.filter(({ source }) => source === "flag");
  expect(given).toHaveLength(3);
  const file = await fileOf(Object.fromEntries(given.map(({ name, value }) => [name, value])));
  const again = await printed(["--json", "server", "--config", file]);
  const values = (all: Printed["options"]) => all.map(({ name, value }) => [name, value]);
  const others = again.options.filter(({ name }) => name !== "config");
  expect(values(others)).toEqual(values(options.filter(({ name }) => name !== "config")));
});

test("a node starts from a file alone", async () => {
  const [clientPort, peerPort] = await freePorts(2);
  const file = await fileOf({
    id: 1,
    data: join(directory, "n1"),
    listen: `127.0.0.1:${clientPort}`,
    initialCluster: { 1: `127.0.0.1:${peerPort}` },
    electionTimeout: "300ms",
    // An option of another command: one file may serve all of them.
    endpoints: [`127.0.0.1:${clientPort}`],
  });
  const node = new NodeHandle(1, `ws://127.0.0.1:${clientPort}`, [
    `--config=${file}`,
    "--stop-on-stdin-end",
  ]);
  await node.start();
  const { code, stdout } = await runCli(["run", "--config", file, "first", "--", "echo", "ran"]);
  await node.stop();
  expect([code, stdout]).toEqual([0, "ran\n"]);
});

test("what nobody knows or nobody can read is refused before anything starts, in one line", async () => {
  const typo = await fileOf({ endpoint: "127.0.0.1:1" });
  const cases: readonly [readonly string[], Record<string, string>, string][] = [
    [["run", "--config", typo, "k", "--", "true"], {}, 'did you mean "endpoints"?'],
    [["server", "--config", typo], {}, 'unknown key "endpoint"'],
    [["ls", "--config", join(directory, "none")], {}, "there is no such file"],
    [["ls"], { HOLDFAST_ENDPIONTS: "127.0.0.1:1" }, "did you mean HOLDFAST_ENDPOINTS?"],
    [["ls"], { HOLDFAST_ENDPOINTS: "ftp://127.0.0.1:1" }, "HOLDFAST_ENDPOINTS=ftp:"],
    [["ls"], { HOLDFAST_ENDPOINTS: "ws://joe:geheim@h:1" }, "HOLDFAST_ENDPOINTS=ws://…@h:1: "],
    [["ls", "--endpoints", "ws://h:1?key=geheim"], {}, "argument 'ws://h:1?…' is invalid"],
    [["ls", "--\u001b[31m"], {}, "unknown option '--\\u{1b}[31m'"],
    [["run", "k", "--", "true"], { HOLDFAST_TTL: "15" }, "a duration needs a unit"],
    [["server"], {}, "required option '--id <n>' not specified"],
    [
      ["server", "--id", "1", "--data", "d", "--heartbeat-interval", "1s", "--peer-listen", "a:1"],
      {},
      "--heartbeat-interval 1s is more than half of --election-timeout 600ms",
    ],
  ];
  const results = await Promise.all(cases.map(([args, env]) => runCli(args, { env })));
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    expect([code, stdout]).toEqual([2, ""]);
    expect(oneLine(stderr)).toContain(cases[index]?.[2]);
    expect(stderr).not.toContain("geheim");
    expect(stderr).not.toContain("\u001b");
  }
});
