/**
 * The answers to `inspect` and `query` (semantics.md, 11.2). Only reads, and never without a limit:
 * of a queue of a hundred thousand it shows the beginning and the length.
 */
import {
  ACCESS_LEVEL,
  type CooldownView,
  digestOf,
  END_REASON,
  type HoldView,
  type KeysView,
  type KeyView,
  type OwnLeaseView,
  QUERY_PAGE_MAX,
  type SessionsView,
  type VerifyView,
  type WaiterView,
} from "../../protocol/index.js";
import { endOf, reasonAtEnd } from "../holds/due-time.js";
import { lookAtEntry, lookAtKey } from "../holds/keys.js";
import { lookAtHold } from "../holds/tokens.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import type { Identity } from "../records/identity.js";
import type { Key, Place } from "../records/key.js";
import type { NamedKey } from "../records/key-index.js";
import { type Lease, shownTask } from "../records/lease.js";
import { NO_DEADLINE, orderOf, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/** The most holds, and likewise waiters, listed for one key. */
const LINES_PER_KEY_MAX = 1_000;
/** A page ends with the key that reaches this many holds and waiters. */
const LINES_PER_PAGE_MAX = 1_000;

/** Sessions are sorted whenever this many pages of them have been found. */
const SORTED_PAGES = 8;

export function inspect(state: TableState, name: string): KeyView {
  const key = lookAtKey(state, name);
  if (key !== undefined) return viewOf(state, key);
  return { key: name, kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };
}

/** The lease that an owner of the viewer's identity has in a key. */
export function leaseIn(
  state: TableState,
  key: string,
  owner: string,
  viewer: Identity,
): OwnLeaseView | null {
  const claim = state.leases.find(key, {
    ownerDigest: digestOf(owner),
    identity: viewer,
    isBearer: false,
  });
  if (!(claim instanceof Hold)) return null;
  const endsAt = endOf(claim);
  if (endsAt === undefined) return { token: claim.token, endsInMs: null };
  // Until it is swept, one that has ended is still found.
  return endsAt <= state.stamp ? null : { token: claim.token, endsInMs: endsAt - state.stamp };
}

/** `limit` is clamped to 1 … `QUERY_PAGE_MAX`; a page can end early if its keys are crowded. */
export function query(
  state: TableState,
  prefix: string,
  after: string | undefined,
  limit: number,
  viewer: Identity | undefined,
): KeysView {
  const wanted = Number.isSafeInteger(limit) ? limit : QUERY_PAGE_MAX;
  const pageKeys = Math.min(Math.max(1, wanted), QUERY_PAGE_MAX);
  const found = pageOf(state, prefix, after, pageKeys + 1, viewer);
  const keys: KeyView[] = [];
  let lines = 0;
  for (const { entry } of found) {
    if (keys.length === pageKeys || lines >= LINES_PER_PAGE_MAX) break;
    const view = viewOf(state, lookAtEntry(state, entry));
    keys.push(view);
    lines += view.holds.length + view.waiters.length;
  }
  const next = keys.length < found.length ? (keys[keys.length - 1]?.key ?? null) : null;
  return { keys, next };
}

/** The keys that the viewer may observe; `undefined`: all. At most `limit` are looked at. */
function pageOf(
  { keys }: TableState,
  prefix: string,
  after: string | undefined,
  limit: number,
  viewer: Identity | undefined,
): NamedKey[] {
  if (viewer === undefined || viewer.levelOfAll(prefix) >= ACCESS_LEVEL.observe) {
    return keys.page(prefix, after, limit);
  }
  return keys.pageOfRanges(viewer.observable, prefix, after, limit);
}

/**
 * Live sessions in the order of their numbers, after `after`. All are examined, but few are sorted.
 */
export function listSessions(state: TableState, after: number, limit: number): SessionsView {
  const pageSessions = Math.min(Math.max(1, limit), QUERY_PAGE_MAX);
  // The page with the smallest numbers, and one more session, which shows that the page is not the
  // last.
  let found: Session[] = [];
  let largest = Number.POSITIVE_INFINITY;
  const cut = (): void => {
    found.sort((left, right) => left.id - right.id);
    if (found.length <= pageSessions) return;
    found = found.slice(0, pageSessions + 1);
    largest = found[pageSessions]?.id ?? largest;
  };
  state.sessions.forEach((session) => {
    const { id } = session;
    if (id <= after || id >= largest || !session.isAliveAt(state.stamp)) return;
    found.push(session);
    if (found.length > SORTED_PAGES * QUERY_PAGE_MAX) cut();
  });
  cut();
  const page = found.slice(0, pageSessions);
  const sessions = page.map((session) => ({
    session: session.id,
    name: session.name,
    identity: session.identityName,
    metadata: session.metadata,
    ttlMs: session.ttlMs,
    leaseMs: session.dueAt - state.stamp,
    idleMs: session.ttlMs - (session.dueAt - state.stamp),
    node: session.origin.node,
    address: session.origin.address,
    holds: session.holdCount,
    waits: session.requestCount,
    isRevoked: session.forcedEnd !== undefined,
  }));
  return { sessions, next: found.length > page.length ? (page.at(-1)?.id ?? null) : null };
}

/** Whether a token belongs to a hold of the key, and the newest token of the key. */
export function verify(state: TableState, name: string, token: number): VerifyView {
  const key = lookAtKey(state, name);
  let newestToken = 0;
  let isCurrent = false;
  const hold = lookAtHold(state, token);
  if (hold !== undefined) {
    for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
      isCurrent ||= place.key.name === name;
    }
  }
  const last = key?.lastHold?.claimant;
  if (last instanceof Hold || last instanceof Cooldown) newestToken = last.token;
  return { isCurrent, newestToken };
}

function viewOf(state: TableState, key: Key): KeyView {
  const holds: HoldView[] = [];
  const cooldowns: CooldownView[] = [];
  const waiters: WaiterView[] = [];
  let cooldownCount = 0;
  for (let place = key.firstHold; place !== undefined; place = place.next) {
    const { claimant } = place;
    if (claimant instanceof Hold) {
      if (holds.length < LINES_PER_KEY_MAX) holds.push(holdViewOf(state, place, claimant));
    } else if (claimant instanceof Cooldown) {
      cooldownCount += 1;
      if (cooldowns.length < LINES_PER_KEY_MAX)
        cooldowns.push(cooldownViewOf(state, place, claimant));
    }
  }
  for (let place = key.queue?.first; place !== undefined; place = place.next) {
    if (waiters.length === LINES_PER_KEY_MAX) break;
    waiters.push(waiterViewOf(state, place));
  }
  const { semaphore, waiterCount, name } = key;
  const kind = semaphore === undefined ? "lock" : "semaphore";
  const limit = semaphore?.limit ?? 0;
  const view = { key: name, kind, limit, holds, waiters, cooldowns } as const;
  const holdCount = key.holdCount - cooldownCount;
  const isWhole =
    holds.length === holdCount &&
    waiters.length === waiterCount &&
    cooldowns.length === cooldownCount;
  if (isWhole) return view;
  return {
    ...view,
    truncated: { holds: holdCount, waiters: waiterCount, cooldowns: cooldownCount },
  };
}

function holdViewOf({ stamp }: TableState, { mode, permits }: Place, hold: Hold): HoldView {
  const { session, token, task, sequence, extras } = hold;
  const endsAt = endOf(hold);
  const { lease } = extras ?? {};
  return {
    token,
    mode,
    session: session.id,
    sessionName: hold.holderName,
    identity: hold.identityName,
    task,
    sequence,
    heldMs: stamp - hold.grantedAt,
    waitedMs: hold.waitedMs,
    leaseMs: restMs(stamp, leaseEndOf(stamp, hold)),
    ttlMs: lease?.ttlMs ?? session.ttlMs,
    endsInMs: endsAt === undefined ? null : restMs(stamp, endsAt),
    isRevoked: endsAt !== undefined && reasonAtEnd(hold) === END_REASON.revoked,
    orderedBy: hold.orderedBy,
    holder: hold.holder,
    leaseOwner: lease === undefined ? "" : leaseOwnerOf(lease),
    permits: permits?.wanted ?? 0,
    slots: permits?.slots ?? [],
    value: hold.value,
  };
}

/** The end of its session's lease or its own; 0 if that has ended, or is without end. */
function leaseEndOf(stamp: number, { session, extras }: Hold): number {
  return extras?.lease?.endsAt ?? (session.isAliveAt(stamp) ? session.dueAt : 0);
}

/** A digest of the digest, since that one would be as good as the owner itself to compare with. */
function leaseOwnerOf({ ownerDigest }: Lease): string {
  return digestOf(ownerDigest).slice(0, 8);
}

export function cooldownViewOf(
  { stamp }: TableState,
  { mode, wanted }: Place,
  { token, dueAt, identity }: Cooldown,
): CooldownView {
  const name = identity?.name ?? "";
  return { mode, token, identity: name, endsInMs: restMs(stamp, dueAt), permits: wanted };
}

export function waiterViewOf({ stamp }: TableState, place: Place): WaiterView {
  const request = orderOf(place);
  const { session, sequence, task, number, options, dueAt, upgrades } = request;
  return {
    mode: place.mode,
    session: session.id,
    sessionName: request.holderName,
    identity: request.identityName,
    task: shownTask(task),
    sequence,
    arrival: number,
    waitingMs: stamp - request.enqueuedAt,
    endsInMs: dueAt === NO_DEADLINE ? null : restMs(stamp, dueAt),
    priority: options?.priority ?? 0,
    permits: place.wanted,
    isUpgrade: upgrades !== undefined,
    isEligible: place.key.hasReached(place),
  };
}

function restMs(stamp: number, at: number): number {
  return Math.max(0, at - stamp);
}
