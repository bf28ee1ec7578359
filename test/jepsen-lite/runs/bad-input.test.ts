/** What cannot be done is refused at once, in one line that names it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NEMESES } from "../../../jepsen-lite/nemeses/catalogue.js";
import { runCommand } from "../../../jepsen-lite/run/run-command.js";
import { parseRunOptions } from "../../../jepsen-lite/run/run-options.js";
import { WORKLOADS } from "../../../jepsen-lite/workloads/catalogue.js";
import { freePorts } from "../../../lab/free-ports.js";
import { startJepsen } from "./run-jepsen.js";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-bad-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test.each([
  [["--minutes", "soon"], "--minutes soon: a number from 0.05 to 10080 is needed"],
  [["--time", "1"], "--time 1: a number from 3 to 604800 is needed"],
  [
    ["--time", "5", "--minutes", "1"],
    "option '--time <seconds>' cannot be used with option '--minutes <m>'",
  ],
  [["--nodes", "4"], "--nodes 4: one of 1, 3, 5, 7 is needed"],
  [["--nodes", "2.5"], "--nodes 2.5: one of 1, 3, 5, 7 is needed"],
  [["--schedule", "random"], "--schedule random: one of each, pairs, all, none is needed"],
  [["--ttl", "10"], "--ttl 10: a whole number from 1000 to 600000 is needed"],
  [
    ["--out", "a", "--keep", "b"],
    "option '--keep <directory>' cannot be used with option '--out <directory>'",
  ],
  [["--out", "--json"], "--out --json: a value is needed"],
  [["--workloads", "mutex"], "unknown option '--workloads' (Did you mean --workload?)"],
  [["mutex"], "unexpected argument 'mutex'"],
  [["--peers", "./mine.ts"], "--peers ./mine.ts: peers are given by name, not by file"],
])("%j is refused", (argv, message) => {
  expect(() => parseRunOptions(argv)).toThrow(
    expect.objectContaining({ name: "UsageError", message }),
  );
});

test("a closed cluster needs loopback: --netns leaves its workload out, and refuses it by name", async () => {
  const options = parseRunOptions(["--netns"]);
  if (typeof options === "string") throw new Error(options);
  const usual = WORKLOADS.map(({ name }) => name).filter((name) => name !== "identities");
  expect(options.workloads).toEqual(usual);
  await expect(
    runCommand(["--netns", "--workload", "mutex,identities", "--nemesis", "none"]),
  ).rejects.toThrow("workload identities: access tokens are not sent in plain text");
});

test("with peers everything means everything that they can do too", () => {
  const names = (...argv: string[]) => {
    const options = parseRunOptions(argv);
    if (typeof options === "string") throw new Error(options);
    const { peers, workloads, nemeses } = options;
    return { peers, workloads, nemeses };
  };
  const common = {
    workloads: ["mutex", "leases", "guarded", "unfenced"],
    nemeses: expect.arrayContaining(["kill", "partition-clients"]),
  };
  const withPeers = names("--peers", "all");
  const peers = ["redis", "etcd", "redlock-redis", "redlock-door"];
  expect(withPeers).toEqual({ peers, ...common });
  expect(withPeers.nemeses).not.toContain("damage");
  expect(names("--peers=etcd", "-w", "all", "-n", "all")).toEqual({
    ...withPeers,
    peers: ["etcd"],
  });
  const unusual = ["disk-full", "power-loss", "out-of-memory"];
  const alone = names();
  expect(alone).toEqual({
    peers: [],
    workloads: WORKLOADS.map(({ name }) => name),
    nemeses: NEMESES.map(({ name }) => name).filter((name) => !unusual.includes(name)),
  });
  expect(names("-n", "all").nemeses).toEqual([...alone.nemeses, ...unusual]);
  expect(names("-w", "rw,./mine.ts", "--workload", "mutex,rw", "-n", "none")).toEqual({
    peers: [],
    workloads: ["rw", "mutex"],
    nemeses: [],
  });
});

test.each([
  [["--peers", "redi"], 'unknown peer "redi" (did you mean "redis"?): there are redis, etcd'],
  [["--peers", "redis", "--workload", "rw"], "workload rw: peers have plain locks only: mutex, "],
  [["--peers", "etcd", "--nemesis", "damage"], "nemesis damage: only Holdfast has that; peers "],
  [["--peers", "redis", "--netns"], "--peers requires the proxies: leave --netns out"],
])("%j is refused in one line", async (argv, message) => {
  await expect(runCommand(argv)).rejects.toThrow(
    expect.objectContaining({
      name: expect.stringMatching(/^(Usage|Refused)Error$/),
      message: expect.stringMatching(new RegExp(`^${message.replace(/[?()]/g, "\\$&")}.*$`)),
    }),
  );
});

test("servers that are not installed are all named, with how to get them", async () => {
  const words = ["--peers=redis,etcd", "--time=3", "--quiet"];
  const { code, stdout, stderr } = await startJepsen(words, { PATH: directory }).ended;
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toBe(
    "jepsen: --peers: redis-server is not installed (Debian: apt-get install redis-server); " +
      "etcd is not installed (Debian: apt-get install etcd-server); see npm run jepsen -- --help\n",
  );
});

test("an unknown workload is refused with the name that was probably meant", async () => {
  await expect(runCommand(["--workload", "mutx"])).rejects.toThrow(
    'unknown workload "mutx" (did you mean "mutex"?): there are mutex, rw, ',
  );
});

test("an unknown nemesis is refused with the name that was probably meant", async () => {
  await expect(runCommand(["--nemesis", "kill,partitoin"])).rejects.toThrow(
    'unknown nemesis "partitoin" (did you mean "partition"?): there are kill, ',
  );
});

test("a module that is missing, does not load or exports nothing is refused by its name", async () => {
  const refused = async (file: string) =>
    runCommand(["--workload", file]).then(
      () => "",
      (error: Error) => `${error.name}: ${error.message}`,
    );
  const empty = join(directory, "empty.mjs");
  await writeFile(empty, "export const other = 1;\n");
  const broken = join(directory, "broken.mjs");
  await writeFile(broken, "export const = 1;\n");
  expect(await refused("./not-there.ts")).toMatch(
    /^RefusedError: there is no file .*not-there\.ts$/,
  );
  expect(await refused(empty)).toBe(
    `RefusedError: ${empty} does not export a workload with a name`,
  );
  expect(await refused(broken)).toMatch(/^RefusedError: .*broken\.mjs cannot be loaded: /);
});

test("a port in use is refused by its number", async () => {
  const [port = 0] = await freePorts(1);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    const words = ["--workload=mutex", "--nemesis=none", "--time=3", `--port=${port}`, "--quiet"];
    const { code, stderr } = await startJepsen(words).ended;
    expect(code).toBe(2);
    expect(stderr).toBe(
      `jepsen: port ${port} is in use: --port ${port} needs 6 free ports, beginning there; ` +
        "see npm run jepsen -- --help\n",
    );
  } finally {
    server.close();
  }
});

test("a directory with results of another run is refused", async () => {
  const used = join(directory, "used");
  await mkdir(used);
  await writeFile(join(used, "history.jsonl"), "");
  await expect(runCommand(["--out", used])).rejects.toThrow(
    `${used} is not empty: it would mix the results of two runs`,
  );
});

test("slow links are refused with namespaces, which cannot make them", async () => {
  await expect(runCommand(["--nemesis", "slow", "--netns"])).rejects.toThrow(
    "nemesis slow: slow links require the proxies: leave --netns out",
  );
});

test("a nemesis either can be done here or says in one line why not", async () => {
  for (const nemesis of NEMESES) {
    const why = await nemesis.refusal?.({ nodes: 3, network: "proxies" });
    if (why === undefined) continue;
    console.warn(`NOT POSSIBLE HERE: ${nemesis.name}: ${why}`);
    expect(why).not.toContain("\n");
    expect(why.length).toBeGreaterThan(20);
  }
});

test.each([
  ["is cut short", '{"process":1,"type":"invoke","f":"read","time":1}\n{"process":1,"ty'],
  ["is not JSON", "process 1 reads\n"],
  ["is not there", undefined],
])("a history that %s is refused in one line", async (_why, text) => {
  const file = join(directory, `history-${text?.length ?? "missing"}.jsonl`);
  if (text !== undefined) await writeFile(file, text);
  const { code, stdout, stderr } = await startJepsen(["check", "--model=register", file]).ended;
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(stderr).toContain(file);
});
