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
import type { Workload } from "../workloads/workload.js";
import type { ClientOrder, ClientPlan } from "./client-messages.js";
import { ClientTask, connectAs, type TaskRooms } from "./client-task.js";
import { Recorder } from "./recorder.js";
import { WallClock } from "./wall-clock.js";

/** Long enough for waits in a queue to end, short enough for a run to end. */
const FINISH_MS_MAX = 8_000;

async function main(plan: ClientPlan): Promise<void> {
  const recorder = new Recorder(plan.client, BigInt(plan.originNs));
  const end = new AbortController();
  // Every sleep of every task listens, which is no leak.
  setMaxListeners(0, end.signal);
  listen(end);
  try {
    const workloads = await findWorkloads(plan.workloads, plan.modules);
    const store = new StoreClient(plan.storeHost, plan.storePort);
    const { signal } = end;
    const crews = await Promise.all(
      workloads.map((workload) => connectPatiently(plan, workload, signal)),
    );
    recorder.ready();
    const shared = { plan, recorder, store, signal };
    let taskCount = 0;
    const runs = workloads.map((workload, index) => {
      const client = crews[index];
      if (client === undefined) return undefined;
      const keys = keysOf(workload.name, plan.keys);
      const tasks = tasksOf({ ...shared, workload, keys, client }, taskCount);
      taskCount += tasks.length;
      return run(workload, tasks, client);
    });
    await Promise.all(runs);
    store.close();
  } catch (error) {
    recorder.failed(error);
  }
  recorder.stop();
}

/** One more than take rounds: the last one does what goes on beside them. */
function tasksOf(rooms: TaskRooms, firstNumber: number): ClientTask[] {
  const { plan, workload } = rooms;
  const count = Math.min(plan.tasks, workload.tasksMax ?? plan.tasks);
  return Array.from({ length: count + 1 }, (_, index) => {
    return new ClientTask(rooms, index, firstNumber + index);
  });
}

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

function listen(end: AbortController): void {
  const clock = new WallClock();
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const order = JSON.parse(line) as ClientOrder;
    if (order.order === "clock") clock.jump(order.offsetMs);
    else finish(end);
  });
  // The harness is gone: nobody reads what this client records any more.
  lines.on("close", () => process.exit(0));
}

function finish(end: AbortController): void {
  end.abort();
  // What hangs is of unknown outcome, and the history says so by having no end of it.
  void delay(FINISH_MS_MAX, undefined, { ref: false }).then(() => process.exit(0));
}

await main(JSON.parse(process.argv[2] ?? "{}") as ClientPlan);
process.exit(0);
