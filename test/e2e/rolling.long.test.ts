/**
 * What operators do to a cluster of real processes from day to day, under load: restarting every node in
 * turn, growing from one node to five and shrinking to another one. No command may fail, no lock that
 * is held may be lost, no session may expire.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../lab/free-ports.js";
import { type Admin, type Client, connect, connectAdmin, type Lock } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";
import { NodeHandle } from "./world/node-handle.js";
import { until } from "./world/process-life.js";

const CLIENTS = 4;
/** Every client also keeps a lock all the time. */
const TTL_MS = 8_000;
const PROMOTE_MS_MAX = 20_000;

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A client that keeps one lock and takes and gives back another over and over. */
class Worker {
  readonly kept: Lock;
  rounds = 0;
  readonly #client: Client;
  readonly #number: number;
  readonly #stopped: Promise<void>;
  #isStopping = false;
  #lastToken = 0;

  private constructor(client: Client, number: number, kept: Lock) {
    this.#client = client;
    this.#number = number;
    this.kept = kept;
    this.#stopped = this.#work();
    // Reported by `stop`.
    this.#stopped.catch(() => undefined);
  }

  static async on(endpoints: readonly string[], number: number): Promise<Worker> {
    const client = await connect({ endpoints, name: `worker-${number}`, ttlMs: TTL_MS });
    const worker = new Worker(client, number, await client.acquire(`kept-${number}`));
    endings.push(() => worker.#end());
    return worker;
  }

  async goesOn(): Promise<void> {
    const enough = this.rounds + 10;
    await Promise.race([
      until(`worker ${this.#number} to go on`, () => this.rounds >= enough),
      this.#stopped.then(() => Promise.reject(new Error("the worker stopped"))),
    ]);
    expect(this.kept.signal.aborted).toBe(false);
  }

  /** Rejects with the first thing that went wrong. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#stopped;
    expect(this.kept.signal.aborted).toBe(false);
    expect(await this.kept.release()).toEqual({ released: true });
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      const lock = await this.#client.acquire(`load-${this.#number % 2}`);
      expect(lock.token).toBeGreaterThan(this.#lastToken);
      this.#lastToken = lock.token;
      expect(await lock.release()).toEqual({ released: true });
      this.rounds += 1;
    }
  }

  async #end(): Promise<void> {
    this.#isStopping = true;
    await this.#client.close();
    await this.#stopped.catch(() => undefined);
  }
}

function hire(endpoints: readonly string[]): Promise<Worker[]> {
  return Promise.all(
    Array.from({ length: CLIENTS }, (_, number) => Worker.on(endpoints, number + 1)),
  );
}

async function allGoOn(workers: readonly Worker[]): Promise<void> {
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
      nodes.set(id, await joined(admin, id, one.directory));
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
async function joined(admin: Admin, id: number, directory: string): Promise<NodeHandle> {
  const [clientPort, peerPort] = await freePorts(2);
  const address = `127.0.0.1:${peerPort}`;
  await admin.addMember(id, address);
  const node = new NodeHandle(id, `ws://127.0.0.1:${clientPort}`, [
    `--id=${id}`,
    `--data=${join(directory, `n${id}`)}`,
    `--listen=127.0.0.1:${clientPort}`,
    `--peer-listen=${address}`,
    `--join=${admin.endpoints.join(",")}`,
    "--stop-on-stdin-end",
  ]);
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
