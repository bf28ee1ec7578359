/**
 * Sessions that are exported to two others at once, as by a supervisor that starts a process twice:
 * one of them continues with what was held, under a new token, and the other one is refused.
 */
import { type Client, type ExportedSession, HoldfastError, type Lock } from "../sdk.js";
import { acquire, grantOf, hold, release } from "./lock-operations.js";
import type { Task, Workload } from "./workload.js";

/** A session that was exported with a lock held. */
interface Left {
  readonly key: string;
  readonly token: number;
  readonly exported: string;
}

/** The last one of this process, for the tasks beside the one that exported it. */
let lastLeft: Left | undefined;

export const heirs: Workload = {
  name: "heirs",
  about: "sessions exported with a lock held, which two other clients then try to resume",
  model: "lock",
  compares: ["exactly-once"],
  tasksMax: 2,
  async step(task) {
    if (task.index > 0) {
      const left = lastLeft;
      lastLeft = undefined;
      if (left === undefined) await task.sleep(WAIT_MS);
      else await inherit(task, left);
      return;
    }
    const left = await leave(task);
    if (left === undefined) return;
    lastLeft = left;
    // The other one is first now and then.
    await task.sleep(task.random.integer(0, 2 * WAIT_MS));
    await inherit(task, left);
  },
};

const WAIT_MS = 2;
const WISH = { waitMs: 1_000 } as const;

async function leave(task: Task): Promise<Left | undefined> {
  const client = await opened(task);
  if (client === undefined) return undefined;
  const key = task.random.pick(task.keys);
  const lock = await acquire(task, key, WISH, () => client.acquire(key, WISH));
  if (lock === undefined) {
    await client.close();
    return undefined;
  }
  await hold(task, lock, task.random.integer(0, 20));
  const { token } = lock;
  const exported = await exportedOf(client);
  return exported === undefined ? undefined : { key, token, exported };
}

async function opened(task: Task): Promise<Client | undefined> {
  try {
    return await task.connect({ signal: task.signal });
  } catch (error) {
    if (!task.signal.aborted && !(error instanceof HoldfastError && error.retryable)) throw error;
    return undefined;
  }
}

/** `undefined`: there was no session any more. */
async function exportedOf(client: Client): Promise<string | undefined> {
  try {
    return JSON.stringify(await client.export());
  } catch (error) {
    if (!(error instanceof HoldfastError && error.retryable)) throw error;
    await client.close();
    return undefined;
  }
}

/** In the history it is a claim: only one claim of a token can succeed. */
async function inherit(task: Task, { key, token, exported }: Left): Promise<void> {
  let client: Client | undefined;
  const operation = { f: "claim", key, value: { token } };
  const take = async (): Promise<Lock> => {
    client = await goOn(task, JSON.parse(exported) as ExportedSession);
    const lock = client.resumed?.locks[0];
    if (lock?.isHeld === true) return lock;
    // It ended, before it was taken over or after.
    throw new HoldfastError("LOCK_LOST", `${key} was no longer held`);
  };
  const lock = await task.record(operation, take, (taken) => grantOf(task, taken));
  if (lock !== undefined) {
    await hold(task, lock, task.random.integer(0, 20));
    await release(task, lock, key);
  }
  await client?.close();
}

async function goOn(task: Task, resume: ExportedSession): Promise<Client> {
  try {
    return await task.connect({ resume });
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "TAKEN_OVER") throw error;
    // The answer to a client that asks for a session: the claim had no effect, and will have none.
    throw new HoldfastError(error.code, error.message, { details: { indeterminate: false } });
  }
}
