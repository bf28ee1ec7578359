/**
 * Runs a callback while holding a lock. The callback's own error wins over everything; its result
 * counts only if the lock was held until the callback ended.
 */
import type { Owner } from "../options/owner.js";
import type { HeldLock } from "./held-lock.js";
import type { Lock } from "./lock.js";

export type LockCallback<T> = (lock: Lock) => Promise<T> | T;

/** Runs what belongs to a task. */
export interface TaskRunner {
  runAs<T>(owner: Owner, work: () => T): T;
}

export async function holdWhile<T, Options>(
  tasks: TaskRunner,
  acquire: (options: Options | undefined) => Promise<HeldLock>,
  optionsOrCallback: Options | LockCallback<T>,
  callback: LockCallback<T> | undefined,
): Promise<T> {
  const isShort = typeof optionsOrCallback === "function";
  const run = isShort ? (optionsOrCallback as LockCallback<T>) : callback;
  if (typeof run !== "function") throw new TypeError("using needs a callback");
  const lock = await acquire(isShort ? undefined : (optionsOrCallback as Options));
  let value: T;
  try {
    value = await tasks.runAs(lock.owner, () => run(lock));
  } catch (error) {
    await lock.release();
    throw error;
  }
  const { loss } = lock;
  await lock.release();
  if (loss !== undefined) throw loss;
  return value;
}
