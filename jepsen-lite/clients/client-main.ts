/**
 * A client process: runs the workers of its workloads until it is ordered to finish, killed or
 * stopped. Its standard input ends with the harness, and then the process ends too.
 */
import { setMaxListeners } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { pace } from "../clocks/clock-rate.js";
import { StoreClient } from "../guarded/store-client.js";
import { type Client, HoldfastError } from "../sdk.js";
import { findWorkloads } from "../workloads/catalogue.js";
import { keysOf } from "../workloads/keys.js";
import type { PlainLocks, Workload } from "../workloads/workload.js";
import type { ClientOrder, ClientPlan } from "./client-messages.js";
import { ClientWorker, connectAs, PlainClientWorker, type WorkerParts } from "./client-worker.js";
import { Recorder } from "./recorder.js";
import { WallClock } from "./wall-clock.js";

/** Long enough for waits in a queue to end, short enough for a run to end. */
const FINISH_MS_MAX = 8_000;

async function main(plan: ClientPlan): Promise<void> {
  const recorder = new Recorder(plan.client, BigInt(plan.originNs));
  const end = new AbortController();
  // Every sleep of every worker listens, which is not a leak.
  setMaxListeners(0, end.signal);
  const orders = listen(end);
  try {
    const workloads = await findWorkloads(plan.workloads, plan.modules);
    const store = new StoreClient(plan.storeHost, plan.storePort);
    const { signal } = end;
    const shared = { plan, recorder, store, signal };
    const crews = await Promise.all(
      workloads.map((workload) => {
        const parts = { ...shared, workload, keys: keysOf(workload.name, plan.keys) };
        return plan.system === "holdfast" ? connectedCrew(parts) : peerCrew(parts, orders);
      }),
    );
    recorder.ready();
    let workerCount = 0;
    const runs = crews.map((crew, index) => {
      const count = 1 + Math.min(plan.workers, workloads[index]?.workersMax ?? plan.workers);
      workerCount += count;
      return crew?.(workerCount - count, count);
    });
    await Promise.all(runs);
    store.close();
  } catch (error) {
    recorder.failed(error);
  }
  recorder.stop();
}

/** Runs `count` workers of one workload, numbered from `firstNumber`, until the load ends. */
type Crew = (firstNumber: number, count: number) => Promise<void>;

type Shared = Omit<WorkerParts, "locks" | "identity">;

/** One client for each identity, for which the workers of all processes work in turn. */
async function connectedCrew(parts: Shared): Promise<Crew | undefined> {
  const { plan, workload } = parts;
  const { identities = [""] } = workload;
  const connecting = identities.map((identity) => connectPatiently(parts, identity));
  const clients = (await Promise.all(connecting)).filter((client) => client !== undefined);
  if (clients.length < identities.length) return undefined;
  return (firstNumber, count) => {
    const workers = Array.from({ length: count }, (_, index) => {
      const turn = (plan.client + index) % identities.length;
      const [identity, locks] = [identities[turn] ?? "", clients[turn] as Client];
      return new ClientWorker({ ...parts, identity, locks }, index, firstNumber + index);
    });
    return run(workload, workers, clients);
  };
}

/** All workers but the last take rounds; the last one does the background work. */
async function run(
  workload: Workload,
  workers: readonly ClientWorker[],
  clients: readonly Client[],
): Promise<void> {
  const rounds = workers.slice(0, -1).map(async (worker) => {
    while (!worker.signal.aborted) await workload.step(worker);
  });
  const last = workers.at(-1);
  await Promise.all([...rounds, last && workload.background?.(last)]);
  const [first] = workers;
  if (first?.isOfFirstClient === true) {
    for (const key of first.keys) await workload.finalRead?.(first, key);
  }
  await Promise.all(clients.map((client) => client.close()));
}

/** The rounds of a workload that need only plain locks. */
async function peerCrew(parts: Shared, orders: ClientOrders): Promise<Crew> {
  const { plan, workload } = parts;
  const locks = await peerLocks(plan, orders);
  return async (firstNumber, count) => {
    const rounds = Array.from({ length: count - 1 }, async (_, index) => {
      const worker = new PlainClientWorker(
        { ...parts, locks, identity: "" },
        index,
        firstNumber + index,
      );
      while (!worker.signal.aborted) await workload.plainStep?.(worker);
    });
    await Promise.all(rounds);
    await locks.close();
  };
}

/** Packages of peers are loaded only if needed. */
async function peerLocks(plan: ClientPlan, orders: ClientOrders): Promise<PlainLocks> {
  const { endpoints, ttlMs } = plan;
  if (plan.system === "etcd") {
    const { EtcdLocks } = await import("../systems/etcd-locks.js");
    return new EtcdLocks(endpoints, ttlMs);
  }
  if (plan.discovery !== undefined) {
    const { RedlockLocks } = await import("../systems/redlock-locks.js");
    return new RedlockLocks(plan.discovery, ttlMs);
  }
  const { RedisLocks } = await import("../systems/redis-locks.js");
  const locks = new RedisLocks(endpoints, orders.primary ?? plan.primary, ttlMs);
  orders.onPrimary.push((node) => locks.follow(node));
  return locks;
}

/** A client that is started while there is no leader keeps trying. */
async function connectPatiently(
  { plan, workload, signal }: Shared,
  identity: string,
): Promise<Client | undefined> {
  while (!signal.aborted) {
    try {
      return await connectAs(plan, `${workload.name}-${plan.client}`, identity, { signal });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof HoldfastError) || !error.retryable) throw error;
    }
  }
  return undefined;
}

/** The orders of the harness that other parts have to know. */
interface ClientOrders {
  primary: number | undefined;
  readonly onPrimary: ((node: number) => void)[];
}

function listen(end: AbortController): ClientOrders {
  const orders: ClientOrders = { primary: undefined, onPrimary: [] };
  const clock = new WallClock();
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const order = JSON.parse(line) as ClientOrder;
    if (order.order === "clock") clock.jump(order.offsetMs);
    else if (order.order === "rate") void pace(order.rate);
    else if (order.order === "finish") finish(end);
    else {
      orders.primary = order.node;
      for (const follow of orders.onPrimary) follow(order.node);
    }
  });
  // The harness is gone: what this client records is no longer read.
  lines.on("close", () => process.exit(0));
  return orders;
}

function finish(end: AbortController): void {
  end.abort();
  // A hanging operation has an unknown outcome; the history shows that by having no end of it.
  void delay(FINISH_MS_MAX, undefined, { ref: false }).then(() => process.exit(0));
}

await main(JSON.parse(process.argv[2] ?? "{}") as ClientPlan);
process.exit(0);
