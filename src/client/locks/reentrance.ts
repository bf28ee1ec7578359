/**
 * What a task gets if it asks again for keys that it has. The table has no reentrance: a second
 * acquire of the same keys shares the hold of the first, and is never sent. Only exactly the same
 * keys count, because a hold of other keys could have neither the same token nor be granted in one
 * step. Acquires of one task that share a key go one after the other, so that the later one finds
 * what the earlier one got.
 */
import { ERROR_NUMBERS, HoldfastError } from "../../errors/index.js";
import type { Item } from "../../protocol/index.js";
import { nameOf } from "../failures.js";
import type { HeldItem } from "../options/lock-options.js";
import { Task } from "../options/task.js";
import type { AcquireCall } from "./acquire-call.js";
import type { Hold } from "./hold.js";

const NOTHING: readonly never[] = Object.freeze([]);

/**
 * A task as its session knows it, with its holds and requests. Nearly every task has one of them,
 * once, so the lists are copied when they change. Every task is one of these.
 */
export class SessionTask extends Task {
  holds: readonly Hold[] = NOTHING;
  /** Acquires whose callers wait, in the order of calls. */
  acquires: readonly AcquireCall[] = NOTHING;

  static of(task: Task): SessionTask {
    return task as SessionTask;
  }

  onAsked(call: AcquireCall): void {
    this.acquires = this.acquires.length === 0 ? [call] : [...this.acquires, call];
  }

  onAnswered(call: AcquireCall): void {
    this.acquires = without(this.acquires, call);
  }

  onGranted(hold: Hold): void {
    this.holds = this.holds.length === 0 ? [hold] : [...this.holds, hold];
  }

  onEnded(hold: Hold): void {
    this.holds = without(this.holds, hold);
  }
}

function without<T>(list: readonly T[], one: T): readonly T[] {
  if (list.length === 1 && list[0] === one) return NOTHING;
  return list.filter((each) => each !== one);
}

type Keys = readonly { readonly key: string }[];

export type Route =
  | { readonly to: "table" }
  /** Decided again when an earlier acquire of the task is over. */
  | { readonly to: "later" }
  | { readonly to: "hold"; readonly hold: Hold }
  | { readonly to: "refusal"; readonly error: HoldfastError }
  /** The table's answer to a request that does not wait. */
  | { readonly to: "held" };

export function routeOf(call: AcquireCall, { acquires, holds }: SessionTask): Route {
  const { items, isReentrant, waitMs } = call.wish;
  if (!isReentrant) return { to: "table" };
  for (const earlier of acquires) {
    if (earlier === call) break;
    if (overlaps(earlier.wish.items, items)) return { to: waitMs === 0 ? "held" : "later" };
  }
  const same = holds.filter((hold) => overlaps(hold.items, items));
  if (same.length === 0) return { to: "table" };
  const exact = same.filter((hold) => {
    return hold.items.length === items.length && items.every((item) => itemOf(hold, item.key));
  });
  const hold = exact.find((each) => each.covers(items)) ?? exact[0];
  if (hold === undefined) return refused(items, "other keys than it holds already");
  for (const item of items) {
    const held = itemOf(hold, item.key) as HeldItem;
    if ((held.mode === "permits") !== (item.mode === "permits")) {
      const text = `${nameOf(items)}: its own task holds the key as the other kind of lock`;
      return { to: "refusal", error: new HoldfastError("WRONG_KIND", text) };
    }
    if (item.mode === "permits" && item.permits > held.permits) {
      return refused(items, `more permits than the ${held.permits} that it holds`);
    }
  }
  // A request that does not wait is refused if it would have to wait for others of this task.
  const isUnderWay = hold.taker !== undefined || hold.upgrade !== undefined;
  if (waitMs === 0 && !hold.covers(items) && isUnderWay) return { to: "held" };
  return { to: "hold", hold };
}

/** The items of a nested acquire: the requested ones, in the slots that its task has. */
export function sharedItems(hold: Hold, items: readonly Item[]): HeldItem[] {
  return items.map(({ key, mode }) => ({ ...(itemOf(hold, key) as HeldItem), mode }));
}

function itemOf(hold: Hold, key: string): HeldItem | undefined {
  return hold.items.find((item) => item.key === key);
}

function overlaps(some: Keys, others: Keys): boolean {
  return some.some(({ key }) => others.some((other) => other.key === key));
}

function refused(items: readonly Item[], what: string): Route {
  const text =
    `${nameOf(items)}: its own task asks for ${what}, and would wait for itself; ask for exactly what ` +
    "it holds, for everything in one acquireAll, or as another task";
  return { to: "refusal", error: new HoldfastError("DEADLOCK", text, { details: { cycle: [] } }) };
}

export const LOCK_HELD = { status: ERROR_NUMBERS.LOCK_HELD } as const;
