/**
 * Tracks the claims of each owner, and lists in each key the places that can be part of a cycle of
 * waits: requests whose owner has another claim, requests with several keys, and holds whose owner
 * waits. Requests of owners that want only that one key, and holders that want nothing more, are
 * not listed and cost the search for cycles nothing, however many there are.
 */
import { assert } from "../../errors/index.js";
import { OwnerRecord } from "../records/claim-indexes.js";
import { Hold } from "../records/hold.js";
import { Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt } from "./lone-holds.js";

/** Adds a claim that is already in its keys. Returns whether its owner has others. */
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

/** Lists holds of an owner as needed, after `added` joined its other claims. */
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

/** Changes the token of a hold. The holds of its owner and of its keys are ordered by token. */
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

/** Removes a claim that is still in its keys. */
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

/** The requests of an owner, in order. */
export function requestsOf(state: TableState, { session, owner }: OwnedBy): Iterable<Request> {
  const entry = state.owners.find(session, owner);
  if (entry instanceof OwnerRecord) return entry.requests;
  return entry instanceof Request ? [entry] : [];
}

/** The holds of an owner, in order. */
export function holdsOf(state: TableState, { session, owner }: OwnedBy): ReadonlySet<Hold> {
  const entry = state.owners.find(session, owner);
  if (entry instanceof OwnerRecord) return entry.holds;
  if (entry instanceof Hold) return new Set([entry]);
  const row = state.loneOwners.find(session, owner);
  return new Set(row === 0 ? [] : [holdAt(state, row)]);
}

/** Lists a request in its keys. Returns whether it was not listed before. */
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
