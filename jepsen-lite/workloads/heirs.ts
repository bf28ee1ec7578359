/**
 * Holds that are handed over to two others at once, as by a supervisor that starts a process twice: one
 * of them goes on with what was held, under a new token, and the other one is refused. Whoever hands a
 * hold over has given it up before anybody else can have it.
 */
import { type Client, HoldfastError } from "../sdk.js";
import { byExport, byTicket, type HandOver, type TakenUp } from "./hand-over.js";
import { acquire, grantOf, hold, noteLoss, release } from "./lock-operations.js";
import type { Task, Workload } from "./workload.js";

export const heirs: Workload = {
  name: "heirs",
  about: "sessions exported with a lock held, which two other clients then try to resume",
  ...heirsOf(byExport),
};

export const tickets: Workload = {
  name: "tickets",
  about: "locks made tickets, each of which two other clients then try to claim",
  ...heirsOf(byTicket),
};

/** A hold that was handed over. */
interface Left {
  readonly key: string;
  readonly token: number;
  readonly handed: string;
}

const WAIT_MS = 2;
const WISH = { waitMs: 1_000 } as const;

function heirsOf(way: HandOver): Omit<Workload, "name" | "about"> {
  /** The last one of this process, for the tasks beside the one that handed it over. */
  let lastLeft: Left | undefined;
  return {
    model: "lock",
    compares: ["exactly-once"],
    tasksMax: 2,
    async step(task) {
      if (task.index > 0) {
        const left = lastLeft;
        lastLeft = undefined;
        if (left === undefined) await task.sleep(WAIT_MS);
        else await inherit(task, way, left);
        return;
      }
      const left = await leave(task, way);
      if (left === undefined) return;
      lastLeft = left;
      // The other one is first now and then.
      await task.sleep(task.random.integer(0, 2 * WAIT_MS));
      await inherit(task, way, left);
    },
  };
}

async function leave(task: Task, way: HandOver): Promise<Left | undefined> {
  const client = await opened(task);
  if (client === undefined) return undefined;
  const key = task.random.pick(task.keys);
  const take = (value: string) => client.acquire(key, { ...WISH, value });
  const lock = await acquire(task, key, WISH, take);
  if (lock === undefined) {
    await client.close();
    return undefined;
  }
  await hold(task, lock, task.random.integer(0, 20));
  const { token } = lock;
  const operation = { f: "detach", key, value: { token } };
  const giving = () => way.handOver(client, lock);
  const handed = await task.record(operation, giving, () => undefined);
  if (handed === undefined) {
    await giveUp(task, client, { key, token });
    return undefined;
  }
  if (lock.isHeld) throw new Error(`token ${token} was handed over and is still held`);
  return { key, token, handed };
}

/** What could not be handed over is given back, at some time from now on. */
async function giveUp(task: Task, client: Client, { key, token }: Omit<Left, "handed">) {
  await task.record({ f: "release", key, value: { token } }, async () => {
    await client.close();
    throw new HoldfastError("UNAVAILABLE", "ended with its client, or by its lease", {
      details: { indeterminate: true },
    });
  });
}

async function opened(task: Task): Promise<Client | undefined> {
  try {
    return await task.connect({ signal: task.signal });
  } catch (error) {
    if (!task.signal.aborted && !(error instanceof HoldfastError && error.retryable)) throw error;
    return undefined;
  }
}

/** In the history it is a claim: only one claim of a token can succeed. */
async function inherit(task: Task, way: HandOver, { key, token, handed }: Left): Promise<void> {
  const operation = { f: "claim", key, value: { token } };
  const taking = (): Promise<TakenUp> => way.takeUp(task, handed);
  const taken = await task.record(operation, taking, ({ lock }) => grantOf(task, lock));
  if (taken === undefined) return;
  const { client, lock } = taken;
  noteLoss(task, lock, key);
  await hold(task, lock, task.random.integer(0, 20));
  await release(task, lock, key);
  await client.close();
}
