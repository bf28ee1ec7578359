/**
 * Operating a cluster of real processes while a client works: growing from one node to three, handing
 * leadership over, removing the node that leads, and bringing back one whose disk lost its memory.
 * No command of the client may fail at any time.
 */
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/index.js";
import { type CliResult, ClusterProcess, startCluster } from "../world/cluster-process.js";
import { until } from "../world/process-life.js";
import { SteadyWorker } from "../world/steady-worker.js";

/** Each test runs some dozens of commands, a process of its own each. */
vi.setConfig({ testTimeout: 180_000 });

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function startWork({ endpoints }: ClusterProcess): Promise<SteadyWorker> {
  const worker = await SteadyWorker.on(endpoints);
  endings.push(() => worker[Symbol.asyncDispose]());
  return worker;
}

async function started(nodes: number): Promise<ClusterProcess> {
  const cluster = await startCluster({ nodes });
  endings.push(() => cluster.stop());
  return cluster;
}

interface Member {
  readonly id: number;
  readonly role: string;
}

async function rolesOf(cluster: ClusterProcess): Promise<Record<number, string>> {
  const { stdout } = await cluster.operate("member", "ls", "--json");
  const { members } = JSON.parse(stdout) as { members: readonly Member[] };
  return Object.fromEntries(members.map(({ id, role }) => [id, role]));
}

/** Hands leadership to a node until it leads: a busy machine may elect another one meanwhile. */
async function handOver(cluster: ClusterProcess, id: number): Promise<void> {
  await until(`node ${id} to lead`, async () => {
    const { stdout } = await cluster.holdfast(["transfer", String(id)]);
    return stdout === `node ${id} leads\n`;
  });
}

/** Adds a node, starts it, and lets it vote. Returns the cluster with it. */
async function grow(cluster: ClusterProcess, id: number): Promise<ClusterProcess> {
  const { node, address } = await cluster.newcomer(id);
  const added = await cluster.operate("member", "add", String(id), address, "--json");
  expect(JSON.parse(added.stdout)).toMatchObject({ id, role: "learner", address });
  endings.push(() => node.stop());
  await node.start();
  const promoted = await cluster.operate("member", "promote", String(id), "--json");
  expect(JSON.parse(promoted.stdout)).toEqual({ id, role: "voter" });
  return new ClusterProcess([...cluster.nodes, node], cluster.directory, false);
}

describe("growing and shrinking", () => {
  test("one node becomes three, and the first one leaves, without a failed command", async () => {
    const one = await started(1);
    const work = await startWork(one);
    await work.goesOn();
    const two = await grow(one, 2);
    await work.goesOn();
    const three = await grow(two, 3);
    expect(await rolesOf(three)).toEqual({ 1: "voter", 2: "voter", 3: "voter" });
    await work.goesOn();

    // The leader itself, who is also the only endpoint that the client was given.
    await handOver(three, 1);
    const removed = await three.operate("member", "remove", "1");
    expect(removed.stdout).toContain("node 1 is not a member");
    await work.goesOn();
    await three.node(1).stop();
    await work.goesOn();
    expect(await rolesOf(three)).toEqual({ 2: "voter", 3: "voter" });
    await work.stop();
  });

  test("a joined node comes back on its data, whatever it was told to join", async () => {
    const two = await grow(await started(1), 2);
    await two.node(2).restart();
    await until("node 2 to be heard", async () => {
      const { stdout } = await two.operate("member", "ls");
      return /^ +2 +voter +(yes)? +yes /m.test(stdout);
    });
  });

  test("what would lose the quorum is refused with 5, in the words of the leader", async () => {
    const cluster = await started(3);
    const leader = await cluster.leader();
    const [dead, alive] = cluster.nodes.filter(({ id }) => id !== leader.id);
    if (dead === undefined || alive === undefined) throw new Error("three nodes are needed");
    await dead.kill();
    // As soon as the leader has noticed.
    await until("the refusal", async () => {
      const { code, stderr } = await cluster.holdfast(["member", "ls"]);
      expect([code, stderr]).toEqual([0, ""]);
      const { stdout } = await cluster.operate("member", "ls", "--json");
      const { members } = JSON.parse(stdout) as { members: { isReachable: boolean }[] };
      return members.some(({ isReachable }) => !isReachable);
    });
    const refused = await cluster.holdfast(["member", "remove", String(alive.id)]);
    expect([refused.code, refused.stdout]).toEqual([5, ""]);
    expect(refused.stderr).toMatch(/^holdfast: .*majority.* \(FORBIDDEN\)\n$/);
    // The dead one may go, and may be replaced.
    await cluster.operate("member", "remove", String(dead.id));
    const replaced = await grow(cluster, 4);
    expect(Object.keys(await rolesOf(replaced))).toHaveLength(3);
  });
});

describe("leadership", () => {
  test("goes where it is told to, and by itself from a node that stops", async () => {
    const cluster = await started(3);
    const work = await startWork(cluster);
    const first = await cluster.leader();
    const next = cluster.nodes.find(({ id }) => id !== first.id);
    if (next === undefined) throw new Error("three nodes are needed");
    await handOver(cluster, next.id);
    await work.goesOn();
    await until("another node to lead", async () => {
      const { stdout } = await cluster.operate("transfer", "--json");
      return (JSON.parse(stdout) as { leader: number }).leader !== next.id;
    });
    await work.goesOn();
    for (const node of cluster.nodes) {
      await node.restart();
      await work.goesOn();
    }
    await work.stop();
  });
});

/** Changes one byte in the middle of what the oldest segment of a stopped node holds. */
async function damage(directory: string): Promise<string> {
  const log = join(directory, "log");
  const [name] = (await readdir(log)).sort();
  const path = join(log, name ?? "");
  const bytes = await readFile(path);
  let used = bytes.length;
  while (used > 0 && bytes[used - 1] === 0) used -= 1;
  const offset = used >> 1;
  const file = await open(path, "r+");
  try {
    await file.write(Buffer.from([(bytes[offset] ?? 0) ^ 0x40]), 0, 1, offset);
  } finally {
    await file.close();
  }
  return path;
}

describe("a node with damaged data", () => {
  test("is quarantined, brought back from the others, and counts again", async () => {
    const cluster = await started(3);
    const work = await startWork(cluster);
    const holder = await connect({ endpoints: cluster.endpoints, ttlMs: 120_000 });
    endings.push(() => holder.close());
    const { token } = await holder.acquire("kept");
    await work.goesOn();
    const leader = await cluster.leader();
    const victim = cluster.nodes.find(({ id }) => id !== leader.id);
    const third = cluster.nodes.find(({ id }) => id !== leader.id && id !== victim?.id);
    if (victim === undefined || third === undefined) throw new Error("three nodes are needed");
    const { id } = victim;
    const directory = join(cluster.directory, `n${id}`);
    await victim.stop();
    const path = await damage(directory);

    await victim.start();
    expect((await victim.status())?.role).toBe("quarantined");
    const shown = await cluster.operate("status");
    expect(shown.stdout).toMatch(new RegExp(`^ *${id} +quarantined `, "m"));
    expect(shown.stdout).toContain(`node ${id} is quarantined: ${path}: `);
    expect(shown.stdout).toContain(`holdfast recover --id ${id} `);
    const json = await cluster.operate("status", "--json");
    const { nodes } = JSON.parse(json.stdout) as { nodes: { id: number; damage?: object }[] };
    expect(nodes.find((node) => node.id === id)?.damage).toMatchObject({ file: path });
    await work.goesOn();

    await victim.stop();
    const recover = ["recover", `--id=${id}`, `--data=${directory}`, "--json"];
    const recovered = await cluster.operate(...recover);
    const document = JSON.parse(recovered.stdout) as { movedTo: string; incarnation: number };
    expect(document).toEqual({
      id,
      problem: expect.stringContaining(path),
      wasVoter: true,
      movedTo: expect.any(String),
      incarnation: expect.any(Number),
    });
    expect((await stat(document.movedTo)).isDirectory()).toBe(true);
    expect((await rolesOf(cluster))[id]).toBe("learner");

    await victim.start();
    await until("the node to listen", async () => (await victim.status())?.role === "learner");
    await cluster.operate("member", "promote", String(id));
    expect((await rolesOf(cluster))[id]).toBe("voter");
    await until("the node to know it", async () => (await victim.status())?.role !== "learner");
    // Without the third node nothing is granted unless the recovered one counts.
    await third.kill();
    await work.goesOn();
    const view = await holder.inspect("kept");
    expect(view.holds.map((hold) => hold.token)).toEqual([token]);
    await work.stop();
  });

  test("is not touched while it runs, for another node, or without the cluster", async () => {
    const cluster = await started(3);
    const leader = await cluster.leader();
    const follower = cluster.nodes.find(({ id }) => id !== leader.id);
    if (follower === undefined) throw new Error("three nodes are needed");
    const { id } = follower;
    const directory = join(cluster.directory, `n${id}`);
    const recover = (node: number, ...more: readonly string[]): Promise<CliResult> =>
      cluster.holdfast(["recover", `--id=${node}`, `--data=${directory}`, ...more]);
    const running = await recover(id);
    expect(running.code).toBe(1);
    expect(running.stderr).toMatch(/^holdfast: .*in use by another process.*\n$/);
    await follower.stop();
    expect((await recover(leader.id)).code).toBe(2);
    const [port] = await freePorts(1);
    const nowhere = ["--connect-timeout=300ms", `--endpoints=127.0.0.1:${port}`];
    expect((await recover(id, ...nowhere)).code).toBe(4);
    expect(await rolesOf(cluster)).toEqual({ 1: "voter", 2: "voter", 3: "voter" });
    await follower.start();
    expect((await readdir(directory)).filter((name) => name.startsWith("set-aside"))).toEqual([]);
  });
});
