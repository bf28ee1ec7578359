/**
 * Redisson, unchanged, at real nodes and at Redis: the same calls come to the same. Maven gets its jars from
 * its registry. Then by sentinels, while the node that it uses is killed.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, afterEach, expect, test } from "vitest";
import { findCommand } from "../../../lab/find-command.js";
import { freePorts } from "../../../lab/free-ports.js";
import { type ClusterProcess, startCluster } from "../../e2e/world/cluster-process.js";
import { startRedis } from "../../fence/stores/redis.js";

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, "redisson");
const MAIN = "RedissonLocks";
/** The newest, and the last of the third line; both run on Java 17. */
const VERSIONS = ["4.7.0", "3.52.0"];
/** The jars are fetched first. */
const TIMEOUT_MS = 500_000;

const directories: string[] = [];
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/** The class path of the program with that version; `undefined`: Java or Maven is not installed. */
async function build(version: string): Promise<string | undefined> {
  const mvn = findCommand("mvn");
  if (mvn === undefined || findCommand("java") === undefined) return undefined;
  const target = mkdtempSync(join(tmpdir(), "holdfast-redisson-"));
  directories.push(target);
  const settings = [`-Dredisson.version=${version}`, `-Dtarget=${target}`];
  const goals = ["compile", "dependency:copy-dependencies", `-DoutputDirectory=${target}/jars`];
  await run(mvn, ["-q", "-B", ...settings, ...goals], { cwd: PROJECT });
  return `${target}/classes:${target}/jars/*`;
}

async function told(classPath: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run("java", ["-cp", classPath, MAIN, ...args]);
  return stdout.trim().split("\n");
}

async function startNodes(
  count: 1 | 3,
  ...options: readonly string[]
): Promise<{ cluster: ClusterProcess; addresses: readonly string[] }> {
  const ports = await freePorts(count);
  const cluster = await startCluster({
    nodes: count,
    argumentsOf: (id) => [`--redis-listen=127.0.0.1:${ports[id - 1]}`, ...options],
  });
  return { cluster, addresses: ports.map((port) => `redis://127.0.0.1:${port}`) };
}

/** What a node refuses, in place of what Redis does. */
const REFUSED = ["fair", "semaphore", "latch", "map"];

test.for(VERSIONS)(
  "Redisson %s finds at a node what it finds at Redis, and is refused what is not a lock",
  { timeout: TIMEOUT_MS },
  async (version, context) => {
    const classPath = await build(version);
    if (classPath === undefined) return context.skip("java or mvn is not installed");
    await using redis = await startRedis();
    if (redis === undefined) return context.skip("redis-server is not installed");
    const atRedis = await told(classPath, "single", `redis://127.0.0.1:${redis.port}`);
    const { cluster, addresses } = await startNodes(1);
    await using _ = cluster;
    const expected = atRedis.map((line) => {
      const [what = ""] = line.split(":");
      return REFUSED.includes(what) ? `${what}: RedisException NOHOLDFAST` : line;
    });
    expect(await told(classPath, "single", addresses[0] as string)).toEqual(expected);
  },
);

test(
  "forceUnlock is answered with --redis-allow-unproven",
  async (context) => {
    const classPath = await build(VERSIONS[0] as string);
    if (classPath === undefined) return context.skip("java or mvn is not installed");
    const { cluster, addresses } = await startNodes(1, "--redis-allow-unproven");
    await using _ = cluster;
    expect(await told(classPath, "forced", addresses[0] as string)).toEqual([
      "force of what is free: false",
      "force: true false",
      "force of a reader: true",
      "force of a writer: true",
      "locked after it: true",
    ]);
  },
  TIMEOUT_MS,
);

test(
  "by sentinels, the node that Redisson uses is killed: holds, counts and watchdog go on, and nobody holds twice",
  async (context) => {
    const classPath = await build(VERSIONS[0] as string);
    if (classPath === undefined) return context.skip("java or mvn is not installed");
    const { cluster, addresses } = await startNodes(3);
    await using _ = cluster;
    const leader = await cluster.leader();
    const child = spawn("java", ["-cp", classPath, MAIN, "failover", ...addresses], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout });
    const heard: string[] = [];
    const running = once(lines, "line");
    lines.on("line", (line) => heard.push(line));
    await running;
    await leader.kill();
    child.stdin.write("go on\n");
    await once(child, "exit");
    expect(heard).toEqual([
      "running",
      "two at once: 0",
      "count of holds: 2",
      "another: false",
      "unlock: done",
      "count of holds then: 1",
      "unlock again: done",
      "another then: true",
    ]);
  },
  TIMEOUT_MS,
);
