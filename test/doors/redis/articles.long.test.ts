/**
 * Locks as articles about Redis teach them, in Go and Java, at real nodes and at Redis: the same steps come to the
 * same, or are refused with a sentence that says what to write instead.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { startRedis } from "../../fence/stores/redis.js";
import { RespClient } from "./world/door-world.js";
import { compileGo, compileJava, type ForeignProgram } from "./world/foreign-program.js";
import { startRedisNodes } from "./world/redis-nodes.js";

const FOLDER = join(import.meta.dirname, "articles");
/** Modules and jars are fetched first. */
const TIMEOUT_MS = 500_000;
const NO_GO = "go is not installed";
const NO_JAVA = "java or mvn is not installed";
const NO_REDIS = "redis-server is not installed";
const PAGE = "; see docs/reference/redis-port.md";

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function targetDirectory(): string {
  const target = mkdtempSync(join(tmpdir(), "holdfast-articles-"));
  directories.push(target);
  return target;
}

/** Both languages are compiled once, when a test first needs them. */
let goProgram: Promise<ForeignProgram | undefined> | undefined;
let javaProgram: Promise<ForeignProgram | undefined> | undefined;

function inGo(): Promise<ForeignProgram | undefined> {
  goProgram ??= compileGo(join(FOLDER, "go"), targetDirectory());
  return goProgram;
}

function inJava(): Promise<ForeignProgram | undefined> {
  javaProgram ??= compileJava(join(FOLDER, "java"), targetDirectory()).then((classes) =>
    classes?.("Articles"),
  );
  return javaProgram;
}

function addressesOf(ports: readonly number[]): readonly string[] {
  return ports.map((port) => `127.0.0.1:${port}`);
}

/** Runs all samples at once, each with keys of its own. */
async function outcomes(
  program: ForeignProgram,
  samples: readonly string[],
  ...where: readonly string[]
): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = samples.map(
    async (sample) => [sample, await program.run(sample, ...where)] as const,
  );
  return Object.fromEntries(await Promise.all(lines));
}

/** Whether somebody holds the key, as the port says. */
async function existing(port: number, key: string): Promise<string> {
  const client = await RespClient.open(port);
  try {
    return await client.call("EXISTS", key);
  } finally {
    client.close();
  }
}

test(
  "locks by go-redis come to the same at a node as at Redis",
  async (context) => {
    const program = await inGo();
    if (program === undefined) return context.skip(NO_GO);
    await using redis = await startRedis();
    if (redis === undefined) return context.skip(NO_REDIS);
    await using nodes = await startRedisNodes(1);
    const samples = [
      ...["token", "token-v8", "watchdog", "watchdog-ms", "retry"],
      ...["reentrant-hash", "reentrant-counter", "repeatable"],
    ];
    const [atRedis, atNode] = await Promise.all([
      outcomes(program, samples, ...addressesOf([redis.port])),
      outcomes(program, samples, ...addressesOf(nodes.ports)),
    ]);
    expect(atNode).toEqual(atRedis);
  },
  TIMEOUT_MS,
);

test(
  "Redlock by hand over three clusters comes to the same as over three Redis, also with one that is gone",
  async (context) => {
    const program = await inGo();
    if (program === undefined) return context.skip(NO_GO);
    await using one = await startRedis();
    await using two = await startRedis();
    await using three = await startRedis();
    if (one === undefined || two === undefined || three === undefined)
      return context.skip(NO_REDIS);
    const servers = [one.port, two.port, three.port];
    await using first = await startRedisNodes(1);
    await using second = await startRedisNodes(1);
    await using third = await startRedisNodes(1);
    const clusters = [first, second, third].flatMap(({ ports }) => ports);
    const [nobody = 0] = await freePorts(1);
    for (const gone of [undefined, 0, 2]) {
      const without = (ports: readonly number[]): readonly string[] =>
        addressesOf(ports.map((port, at) => (at === gone ? nobody : port)));
      const [atRedis, atClusters] = await Promise.all([
        program.run("redlock", ...without(servers)),
        program.run("redlock", ...without(clusters)),
      ]);
      expect([gone, ...atClusters]).toEqual([gone, ...atRedis]);
      expect(atClusters).toContain(`alice releases: ${gone === undefined ? 3 : 2}`);
    }
  },
  TIMEOUT_MS,
);

test(
  "Redlock by hand over the nodes of one cluster gets its lock with --redis-redlock, and holds nothing without",
  async (context) => {
    const program = await inGo();
    if (program === undefined) return context.skip(NO_GO);
    await using one = await startRedis();
    await using two = await startRedis();
    await using three = await startRedis();
    if (one === undefined || two === undefined || three === undefined)
      return context.skip(NO_REDIS);
    const atRedis = await program.run("redlock", ...addressesOf([one.port, two.port, three.port]));
    await using confirming = await startRedisNodes(3, "--redis-redlock");
    expect(await program.run("redlock", ...addressesOf(confirming.ports))).toEqual(atRedis);
    await using plain = await startRedisNodes(3);
    for (let acquire = 0; acquire < 3; acquire++) {
      expect(await program.run("redlock", ...addressesOf(plain.ports))).toEqual([
        "alice takes: false",
      ]);
    }
    expect(await existing(plain.ports[0] as number, "article:redlock")).toBe(":0");
    expect(plain.cluster.nodes.map(({ stderr }) => stderr).join("\n")).toMatch(
      /Redlock over one cluster/,
    );
  },
  TIMEOUT_MS,
);

test(
  "a StringRedisTemplate of Spring comes to the same at a node as at Redis",
  async (context) => {
    const program = await inJava();
    if (program === undefined) return context.skip(NO_JAVA);
    await using redis = await startRedis();
    if (redis === undefined) return context.skip(NO_REDIS);
    await using nodes = await startRedisNodes(1);
    const [atRedis, atNode] = await Promise.all([
      program.run("template", ...addressesOf([redis.port])),
      program.run("template", ...addressesOf(nodes.ports)),
    ]);
    expect(atNode).toEqual(atRedis);
  },
  TIMEOUT_MS,
);

const WAY = "a script that compares the value, or DELEX key IFEQ value";
const NO_PROOF = `DEL without the value that holds the key would end or move the lock of anybody: use ${WAY}, \
or start the nodes with --redis-allow-unproven`;

test(
  "with Jedis, a release by GET and DEL is refused with what to write instead, and so is the next take",
  async (context) => {
    const program = await inJava();
    if (program === undefined) return context.skip(NO_JAVA);
    await using nodes = await startRedisNodes(1);
    const [port = 0] = nodes.ports;
    const unendable = `NOHOLDFAST this client could not end or extend the lock: for its lock before this one DEL was \
refused (${NO_PROOF})${PAGE}`;
    expect(await program.run("set-then-del", ...addressesOf([port]))).toEqual([
      "carol takes, and never releases: true",
      "bob takes in the end: true",
      "carol releases: false",
      "alice takes: true",
      "bob takes: false",
      "bob releases: false",
      `alice releases: NOHOLDFAST ${NO_PROOF}${PAGE}`,
      `alice takes the next one: ${unendable}`,
      `bob takes the next one: ${unendable}`,
      "alice releases the next one: false",
    ]);
    expect(await existing(port, "article:set-then-del:2")).toBe(":0");
  },
  TIMEOUT_MS,
);

test(
  "with Jedis, SETNX before EXPIRE and GETSET of a time are refused with what to write, and nothing is held",
  async (context) => {
    const program = await inJava();
    if (program === undefined) return context.skip(NO_JAVA);
    await using nodes = await startRedisNodes(1);
    const [port = 0] = nodes.ports;
    const endless = `NOHOLDFAST a lock without an expiry would outlive the process that took it: give it one in the \
same step (SET key value NX PX milliseconds; in a script, PEXPIRE), or start the nodes with --redis-allow-endless and \
set endlessLeases${PAGE}`;
    const overwrite = `NOHOLDFAST the Redis port of Holdfast does not answer GETSET: it would end the lock of another \
client without a proof; take it by SET key value NX PX milliseconds, and it ends by itself${PAGE}`;
    expect(await program.run("setnx-then-expire", ...addressesOf([port]))).toEqual([
      `alice takes: ${endless}`,
      "is there: false",
      `bob takes: ${endless}`,
      "bob releases: false",
      "alice releases: false",
      `bob takes, and never releases: ${endless}`,
      `alice takes in the end: ${endless}`,
      "bob releases: false",
      "alice releases: false",
    ]);
    expect(await program.run("expiry-in-the-value", ...addressesOf([port]))).toEqual([
      `alice takes: ${endless}`,
      "is there: false",
      `bob takes: ${endless}`,
      "bob releases: false",
      "alice releases: false",
      `alice overwrites what is free: ${overwrite}`,
      `bob takes what is over, and never releases: ${endless}`,
      `alice takes in the end: ${endless}`,
      "bob releases: false",
      "alice releases: false",
    ]);
    for (const key of ["article:setnx-then-expire", "article:expiry-in-the-value"]) {
      expect(await existing(port, key)).toBe(":0");
    }
  },
  TIMEOUT_MS,
);

test(
  "with Jedis, what takes or releases in two steps comes to the same as at Redis where that is allowed",
  async (context) => {
    const program = await inJava();
    if (program === undefined) return context.skip(NO_JAVA);
    await using redis = await startRedis();
    if (redis === undefined) return context.skip(NO_REDIS);
    const allowed = ["--redis-allow-unproven", "--redis-allow-endless"];
    await using nodes = await startRedisNodes(1, ...allowed);
    await nodes.cluster.operate("settings", "set", "endlessLeases", "1");
    const samples = ["set-then-del", "setnx-then-expire"];
    const [atRedis, atNode] = await Promise.all([
      outcomes(program, samples, ...addressesOf([redis.port])),
      outcomes(program, samples, ...addressesOf(nodes.ports)),
    ]);
    expect(atNode).toEqual(atRedis);
  },
  TIMEOUT_MS,
);
