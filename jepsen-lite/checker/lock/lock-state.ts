/**
 * The table of locks as its promises describe it, small enough to be tried in every order: the
 * holds, and the newest token. It has no queue and no clock. A hold ends by release, by an action
 * of others, or by an action of its own that is possible only from the moment it may have ended.
 */
import { conflictOf, problemOfSlots } from "../../../lab/laws/exclusion.js";
import type { Refusal } from "../linearizable/problem.js";
import type { Item, LockCall } from "./lock-calls.js";

export interface Hold {
  readonly token: number;
  readonly session: string;
  readonly task: string;
  readonly items: readonly Item[];
  readonly slots: ReadonlyMap<string, readonly number[]>;
  readonly count: number;
}

export interface LockState {
  /** -∞ forever: tokens do not rise, and only name holds. */
  readonly newestToken: number;
  /** By token, ascending. */
  readonly holds: readonly Hold[];
}

const UNLIMITED = Number.POSITIVE_INFINITY;

export const EMPTY_TABLE: LockState = { newestToken: 0, holds: [] };
/** The table of a service whose tokens have no order. */
export const UNORDERED_TABLE: LockState = { ...EMPTY_TABLE, newestToken: Number.NEGATIVE_INFINITY };

export function encodeTable(state: LockState): string {
  let text = `${state.newestToken}`;
  for (const hold of state.holds) {
    const items = hold.items.map((item) => `${item.mode[0]}${JSON.stringify(item.key)}`).join();
    text += `|${hold.token}×${hold.count} ${hold.session} ${items}`;
  }
  return text;
}

export function describeTable(state: LockState): string {
  const newest = Number.isFinite(state.newestToken) ? `newest token ${state.newestToken}` : "";
  if (state.holds.length === 0) return ["nothing held", newest].filter(Boolean).join(", ");
  const holds = state.holds.map((hold) => {
    const items = hold.items.map((item) => itemText(item, hold.slots)).join(" and ");
    const times = hold.count === 1 ? "" : ` ${hold.count} times`;
    return `${items}${times} under token ${hold.token} by ${hold.session}`;
  });
  return [...holds, newest].filter(Boolean).join("; ");
}

export function itemText(item: Item, slots: ReadonlyMap<string, readonly number[]>): string {
  const name = JSON.stringify(item.key);
  if (item.mode !== "permits") return `${name} ${item.mode}`;
  const numbers = slots.get(item.key);
  const which = numbers === undefined ? "" : ` in slots ${numbers.join()}`;
  return `${item.permits} of ${item.limit ?? "?"} permits of ${name}${which}`;
}

export function findHold(state: LockState, token: number): Hold | undefined {
  return state.holds.find((hold) => hold.token === token);
}

export function withoutHold(state: LockState, token: number): LockState {
  return { ...state, holds: state.holds.filter((hold) => hold !== findHold(state, token)) };
}

export function replaceHold(state: LockState, old: Hold, next: Hold): LockState {
  const holds = state.holds.map((hold) => (hold === old ? next : hold));
  return withHolds(state, holds, next.token);
}

/** Applies the grant of an acquire, or says which promise it would break. */
export function grant(state: LockState, call: LockCall): LockState | Refusal {
  const token = call.granted as number;
  const again = findHold(state, token);
  if (again !== undefined) {
    const isSame = again.task === call.task && coversAll(again.items, call.items);
    if (!call.isReentrant || !isSame) {
      return refusal("token granted twice", `token ${token} is held already`);
    }
    return replaceHold(state, again, { ...again, count: again.count + 1 });
  }
  if (token <= state.newestToken) return notLarger(state);
  const others = call.isSteal ? state.holds.filter((hold) => !touches(hold, call)) : state.holds;
  for (const item of call.items) {
    const taken = obstacle(others, item, call.slots.get(item.key));
    if (taken !== undefined) return taken;
  }
  const { items, slots, session, task } = call;
  const hold: Hold = { token, session, task, items, slots, count: 1 };
  return withHolds(state, [...others, hold], token);
}

/** `token`: the one that was granted last. `holds` is sorted in place. */
function withHolds({ newestToken }: LockState, holds: Hold[], token: number): LockState {
  holds.sort((a, b) => a.token - b.token);
  const isRising = Number.isFinite(newestToken);
  return { newestToken: isRising ? Math.max(newestToken, token) : newestToken, holds };
}

/** Two upgraders exclude each other; the hold itself is not an obstacle. */
export function upgrade(state: LockState, call: LockCall): LockState | Refusal {
  const old = findHold(state, call.token as number);
  const token = call.granted as number;
  if (old === undefined) return notHeld(call.token as number);
  if (token <= state.newestToken) return notLarger(state);
  const others = state.holds.filter((hold) => hold !== old);
  const key = call.operation.key;
  const items = old.items.map((item): Item => {
    const isMeant = item.mode === "shared" && (key === undefined || key === item.key);
    return isMeant ? { ...item, mode: "exclusive" } : item;
  });
  for (const item of items) {
    const taken = item.mode === "exclusive" ? obstacle(others, item, undefined) : undefined;
    if (taken !== undefined) return taken;
  }
  return replaceHold(state, old, { ...old, token, items });
}

export function refusal(kind: Refusal["kind"], because: string): Refusal {
  return { kind, because };
}

export function notLarger({ newestToken }: LockState): Refusal {
  return refusal("token not larger", `token ${newestToken} had been granted before`);
}

export function notHeld(token: number): Refusal {
  return refusal("unexplained answer", `token ${token} is no longer held`);
}

function coversAll(held: readonly Item[], wanted: readonly Item[]): boolean {
  if (held.length !== wanted.length) return false;
  return wanted.every((item) => {
    const own = held.find((candidate) => candidate.key === item.key);
    if (own === undefined) return false;
    return own.mode === item.mode || (own.mode === "exclusive" && item.mode === "shared");
  });
}

function touches(hold: Hold, call: LockCall): boolean {
  return hold.items.some((held) => call.items.some((item) => item.key === held.key));
}

/** The holds of others that keep `wanted` from being granted. */
function obstacle(
  holds: readonly Hold[],
  wanted: Item,
  slots: readonly number[] | undefined,
): Refusal | undefined {
  const inKey = holds.flatMap((hold) =>
    hold.items
      .filter(({ key }) => key === wanted.key)
      .map((item) => [hold, { ...item, slots: hold.slots.get(item.key) }] as const),
  );
  const conflict = conflictOf({ ...wanted, slots }, inKey);
  if (conflict?.kind === "mode") {
    return refusal("two holders", `token ${conflict.holder.token} still held it`);
  }
  if (conflict?.kind === "slot") {
    const { holder, slot } = conflict;
    return refusal("too many permits", `token ${holder.token} still held slot ${slot}`);
  }
  if (conflict !== undefined) {
    const { held, limit } = conflict;
    return refusal("too many permits", `${held} permits would be held, and there are ${limit}`);
  }
  // Others may have said how many there are.
  const limits = [wanted, ...inKey.map(([, item]) => item)].map((item) => item.limit ?? UNLIMITED);
  const problem = problemOfSlots({ ...wanted, slots, limit: Math.min(...limits) });
  return problem === undefined ? undefined : refusal("too many permits", problem);
}
