/**
 * Leases of named owners (semantics.md, 8). A lease is a hold of no session; the session of a take
 * only has its wait. An owner has at most one claim in a key, which the table finds by the owner, so
 * that any session of its identity can repeat, extend and give back.
 */
import {
  digestOf,
  END_REASON,
  type ExtendCommand,
  type ExtendedLease,
  type GiveBackCommand,
  type Item,
  type Result,
  STATUS,
  type TakeCommand,
  withLeaseMargin,
} from "../../protocol/index.js";
import { endOf, isDue, reasonAtEnd } from "../holds/due-time.js";
import { endRow, endWait } from "../holds/end.js";
import { grantLease, leasedResult } from "../holds/grant.js";
import { changeLease, keysOf, rememberGivenBack } from "../holds/lease-holds.js";
import { withdraw } from "../holds/leave-queues.js";
import { isBeyondIdentity, isOverfull } from "../holds/quotas.js";
import { Hold } from "../records/hold.js";
import type { Lease, LeaseOwner, LeaseWait } from "../records/lease.js";
import { Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { CANCELLED, INVALID_ARGUMENT, notHeld, QUOTA, SAME_OWNER } from "../results.js";
import {
  awaitGrant,
  enqueue,
  isAdmitted,
  isWellFormed,
  kindProblemOf,
  lockHeld,
  mayKeepClosed,
} from "./acquire.js";
import { store } from "./session-effects.js";

const GIVEN_BACK = notHeld(END_REASON.released);

export function take(state: TableState, session: Session, command: TakeCommand): void {
  const { sequence } = command;
  const problem = lengthProblemOf(state, command.ttlMs);
  if (problem !== undefined) store(state, session, sequence, problem);
  else if (!isSound(state, command)) store(state, session, sequence, INVALID_ARGUMENT);
  else if (command.isSplit) {
    store(state, session, sequence, takeEach(state, session, command));
  } else takeAll(state, session, command);
}

function isSound(state: TableState, command: TakeCommand): boolean {
  const { items, waitMs, options } = command;
  if (!isWellFormed(items, waitMs) || options?.steal === true) return false;
  return mayKeepClosed(state, options);
}

/** Why no lease of an identity's owner may last so long; `undefined` if it may. */
export function lengthProblemOf({ settings }: TableState, ttlMs: number): Result | undefined {
  const { leaseTtlMsMax, endlessLeases } = settings;
  if (ttlMs > withLeaseMargin(leaseTtlMsMax)) {
    return { status: INVALID_ARGUMENT.status, limit: leaseTtlMsMax } as Result;
  }
  return ttlMs > 0 || endlessLeases === 1 ? undefined : INVALID_ARGUMENT;
}

function ownerOf(session: Session, { owner }: { readonly owner: string }): LeaseOwner {
  const { identity } = session.credential;
  return { ownerDigest: digestOf(owner), identity, isBearer: false };
}

function takeAll(state: TableState, session: Session, command: TakeCommand): void {
  const { sequence, items } = command;
  const owner = ownerOf(session, command);
  for (const { key } of items) {
    const claim = state.leases.find(key, owner);
    if (claim === undefined) continue;
    repeat(state, session, command, claim);
    return;
  }
  const refusal = isGivenBack(state, owner, command, items)
    ? GIVEN_BACK
    : refusalOf(state, session, items);
  if (refusal !== undefined) store(state, session, sequence, refusal);
  else if (isAdmitted(state, items)) {
    const hold = grantLease(state, leaseOf(state, session, command, owner), command, items);
    store(state, session, sequence, leasedResult(hold));
  } else awaitGrant(state, session, command, waitOf(command, owner));
}

/** Whether this is a late copy of a take whose claim its owner has given back. */
function isGivenBack(
  { leases, stamp }: TableState,
  owner: LeaseOwner,
  { request }: TakeCommand,
  items: readonly Item[],
): boolean {
  return items.some(({ key }) => leases.isGivenBack(key, owner, request, stamp));
}

/** What is refused whether the items are free or not. */
function refusalOf(
  state: TableState,
  session: Session,
  items: readonly Item[],
): Result | undefined {
  const problem = kindProblemOf(state, items);
  if (problem !== undefined) return problem;
  const { identity } = session.credential;
  return isOverfull(state, session) || isBeyondIdentity(state, identity, "claim")
    ? QUOTA
    : undefined;
}

function leaseOf(
  { stamp }: TableState,
  session: Session,
  command: TakeCommand,
  { ownerDigest, identity }: LeaseOwner,
): Lease {
  const { request, name, ttlMs, sequence: takenAs } = command;
  const endsAt = ttlMs === 0 ? 0 : stamp + ttlMs;
  // Written out: a spread would cost more than the rest of a take.
  const takenBy = session.id;
  const isBearer = false;
  return { ownerDigest, identity, isBearer, request, name, ttlMs, endsAt, takenBy, takenAs };
}

function waitOf({ request, name, ttlMs }: TakeCommand, owner: LeaseOwner): LeaseWait {
  return { ...owner, request, name, ttlMs };
}

/** The owner has a claim in one of the keys already: this is a repeat of it, or refused. */
function repeat(
  state: TableState,
  session: Session,
  command: TakeCommand,
  claim: Hold | Request,
): void {
  const { sequence } = command;
  if (claim instanceof Hold && isRepeated(state, claim, command, command.items)) {
    store(state, session, sequence, repeatLease(state, command, claim));
  } else if (claim instanceof Request && isWaitRepeated(state, claim, command)) {
    const { name } = claim.lease ?? command;
    withdraw(state, claim, CANCELLED);
    const wait = waitOf({ ...command, name }, ownerOf(session, command));
    enqueue(state, session, command, wait, claim);
  } else store(state, session, sequence, SAME_OWNER);
}

function repeatLease(state: TableState, { ttlMs, items }: TakeCommand, hold: Hold): Result {
  const before = hold.extras?.lease?.endsAt ?? 0;
  const wanted = ttlMs === 0 ? 0 : state.stamp + ttlMs;
  const isLater = before !== 0 && (wanted === 0 || wanted > before);
  const change = isLater ? { endsAt: wanted, ttlMs } : {};
  // The caller of any of its takes may rely on the lease by now, so none of them can take it back.
  changeLease(state, hold, { ...change, takenBy: 0, takenAs: 0 });
  return leasedResult(hold, items);
}

function isRepeated(
  state: TableState,
  hold: Hold,
  { request }: TakeCommand,
  items: readonly Item[],
): boolean {
  const { lease } = hold.extras ?? {};
  return lease?.request === request && !isDue(state, hold) && isOf(hold, items);
}

function isWaitRepeated(state: TableState, wait: Request, command: TakeCommand): boolean {
  const isSame = wait.lease?.request === command.request && isOf(wait, command.items);
  return isSame && !wait.isOverAt(state.stamp);
}

/** Whether a claim has exactly these items, in any order. */
function isOf({ firstPlace }: Hold | Request, items: readonly Item[]): boolean {
  let count = 0;
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    const { key, mode, wanted } = place;
    const item = items.find((one) => one.key === key.name);
    if (item === undefined || item.mode !== mode) return false;
    if (item.mode === "permits" && item.permits !== wanted) return false;
    count += 1;
  }
  return count === items.length;
}

/** All items become leases of their own, or none does. */
function takeEach(state: TableState, session: Session, command: TakeCommand): Result {
  const owner = ownerOf(session, command);
  const repeated: (Hold | undefined)[] = [];
  for (const item of command.items) {
    const claim = state.leases.find(item.key, owner);
    const isFree = claim === undefined;
    if (!isFree && !(claim instanceof Hold && isRepeated(state, claim, command, [item]))) {
      return SAME_OWNER;
    }
    repeated.push(claim);
  }
  const missing = command.items.filter((_, at) => repeated[at] === undefined);
  if (isGivenBack(state, owner, command, missing)) return GIVEN_BACK;
  const refusal = missing.length === 0 ? undefined : refusalOf(state, session, missing);
  if (refusal !== undefined) return refusal;
  if (!isAdmitted(state, missing)) return lockHeld(state, missing);
  const tokens: number[] = [];
  const slots: (readonly number[])[] = [];
  let first = 0;
  for (const [at, item] of command.items.entries()) {
    const known = repeated[at];
    if (known !== undefined) repeatLease(state, command, known);
    const lease = leaseOf(state, session, command, owner);
    const hold = known ?? grantLease(state, lease, command, [item]);
    const { firstPlace, token } = hold;
    tokens.push(token);
    if (firstPlace?.permits !== undefined) slots.push(firstPlace.permits.slots);
    const endsAt = endOf(hold) ?? 0;
    if (first === 0 || (endsAt !== 0 && endsAt < first)) first = endsAt;
  }
  return { status: STATUS.leased, tokens, endsAt: first, slots };
}

export function extend(state: TableState, session: Session, command: ExtendCommand): void {
  const { sequence } = command;
  store(state, session, sequence, extended(state, session, command));
}

function extended(state: TableState, session: Session, command: ExtendCommand): Result {
  const { keys, ttlMs, mode } = command;
  const problem = lengthProblemOf(state, ttlMs);
  if (problem !== undefined) return problem;
  if (keys.length === 0 || (ttlMs === 0 && mode === "add")) return INVALID_ARGUMENT;
  const owner = ownerOf(session, command);
  const holds: Hold[] = [];
  for (const key of keys) {
    const claim = state.leases.find(key, owner);
    if (!(claim instanceof Hold)) return notHeld(state.leases.reasonOf(key, owner, state.stamp));
    if (isDue(state, claim)) return notHeld(reasonAtEnd(claim));
    holds.push(claim);
  }
  for (const hold of new Set(holds)) extendOne(state, hold, command);
  const leases = holds.map((hold): ExtendedLease => {
    return { token: hold.token, endsAt: endOf(hold) ?? 0 };
  });
  return { status: STATUS.extended, leases };
}

function extendOne(state: TableState, hold: Hold, { mode, ttlMs }: ExtendCommand): void {
  const { lease } = hold.extras ?? {};
  if (lease === undefined) return;
  const { stamp, settings } = state;
  const { endsAt } = lease;
  if (ttlMs === 0) changeLease(state, hold, { endsAt: 0, ttlMs });
  else if (mode === "exactly") changeLease(state, hold, { endsAt: stamp + ttlMs, ttlMs });
  else if (endsAt !== 0) {
    const last = stamp + withLeaseMargin(settings.leaseTtlMsMax);
    const wanted = mode === "add" ? Math.min(endsAt + ttlMs, last) : stamp + ttlMs;
    if (wanted > endsAt) changeLease(state, hold, { endsAt: wanted, ttlMs: wanted - stamp });
  }
}

/** The answer is sent before others are granted, as for a release. */
export function giveBack(state: TableState, session: Session, command: GiveBackCommand): void {
  const { sequence, keys, taken } = command;
  const owner = ownerOf(session, command);
  const holds = new Set<Hold>();
  const waits = new Set<Request>();
  let [count, waitCount] = [0, 0];
  let missing: string | undefined;
  for (const key of keys) {
    const claim = state.leases.find(key, owner);
    if (claim === undefined || (taken > 0 && !isTakenBy(claim, session, taken))) missing ??= key;
    else if (claim instanceof Hold) {
      holds.add(claim);
      count += 1;
    } else {
      waits.add(claim);
      waitCount += 1;
    }
  }
  const { unknown, released } = END_REASON;
  const reason =
    missing === undefined ? unknown : state.leases.reasonOf(missing, owner, state.stamp);
  store(state, session, sequence, { status: STATUS.givenBack, count, waits: waitCount, reason });
  for (const wait of waits) {
    endWait(state, wait, CANCELLED);
    if (taken === 0) forbidCopies(state, keysOf(wait), owner, command, wait.lease?.request);
  }
  for (const hold of holds) {
    const [all, request] = [keysOf(hold), hold.extras?.lease?.request];
    endRow(state, hold.row, released);
    if (taken === 0) forbidCopies(state, all, owner, command, request);
  }
}

/** A request that is the owner itself is repeated on purpose: it names no single request. */
function forbidCopies(
  state: TableState,
  keys: readonly string[],
  owner: LeaseOwner,
  command: GiveBackCommand,
  request: string | undefined,
): void {
  if (request === undefined || request === command.owner) return;
  rememberGivenBack(state, keys, owner, request);
}

/**
 * Whether the take of that number of the session was the last that named the wait, or the only one
 * that named the lease.
 */
function isTakenBy(claim: Hold | Request, session: Session, taken: number): boolean {
  if (claim instanceof Request) return claim.session === session && claim.sequence === taken;
  const { lease } = claim.extras ?? {};
  return lease?.takenBy === session.id && lease.takenAs === taken;
}
