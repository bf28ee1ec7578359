/**
 * Redisson, unchanged, at real nodes and at Redis: the same calls come to the same. Then while something happens to the
 * node that it uses, and over several clusters.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import type { ClusterProcess, NodeHandle } from "../../e2e/world/cluster-process.js";
import { startRedis } from "../../fence/stores/redis.js";
import { RespClient } from "./world/door-world.js";
import { compileJava, type ForeignProgram, type RunningProgram } from "./world/foreign-program.js";
import { startProxiedRedisNodes, startRedisNodes } from "./world/redis-nodes.js";

const PROJECT = join(import.meta.dirname, "redisson");
/** The newest, and the last of the third line; both run on Java 17. */
const VERSIONS = ["4.7.0", "3.52.0"] as const;
/** The jars are fetched first. */
const TIMEOUT_MS = 500_000;
const NO_JAVA = "java or mvn is not installed";

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

type Program = "RedissonLocks" | "RedissonFaults" | "RedissonClusters";

/** Each version is built once, when a test first needs it. */
const builds = new Map<string, ReturnType<typeof compileJava>>();

/** The program with that version; `undefined`: Java or Maven is not installed. */
async function build(
  program: Program,
  version: string = VERSIONS[0],
): Promise<ForeignProgram | undefined> {
  let classes = builds.get(version);
  if (classes === undefined) {
    const target = mkdtempSync(join(tmpdir(), "holdfast-redisson-"));
    directories.push(target);
    classes = compileJava(PROJECT, target, { "redisson.version": version });
    builds.set(version, classes);
  }
  return (await classes)?.(program);
}

function addressOf(port: number | undefined): string {
  return `redis://127.0.0.1:${port}`;
}

/** What a node refuses, in place of what Redis does. */
const REFUSED = ["fair", "semaphore", "latch", "map"];

test.for(VERSIONS)(
  "Redisson %s finds at a node what it finds at Redis, and is refused what is not a lock",
  { timeout: TIMEOUT_MS },
  async (version, context) => {
    const program = await build("RedissonLocks", version);
    if (program === undefined) return context.skip(NO_JAVA);
    await using redis = await startRedis();
    if (redis === undefined) return context.skip("redis-server is not installed");
    await using nodes = await startRedisNodes(1);
    const [atRedis, atNode] = await Promise.all([
      program.run("single", addressOf(redis.port)),
      program.run("single", addressOf(nodes.ports[0])),
    ]);
    const expected = atRedis.map((line) => {
      const [what = ""] = line.split(":");
      return REFUSED.includes(what) ? `${what}: RedisException NOHOLDFAST` : line;
    });
    expect(atNode).toEqual(expected);
  },
);

test(
  "forceUnlock is answered with --redis-allow-unproven",
  async (context) => {
    const program = await build("RedissonLocks");
    if (program === undefined) return context.skip(NO_JAVA);
    await using nodes = await startRedisNodes(1, "--redis-allow-unproven");
    expect(await program.run("forced", addressOf(nodes.ports[0]))).toEqual([
      "force of what is free: false",
      "force: true false",
      "force of a reader: true",
      "force of a writer: true",
      "locked after it: true",
    ]);
  },
  TIMEOUT_MS,
);

/** What RedissonFaults prints if all has gone well. */
async function expectUnharmed(
  running: RunningProgram,
  faults: number,
  cluster: ClusterProcess,
  port: number,
): Promise<void> {
  running.say("end");
  const [, holder = "", token = ""] = (await running.printed("fenced: ")).split(" ");
  const client = await RespClient.open(port);
  expect(await client.call("HOLDFAST.TOKEN", "fenced", holder)).toBe(`:${token}`);
  expect(await client.call("HOLDFAST.TOKEN", "fenced", "nobody")).toBe("nil");
  client.close();
  const { stdout } = await cluster.operate("ls", "~redis/0/fenced", "--json");
  const listed = stdout.split("\n").filter((line) => line.includes('"~redis/0/fenced"'));
  expect(listed.join("\n")).toContain(`"token":${token}`);
  running.say("go on");
  expect(await running.ended).toEqual([
    ...Array.from({ length: 1 + faults }, () => "going on"),
    "two at once: 0",
    "tokens that did not grow: 0",
    "tokens are larger than those before: true",
    "count of holds: 2",
    "another: false",
    "the token is the same: true",
    `fenced: ${holder} ${token}`,
    "count of holds then: 1",
    "another then: true",
    "the next token is larger: true",
  ]);
}

test(
  "by sentinels, whatever happens to the node that Redisson uses: holds, counts, watchdogs and tokens go on",
  async (context) => {
    const program = await build("RedissonFaults");
    if (program === undefined) return context.skip(NO_JAVA);
    await using nodes = await startProxiedRedisNodes();
    const { cluster, proxies } = nodes;
    using running = program.start("sentinels", ...proxies.map(({ port }) => addressOf(port)));
    await running.printed("going on");
    const leading = async (): Promise<{ readonly node: NodeHandle; readonly proxy: TcpProxy }> => {
      const node = await cluster.leader();
      return { node, proxy: proxies[node.id - 1] as TcpProxy };
    };
    const faults: readonly (() => Promise<() => unknown>)[] = [
      async function killed() {
        const { node } = await leading();
        await node.kill();
        return () => node.start();
      },
      async function paused() {
        const { node } = await leading();
        node.pause();
        return () => node.resume();
      },
    ];
    for (const [at, fault] of faults.entries()) {
      const end = await fault();
      running.say(fault.name);
      await running.printed("going on", 2 + at);
      await end();
    }
    await lostAndFound(running, (await leading()).proxy, 2 + faults.length);
    await expectUnharmed(running, 4, cluster, nodes.ports[0] as number);
  },
  TIMEOUT_MS,
);

test(
  "by one address, whatever happens to the node that Redisson uses: holds, counts, watchdogs and tokens go on",
  async (context) => {
    const program = await build("RedissonFaults");
    if (program === undefined) return context.skip(NO_JAVA);
    await using nodes = await startRedisNodes(3);
    const { cluster, ports } = nodes;
    const [first, second] = cluster.nodes as readonly [NodeHandle, NodeHandle, NodeHandle];
    const proxy = await TcpProxy.to(ports[0] as number);
    try {
      using running = program.start("single", addressOf(proxy.port));
      await running.printed("going on");
      proxy.retarget(ports[1] as number);
      await first.kill();
      running.say("killed");
      await running.printed("going on", 2);
      await first.start();
      // Its connections stay open, and nothing comes back.
      proxy.retarget(ports[2] as number);
      second.pause();
      running.say("paused");
      await running.printed("going on", 3);
      second.resume();
      await lostAndFound(running, proxy, 4);
      await expectUnharmed(running, 4, cluster, ports[0] as number);
    } finally {
      await proxy.close();
    }
  },
  TIMEOUT_MS,
);

/** Nothing comes through the proxy, and then it refuses; each until somebody has connected again. */
async function lostAndFound(
  running: RunningProgram,
  proxy: TcpProxy,
  count: number,
): Promise<void> {
  proxy.cut();
  running.say("cut off");
  await proxy.nextAccepted();
  proxy.heal();
  await running.printed("going on", count);
  const [nobody = 0] = await freePorts(1);
  const { targetPort } = proxy;
  proxy.retarget(nobody);
  proxy.reset();
  running.say("refused");
  await proxy.nextAccepted();
  proxy.retarget(targetPort);
  await running.printed("going on", count + 1);
}

test(
  "RedissonRedLock and multi locks over three clusters exclude, and a RedLock also when one is gone",
  async (context) => {
    const program = await build("RedissonClusters");
    if (program === undefined) return context.skip(NO_JAVA);
    await using first = await startRedisNodes(1);
    await using second = await startRedisNodes(1);
    await using third = await startRedisNodes(1);
    const clusters = [first, second, third];
    using running = program.start(...clusters.map(({ ports }) => addressOf(ports[0])));
    await running.printed("ready");
    await third.cluster.nodes[0]?.kill();
    running.say("one is gone");
    await running.printed("ready", 2);
    await second.cluster.nodes[0]?.kill();
    running.say("two are gone");
    await running.printed("ready", 3);
    running.end();
    const taken = (what: string): string[] => [
      `${what}: alice takes: true`,
      `${what}: bob takes: false`,
      `${what}: bob takes then: true`,
      `${what}: left: 0`,
    ];
    const refused = (what: string): string[] => [
      `${what}: alice takes: false`,
      `${what}: bob takes then: false`,
      `${what}: left: 0`,
    ];
    expect(await running.ended).toEqual([
      ...[...taken("RedLock"), ...taken("multi lock"), "ready"],
      ...[...taken("RedLock"), ...refused("multi lock"), "ready"],
      ...[...refused("RedLock"), ...refused("multi lock"), "ready"],
    ]);
  },
  TIMEOUT_MS,
);
