/**
 * Routine operations on a cluster of real processes under load: restarting every node in turn,
 * growing from one node to five and shrinking to a different one. No command may fail, no held lock
 * may be lost, no session may expire.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Admin, connectAdmin } from "../../src/index.js";
import { type ClusterProcess, type NodeHandle, startCluster } from "./world/cluster-process.js";
import { until } from "./world/process-life.js";
import { SteadyWorker } from "./world/steady-worker.js";

const CLIENTS = 4;
const PROMOTE_MS_MAX = 20_000;

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function hire(endpoints: readonly string[]): Promise<SteadyWorker[]> {
  const workers = Array.from({ length: CLIENTS }, async (_, index) => {
    const worker = await SteadyWorker.on(endpoints, index + 1);
    endings.push(() => worker[Symbol.asyncDispose]());
    return worker;
  });
  return Promise.all(workers);
}

async function allGoOn(workers: readonly SteadyWorker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.goesOn()));
}

async function started(nodes: number): Promise<ClusterProcess> {
  const cluster = await startCluster({ nodes });
  endings.push(() => cluster.stop());
  return cluster;
}

describe("under load", () => {
  test("every node is restarted in turn, twice, and nobody notices", async () => {
    const cluster = await started(3);
    const workers = await hire(cluster.endpoints);
    await allGoOn(workers);
    for (const node of [...cluster.nodes, ...cluster.nodes]) {
      await node.restart();
      await allGoOn(workers);
      await until("the node to follow or lead", async () => {
        const status = await node.status();
        return (status?.leader ?? 0) !== 0 && (status?.appliedIndex ?? 0) > 0;
      });
    }
    for (const worker of workers) await worker.stop();
  });

  test("one node becomes three, five, three, and one, which is another", async () => {
    const one = await started(1);
    const workers = await hire(one.endpoints);
    await allGoOn(workers);
    const nodes = new Map<number, NodeHandle>([[1, one.node(1)]]);
    const admin = await connectAdmin({ endpoints: one.endpoints });
    endings.push(() => admin.close());
    for (const id of [2, 3, 4, 5]) {
      nodes.set(id, await joined(admin, one, id));
      await allGoOn(workers);
    }
    expect((await admin.members()).members).toHaveLength(5);
    for (const id of [1, 2, 3, 4]) {
      await admin.removeMember(id);
      await allGoOn(workers);
      await nodes.get(id)?.stop();
      await allGoOn(workers);
    }
    const { members } = await admin.members();
    expect(members.map((member) => [member.id, member.role])).toEqual([[5, "voter"]]);
    for (const worker of workers) await worker.stop();
  });
});

/** Adds a node, starts it, and lets it vote as soon as it has caught up. */
async function joined(admin: Admin, cluster: ClusterProcess, id: number): Promise<NodeHandle> {
  const { node, address } = await cluster.newcomer(id);
  await admin.addMember(id, address);
  endings.push(() => node.stop());
  await node.start();
  const deadlineMs = performance.now() + PROMOTE_MS_MAX;
  for (;;) {
    try {
      await admin.promoteMember(id);
      return node;
    } catch (error) {
      if ((error as { code?: string }).code !== "BUSY" || performance.now() > deadlineMs)
        throw error;
      await delay(100);
    }
  }
}
