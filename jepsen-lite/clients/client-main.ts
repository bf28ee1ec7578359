/**
 * A client process: runs the tasks of its workloads until it is told to finish, killed or stopped.
 * Its standard input ends with the harness, and the process with it.
 */
import { setMaxListeners } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { StoreClient } from "../guarded/store-client.js";
import { type Client, HoldfastError } from "../sdk.js";
import { findWorkloads } from "../workloads/catalogue.js";
import { keysOf } from "../workloads/keys.js";
import type { PlainLocks, Workload } from "../workloads/workload.js";
import type { ClientOrder, ClientPlan } from "./client-messages.js";
import { ClientTask, connectAs, PlainClientTask, type TaskParts } from "./client-task.js";
import { Recorder } from "./recorder.js";
import { WallClock } from "./wall-clock.js";

/** Long enough for waits in a queue to end, short enough for a run to end. */
const FINISH_MS_MAX = 8_000;

async function main(plan: ClientPlan): Promise<void> {
  const recorder = new Recorder(plan.client, BigInt(plan.originNs));
  const end = new AbortController();
  // Every sleep of every task listens, which is no leak.
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
    let taskCount = 0;
    const runs = crews.map((crew, index) => {
      const count = 1 + Math.min(plan.tasks, workloads[index]?.tasksMax ?? plan.tasks);
      taskCount += count;
      return crew?.(taskCount - count, count);
    });
    await Promise.all(runs);
    store.close();
  } catch (error) {
    recorder.failed(error);
  }
  recorder.stop();
}

/** Runs the tasks of one workload, so many from this number on, until the load ends. */
type Crew = (firstNumber: number, count: number) => Promise<void>;

type Shared = Omit<TaskParts, "locks">;

async function connectedCrew(parts: Shared): Promise<Crew | undefined> {
  const client = await connectPatiently(parts.plan, parts.workload, parts.signal);
  if (client === undefined) return undefined;
  return (firstNumber, count) => {
    const tasks = Array.from({ length: count }, (_, index) => {
      return new ClientTask({ ...parts, locks: client }, index, firstNumber + index);
    });
    return run(parts.workload, tasks, client);
  };
}

/** All tasks but the last take rounds: that one does what goes on beside them. */
async function run(workload: Workload, tasks: ClientTask[], client: Client): Promise<void> {
  const rounds = tasks.slice(0, -1).map(async (task) => {
    while (!task.signal.aborted) await workload.step(task);
  });
  const last = tasks.at(-1);
  await Promise.all([...rounds, last && workload.background?.(last)]);
  const [first] = tasks;
  if (first?.isOfFirstClient === true) {
    for (const key of first.keys) await workload.finalRead?.(first, key);
  }
  await client.close();
}

/** The rounds of a workload by plain locks alone. */
async function peerCrew(parts: Shared, orders: ClientOrders): Promise<Crew> {
  const { plan, workload } = parts;
  const locks = await peerLocks(plan, orders);
  return async (firstNumber, count) => {
    const rounds = Array.from({ length: count - 1 }, async (_, index) => {
      const task = new PlainClientTask({ ...parts, locks }, index, firstNumber + index);
      while (!task.signal.aborted) await workload.plainStep?.(task);
    });
    await Promise.all(rounds);
    await locks.close();
  };
}

/** Packages of peers are loaded by those who need them. */
async function peerLocks(plan: ClientPlan, orders: ClientOrders): Promise<PlainLocks> {
  const { endpoints, ttlMs } = plan;
  if (plan.system === "etcd") {
    const { EtcdLocks } = await import("../systems/etcd-locks.js");
    return new EtcdLocks(endpoints, ttlMs);
  }
  const { RedisLocks } = await import("../systems/redis-locks.js");
  const locks = new RedisLocks(endpoints, orders.primary ?? plan.primary, ttlMs);
  orders.onPrimary.push((node) => locks.follow(node));
  return locks;
}

/** A client that is started while nobody leads goes on trying. */
async function connectPatiently(
  plan: ClientPlan,
  workload: Workload,
  signal: AbortSignal,
): Promise<Client | undefined> {
  while (!signal.aborted) {
    try {
      return await connectAs(plan, `${workload.name}-${plan.client}`, { signal });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof HoldfastError) || !error.retryable) throw error;
    }
  }
  return undefined;
}

/** What the harness has ordered that others have to know. */
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
    else if (order.order === "finish") finish(end);
    else {
      orders.primary = order.node;
      for (const follow of orders.onPrimary) follow(order.node);
    }
  });
  // The harness is gone: nobody reads what this client records any more.
  lines.on("close", () => process.exit(0));
  return orders;
}

function finish(end: AbortController): void {
  end.abort();
  // What hangs is of unknown outcome, and the history says so by having no end of it.
  void delay(FINISH_MS_MAX, undefined, { ref: false }).then(() => process.exit(0));
}

await main(JSON.parse(process.argv[2] ?? "{}") as ClientPlan);
process.exit(0);
