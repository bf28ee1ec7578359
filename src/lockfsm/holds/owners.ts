/**
 * Keeps track of what each owner has, and lists in each key what can be part of a cycle of waits: a
 * request whose owner has anything else, or that has several keys; and a hold whose owner waits. The
 * long tail of a queue, requests of owners who want that one thing, and a crowd of holders who want
 * nothing are not listed, and cost the search for cycles nothing.
 */
import { assert } from "../../assert.js";
import { Hold, OwnerRecord, Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt } from "./lone-holds.js";

/** A claim that stands in its keys already. Returns whether its owner has others. */
export function join(state: TableState, claim: Hold | Request): boolean {
  const { session, owner } = claim;
  const row = state.loneOwners.find(session, owner);
  const entry = row === 0 ? state.owners.find(session, owner) : holdAt(state, row);
  if (entry === undefined) {
    state.owners.add(claim);
    if (claim instanceof Request && claim.firstPlace?.sibling !== undefined) list(claim);
    return false;
  }
  if (claim instanceof Request) list(claim);
  if (entry instanceof OwnerRecord) {
    entry.add(claim);
    listHolds(entry, claim);
    return true;
  }
  state.owners.remove(entry);
  const record = new OwnerRecord(session, owner);
  record.add(entry);
  record.add(claim);
  state.owners.add(record);
  if (entry instanceof Request) list(entry);
  listHolds(record, undefined);
  return true;
}

/** After `added` joined the others. */
function listHolds(record: OwnerRecord, added: Hold | Request | undefined): void {
  if (record.areHoldsListed) {
    if (added instanceof Hold) listHold(added);
  } else if (record.needsHoldsListed) {
    record.areHoldsListed = true;
    for (const hold of record.holds) listHold(hold);
  }
}

function listHold(hold: Hold): void {
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.addHeldByWaiter(place);
  }
}

function unlistHold(hold: Hold): void {
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHeldByWaiter(place);
  }
}

/** Changes the token of a hold, in whose order the holds of its owner and of its keys stand. */
export function reorder(state: TableState, hold: Hold, change: () => void): void {
  const entry = state.owners.find(hold.session, hold.owner);
  const record = entry instanceof OwnerRecord ? entry : undefined;
  if (record?.areHoldsListed === true) unlistHold(hold);
  change();
  if (record === undefined) return;
  record.delete(hold);
  record.add(hold);
  if (record.areHoldsListed) listHold(hold);
}

/** A claim that still stands in its keys. */
export function leave(state: TableState, claim: Hold | Request): void {
  if (claim instanceof Request) unlist(claim);
  const entry = state.owners.find(claim.session, claim.owner);
  if (entry === claim) {
    state.owners.remove(claim);
    return;
  }
  assert(entry instanceof OwnerRecord, () => `owner ${claim.owner} has no claims`);
  if (entry.areHoldsListed && claim instanceof Hold) unlistHold(claim);
  entry.delete(claim);
  if (entry.areHoldsListed && !entry.needsHoldsListed) {
    entry.areHoldsListed = false;
    for (const hold of entry.holds) unlistHold(hold);
  }
  const { last } = entry;
  if (entry.size > 1 || last === undefined) return;
  state.owners.remove(entry);
  state.owners.add(last);
  if (last instanceof Request && last.firstPlace?.sibling === undefined) unlist(last);
}

export type OwnedBy = Pick<Request, "session" | "owner">;

/** What an owner waits for, in order. */
export function requestsOf(state: TableState, { session, owner }: OwnedBy): Iterable<Request> {
  const entry = state.owners.find(session, owner);
  if (entry instanceof OwnerRecord) return entry.requests;
  return entry instanceof Request ? [entry] : [];
}

/** What an owner holds, in order. */
export function holdsOf(state: TableState, { session, owner }: OwnedBy): ReadonlySet<Hold> {
  const entry = state.owners.find(session, owner);
  if (entry instanceof OwnerRecord) return entry.holds;
  if (entry instanceof Hold) return new Set([entry]);
  const row = state.loneOwners.find(session, owner);
  return new Set(row === 0 ? [] : [holdAt(state, row)]);
}

/** Returns whether it was not listed before. */
export function list(request: Request): boolean {
  if (request.isListed) return false;
  request.isListed = true;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.queue?.list(place);
  }
  return true;
}

export function unlist(request: Request): void {
  if (!request.isListed) return;
  request.isListed = false;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.queue?.unlist(place);
  }
}
