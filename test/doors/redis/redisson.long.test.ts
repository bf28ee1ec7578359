/**
 * Redisson, unchanged, at real nodes and at Redis: the same calls come to the same. Maven gets its jars from
 * its registry. Then by sentinels, while the node that it uses is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, expect, test } from "vitest";
import { startRedis } from "../../fence/stores/redis.js";
import { compileJava, javaProgram } from "./world/foreign-program.js";
import { type RedisNodes, startRedisNodes } from "./world/redis-nodes.js";

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
  const target = mkdtempSync(join(tmpdir(), "holdfast-redisson-"));
  directories.push(target);
  return compileJava(PROJECT, target, { "redisson.version": version });
}

function addressesOf({ ports }: RedisNodes): readonly string[] {
  return ports.map((port) => `redis://127.0.0.1:${port}`);
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
    const program = javaProgram(classPath, MAIN);
    const atRedis = await program("single", `redis://127.0.0.1:${redis.port}`);
    await using nodes = await startRedisNodes(1);
    const expected = atRedis.map((line) => {
      const [what = ""] = line.split(":");
      return REFUSED.includes(what) ? `${what}: RedisException NOHOLDFAST` : line;
    });
    expect(await program("single", ...addressesOf(nodes))).toEqual(expected);
  },
);

test(
  "forceUnlock is answered with --redis-allow-unproven",
  async (context) => {
    const classPath = await build(VERSIONS[0] as string);
    if (classPath === undefined) return context.skip("java or mvn is not installed");
    await using nodes = await startRedisNodes(1, "--redis-allow-unproven");
    const program = javaProgram(classPath, MAIN);
    expect(await program("forced", ...addressesOf(nodes))).toEqual([
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
    await using nodes = await startRedisNodes(3);
    const leader = await nodes.cluster.leader();
    const child = spawn("java", ["-cp", classPath, MAIN, "failover", ...addressesOf(nodes)], {
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
