/**
 * Adopts the holds of a hand-over. The first that is still there decides between two processes that
 * try: only who has got it goes on with the others (semantics.md, 8.9).
 */
import { HoldfastError } from "../../errors/index.js";
import type { LossReason } from "../failures.js";
import type { AdoptOptions, HandedOver, HandedOverHold } from "../options/hand-over-options.js";
import type { Task } from "../options/task.js";
import type { Lock } from "./lock.js";
import type { Locks } from "./locks.js";

/** What `client.adopt` found. */
export interface Adopted {
  readonly locks: readonly Lock[];
  /** Holds that another process has adopted (`moved`), or that ended otherwise. */
  readonly gone: readonly { readonly keys: readonly string[]; readonly reason: LossReason }[];
  /** Holds that are still there, and that the cluster did not give to this client. */
  readonly refused: readonly { readonly keys: readonly string[]; readonly error: HoldfastError }[];
}

/** The same lists, while they are filled. */
type Found = { readonly [List in keyof Adopted]: Adopted[List][number][] };

/** Rejects, with nothing adopted, if the first hold that is there is refused, or if it is aborted. */
export async function adoptAll(
  locks: Locks,
  { holds }: HandedOver,
  options: AdoptOptions,
): Promise<Adopted> {
  const { task, rest = false, signal } = options;
  const found: Found = { locks: [], gone: [], refused: [] };
  const tasks = new Map<number, Task>();
  const adopt = (hold: HandedOverHold): Promise<Lock> => {
    const known = tasks.get(hold.task) ?? locks.resolveTask(task);
    tasks.set(hold.task, known);
    const [key] = hold.keys as readonly [string];
    return locks.adopt({ key, secret: hold.secret, task: known, signal });
  };
  const others = rest ? holds : await adoptFirst(holds, adopt, found);
  const outcomes = await Promise.allSettled(others.map(adopt));
  for (const [at, outcome] of outcomes.entries()) {
    const { keys } = others[at] as HandedOverHold;
    if (outcome.status === "fulfilled") found.locks.push(outcome.value);
    else if (!signal?.aborted) tellFailure(found, keys, outcome.reason);
  }
  if (!signal?.aborted) return found;
  for (const lock of found.locks) void lock.release();
  throw signal.reason;
}

/** Returns the holds that are this client's to adopt, because it has got the one before them. */
async function adoptFirst(
  holds: readonly HandedOverHold[],
  adopt: (hold: HandedOverHold) => Promise<Lock>,
  found: Found,
): Promise<readonly HandedOverHold[]> {
  for (const [at, hold] of holds.entries()) {
    const others = holds.slice(at + 1);
    try {
      found.locks.push(await adopt(hold));
      return others;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      found.gone.push({ keys: hold.keys, reason });
      if (reason !== "moved" && reason !== "unknown") continue;
      // Another process has it, and with it all the others.
      for (const { keys } of others) found.gone.push({ keys, reason: "moved" });
      return [];
    }
  }
  return [];
}

function tellFailure(found: Found, keys: readonly string[], error: unknown): void {
  const reason = reasonOf(error);
  if (reason !== undefined) found.gone.push({ keys, reason });
  else if (error instanceof HoldfastError) found.refused.push({ keys, error });
  else throw error;
}

/** Why the hold is not there any more; `undefined`: it is. */
function reasonOf(error: unknown): LossReason | undefined {
  if (!(error instanceof HoldfastError) || error.code !== "NOT_HELD") return undefined;
  return error.details["reason"] as LossReason | undefined;
}
