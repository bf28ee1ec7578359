/**
 * Lone holds, which are most of a large table: a lock with default options that one task holds
 * exclusively, and that has no waiters, while the task has no other claim. A lone hold has no
 * objects, only its row and the name of its key. Code that is about to change it, other than to end
 * it, first makes it an ordinary hold, which it remains. Code that only reads it gets temporary
 * objects. From outside, the two kinds cannot be told apart.
 */
import { assert } from "../../errors/index.js";
import {
  type AcquireCommand,
  type AcquireTerms,
  END_REASON,
  type EndReason,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { Hold } from "../records/hold.js";
import { Key, Place } from "../records/key.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

export interface LoneHold {
  readonly token: number;
  readonly task: number;
  /** The sequence of its acquire. */
  readonly sequence: number;
  readonly grantedAt: number;
  /** The name of its key. */
  readonly name: string;
}

/** Grants the request if that makes a lone hold; otherwise returns `undefined`. */
export function grantLoneHold(
  state: TableState,
  session: Session,
  { items, task, sequence, options }: AcquireCommand,
): Result | undefined {
  const [item] = items;
  if (item === undefined || items.length > 1 || item.mode !== "exclusive") return undefined;
  if (options !== undefined && !isPlain(options)) return undefined;
  if (!isNew(state, session, task, item.key)) return undefined;
  assert(session.isAliveAt(state.stamp), () => `grant to session ${session.id} after its end`);
  const token = state.tokens.take();
  const { stamp: grantedAt } = state;
  const row = addLoneHold(state, session, { token, task, sequence, grantedAt, name: item.key });
  state.noteLoneHold("granted", row, END_REASON.unknown);
  return { status: STATUS.granted, token };
}

/** Whether neither the key nor the task is in use, so that a lone hold can be made. */
export function isNew(state: TableState, session: Session, task: number, name: string): boolean {
  return (
    state.keys.get(name) === undefined &&
    state.loneTasks.find(session, task) === 0 &&
    state.tasks.find(session, task) === undefined
  );
}

/**
 * Adds a lone hold, for which `isNew` is true, after the other holds of the session; returns its
 * row.
 */
export function addLoneHold(
  state: TableState,
  session: Session,
  { token, task, sequence, grantedAt, name }: LoneHold,
): number {
  const row = state.rows.add(session, token, sequence, name);
  state.rows.describe(row, task, grantedAt);
  state.holds.add(row);
  state.holdsBySequence.add(row);
  state.loneTasks.add(row);
  state.keys.addRow(name, row);
  return row;
}

/** Ends a lone hold. Nothing keeps its key closed, and there are no waiters to grant. */
export function endLoneHold(
  state: TableState,
  row: number,
  reason: EndReason,
  orderedBy: string,
): void {
  const { rows } = state;
  state.noteLoneHold("ended", row, reason, orderedBy);
  state.loneTasks.remove(row);
  state.holds.remove(row);
  state.holdsBySequence.remove(row);
  state.keys.dropRow(rows.contentOf(row) as string);
  rows.remove(row);
}

/** The hold of a row, made an ordinary one. */
export function holdAt(state: TableState, row: number): Hold {
  const content = state.rows.contentOf(row);
  if (typeof content !== "string") return content;
  const key = state.keys.add(content);
  const hold = holdOfRow(state, row, key);
  hold.change().row = row;
  state.loneTasks.remove(row);
  state.rows.setContent(row, hold);
  state.tasks.add(hold);
  return hold;
}

/** The hold of a row, for reading only. */
export function lookAt(state: TableState, row: number): Hold {
  const content = state.rows.contentOf(row);
  return typeof content === "string" ? holdOfRow(state, row, new Key(content, undefined)) : content;
}

/** An object for a row whose hold is the only one of `key`. */
function holdOfRow({ rows }: TableState, row: number, key: Key): Hold {
  const session = rows.sessionOf(row);
  const token = rows.tokenOf(row);
  const hold = new Hold(
    token,
    session,
    rows.taskOf(row),
    rows.sequenceOf(row),
    rows.grantedAtOf(row),
  );
  const place = new Place(key, "exclusive", hold, undefined);
  hold.change().firstPlace = place;
  key.addHold(place);
  return hold;
}

/** Whether none of the options needs an object to store it. */
function isPlain({ value, maxHoldMs, minHoldMs, lockDelayMs }: AcquireTerms): boolean {
  return value === "" && maxHoldMs === 0 && minHoldMs === 0 && lockDelayMs === 0;
}
