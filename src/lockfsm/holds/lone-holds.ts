/**
 * Most of a large table: a lock that one owner holds for itself, under default options, who has nothing
 * else, and nobody waits. Such a lone hold has no objects, only its row and the name of its key. Who
 * is about to change more of it than to end it makes it an ordinary hold first, which it stays; who
 * only looks gets objects that nobody else knows. From outside the two sorts cannot be told apart.
 */
import { assert } from "../../assert.js";
import {
  type AcquireCommand,
  type AcquireOptions,
  END_REASON,
  type EndReason,
  type Result,
  STATUS,
} from "../../protocol/index.js";
import { Key, Place } from "../records/key.js";
import { Hold, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

export interface LoneHold {
  readonly token: number;
  readonly owner: number;
  /** Of the acquire that it answers. */
  readonly sequence: number;
  readonly grantedAt: number;
  /** Of its key. */
  readonly name: string;
}

/** Grants what is asked for, if that makes a lone hold; else `undefined`. */
export function holdAlone(
  state: TableState,
  session: Session,
  { items, owner, sequence, options }: AcquireCommand,
): Result | undefined {
  const [item] = items;
  if (item === undefined || items.length > 1 || item.mode !== "exclusive") return undefined;
  if (options !== undefined && !isPlain(options)) return undefined;
  if (!isNew(state, session, owner, item.key)) return undefined;
  assert(session.isAliveAt(state.stamp), () => `grant to session ${session.id} after its end`);
  const token = state.tokens.take();
  const { stamp: grantedAt } = state;
  const row = enterAlone(state, session, { token, owner, sequence, grantedAt, name: item.key });
  state.noteAlone("granted", row, END_REASON.unknown);
  return { status: STATUS.granted, token };
}

/** Whether a lone hold of the key could be that owner's. */
export function isNew(state: TableState, session: Session, owner: number, name: string): boolean {
  return (
    state.keys.get(name) === undefined &&
    state.loneOwners.find(session, owner) === 0 &&
    state.owners.find(session, owner) === undefined
  );
}

/** One that `isNew`, behind the other holds of the session; returns its row. */
export function enterAlone(
  state: TableState,
  session: Session,
  { token, owner, sequence, grantedAt, name }: LoneHold,
): number {
  const row = state.rows.add(session, token, sequence, name);
  state.rows.describe(row, owner, grantedAt);
  state.holds.add(row);
  state.holdsBySequence.add(row);
  state.loneOwners.add(row);
  state.keys.addRow(name, row);
  return row;
}

/** Nothing keeps its key closed, and nobody is there to be let in. */
export function endAlone(state: TableState, row: number, reason: EndReason): void {
  const { rows } = state;
  state.noteAlone("ended", row, reason);
  state.loneOwners.remove(row);
  state.holds.remove(row);
  state.holdsBySequence.remove(row);
  state.keys.dropRow(rows.contentOf(row) as string);
  rows.remove(row);
}

/** The hold of a row: an ordinary one from now on. */
export function holdAt(state: TableState, row: number): Hold {
  const content = state.rows.contentOf(row);
  if (typeof content !== "string") return content;
  const key = state.keys.add(content);
  const hold = lonely(state, row, key);
  hold.change().row = row;
  state.loneOwners.remove(row);
  state.rows.setContent(row, hold);
  state.owners.add(hold);
  return hold;
}

/** The hold of a row, to be read only. */
export function lookAt(state: TableState, row: number): Hold {
  const content = state.rows.contentOf(row);
  return typeof content === "string" ? lonely(state, row, new Key(content, undefined)) : content;
}

/** The only hold of `key`. */
function lonely({ rows }: TableState, row: number, key: Key): Hold {
  const session = rows.sessionOf(row);
  const token = rows.tokenOf(row);
  const hold = new Hold(
    token,
    session,
    rows.ownerOf(row),
    rows.sequenceOf(row),
    rows.grantedAtOf(row),
  );
  const place = new Place(key, "exclusive", hold, undefined);
  hold.change().firstPlace = place;
  key.addHold(place);
  return hold;
}

/** None of these makes a hold anything else than held. */
function isPlain({ value, maxHoldMs, minHoldMs, lockDelayMs }: AcquireOptions): boolean {
  return value === "" && maxHoldMs === 0 && minHoldMs === 0 && lockDelayMs === 0;
}
