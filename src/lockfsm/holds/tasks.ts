/**
 * Tracks the claims of each task, and lists in each key the places that can be part of a cycle of
 * waits: requests whose task has another claim, requests with several keys, and holds whose task
 * waits. Requests of tasks that want only that one key, and holders that want nothing more, are
 * not listed and cost the search for cycles nothing, however many there are.
 */
import { assert } from "../../errors/index.js";
import { TaskRecord } from "../records/claim-indexes.js";
import { Hold } from "../records/hold.js";
import { Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt } from "./lone-holds.js";

/** Adds a claim that is already in its keys. Returns whether its task has others. */
export function join(state: TableState, claim: Hold | Request): boolean {
  const { session, task } = claim;
  const row = state.loneTasks.find(session, task);
  const entry = row === 0 ? state.tasks.find(session, task) : holdAt(state, row);
  if (entry === undefined) {
    state.tasks.add(claim);
    if (claim instanceof Request && claim.firstPlace?.sibling !== undefined) list(claim);
    return false;
  }
  if (claim instanceof Request) list(claim);
  if (entry instanceof TaskRecord) {
    entry.add(claim);
    listHolds(entry, claim);
    return true;
  }
  state.tasks.remove(entry);
  const record = new TaskRecord(session, task);
  record.add(entry);
  record.add(claim);
  state.tasks.add(record);
  if (entry instanceof Request) list(entry);
  listHolds(record, undefined);
  return true;
}

/** Lists holds of a task as needed, after `added` joined its other claims. */
function listHolds(record: TaskRecord, added: Hold | Request | undefined): void {
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

/** Changes the token of a hold. The holds of its task and of its keys are ordered by token. */
export function reorder(state: TableState, hold: Hold, change: () => void): void {
  const entry = state.tasks.find(hold.session, hold.task);
  const record = entry instanceof TaskRecord ? entry : undefined;
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
  const entry = state.tasks.find(claim.session, claim.task);
  if (entry === claim) {
    state.tasks.remove(claim);
    return;
  }
  assert(entry instanceof TaskRecord, () => `task ${claim.task} has no claims`);
  if (entry.areHoldsListed && claim instanceof Hold) unlistHold(claim);
  entry.delete(claim);
  if (entry.areHoldsListed && !entry.needsHoldsListed) {
    entry.areHoldsListed = false;
    for (const hold of entry.holds) unlistHold(hold);
  }
  const { last } = entry;
  if (entry.size > 1 || last === undefined) return;
  state.tasks.remove(entry);
  state.tasks.add(last);
  if (last instanceof Request && last.firstPlace?.sibling === undefined) unlist(last);
}

export type SessionTask = Pick<Request, "session" | "task">;

/** The requests of a task, in order. */
export function requestsOf(state: TableState, { session, task }: SessionTask): Iterable<Request> {
  const entry = state.tasks.find(session, task);
  if (entry instanceof TaskRecord) return entry.requests;
  return entry instanceof Request ? [entry] : [];
}

/** The holds of a task, in order. */
export function holdsOf(state: TableState, { session, task }: SessionTask): ReadonlySet<Hold> {
  const entry = state.tasks.find(session, task);
  if (entry instanceof TaskRecord) return entry.holds;
  if (entry instanceof Hold) return new Set([entry]);
  const row = state.loneTasks.find(session, task);
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
