/**
 * Makes the table of a new cluster that is restored from a snapshot of another one. The other
 * cluster may have continued after the snapshot, and its clients know nothing of the new one. So no
 * client counts as a holder or waiter, no token is given that the old cluster could have given, and
 * no session is opened while an old holder could still rely on its lease; longer leases of named
 * owners that are known keep their keys closed for that time. Data that outlive
 * sessions stay: settings, limits that were set, and the remaining time for which keys stay closed
 * (semantics.md, 10.4).
 */
import { assert } from "../../errors/index.js";
import { makeSemaphore, obtainKey } from "../holds/keys.js";
import { ANONYMOUS_NUMBER, LOCAL_NUMBER } from "../records/access-state.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import { Identity } from "../records/identity.js";
import { Permits, Place } from "../records/key.js";
import { Session } from "../records/session.js";
import { bytesOfIdentity } from "../records/sizes.js";
import { TableState } from "../records/state.js";
import { TOKEN_FLOOR_MAX, TOKEN_JUMP, TokenCounter } from "../token-counter.js";
import { link } from "./link.js";
import { SnapshotParts } from "./parts.js";

export interface RefoundOptions {
  /**
   * The index of the entry before the first of the new cluster; it must be above any that the old
   * cluster can have reached.
   */
  readonly index: number;
  /**
   * How long no session is opened, in milliseconds of cluster time. 0: all leases of the old cluster
   * are over, also the leases of named owners.
   */
  readonly quietMs: number;
  /** No token will be below it. At most `TOKEN_FLOOR_MAX`. */
  readonly tokenFloor: number;
  /**
   * Wall clock of the snapshot, in milliseconds of UTC: the first entry adds the tokens that could
   * have been given since. Above 0.
   */
  readonly savedWallMs: number;
}

/** Makes the table. Takes time proportional to `old`, which does not change. */
export function refound(old: TableState, options: RefoundOptions): TableState {
  const { index, quietMs, tokenFloor, savedWallMs } = options;
  assert(index >= old.index, () => `a new cluster begins at ${index}, before ${old.index}`);
  assert(savedWallMs > 0 && quietMs >= 0, () => `saved at ${savedWallMs}, quiet for ${quietMs}`);
  assert(tokenFloor <= TOKEN_FLOOR_MAX, () => `token floor ${tokenFloor}`);
  const state = new TableState(old.settings);
  state.index = index;
  state.stamp = old.stamp;
  state.nextNumber = old.nextNumber;
  state.adminOrderCount = old.adminOrderCount;
  state.limitOrderCount = old.limitOrderCount;
  state.tokens = countingOn(old.tokens, options);
  state.quietUntil = quietMs === 0 ? 0 : old.stamp + quietMs;
  keepIdentities(old, state);
  const parts = new SnapshotParts(state, NOTHING);
  old.semaphores.forEach(({ name, limit, isSet }) => {
    if (isSet) makeSemaphore(state, obtainKey(state, name), limit, true);
  });
  old.cooldowns.forEach((cooldown) => {
    keepClosed(parts, cooldown, cooldown.dueAt);
  });
  forEachHold(old, (hold) => {
    const closedUntil = hold.grantedAt + (hold.extras?.minHoldMs ?? 0);
    const dueAt = Math.max(closedUntil, mayLiveUntil(state, hold));
    if (dueAt > old.stamp) keepClosed(parts, hold, dueAt);
  });
  const linking = link(parts);
  for (;;) {
    const step = linking.next();
    if (step.done === true) return step.value;
  }
}

/**
 * How long the owner of a lease of the file may rely on it, if that is longer than the quiet time: the
 * old cluster may have extended it, as it did last, until it was stopped. Only its keys wait for that.
 */
function mayLiveUntil({ stamp, quietUntil }: TableState, { extras }: Hold): number {
  const lease = extras?.lease;
  if (quietUntil === 0 || lease === undefined || lease.isBearer || lease.endsAt === 0) return 0;
  const until = stamp + lease.ttlMs + (extras?.lockDelayMs ?? 0);
  return until > quietUntil ? until : 0;
}

/**
 * Without their credentials, which those who know the old cluster know. A cluster that was closed
 * stays closed.
 */
function keepIdentities({ access: old }: TableState, state: TableState): void {
  const { access } = state;
  access.nextIdentity = old.nextIdentity;
  access.nextCredential = old.nextCredential;
  access.revision = state.index;
  for (const { number, name, grants } of old.identities()) {
    if (number === LOCAL_NUMBER) continue;
    const identity = number === ANONYMOUS_NUMBER ? access.anonymous : new Identity(number, name);
    if (identity !== access.anonymous) access.add(identity);
    access.setGrants(identity, grants);
    if (identity !== access.anonymous) state.otherBytes += bytesOfIdentity(identity);
  }
}

/**
 * A counter above the tokens that the old cluster may have given since, as far as that is known
 * without a clock.
 */
function countingOn(
  { next, leftAtMs }: TokenCounter,
  { tokenFloor, savedWallMs }: RefoundOptions,
): TokenCounter {
  const floor = Math.max(next + TOKEN_JUMP, tokenFloor);
  const first = Math.max(next, Math.min(floor, TOKEN_FLOOR_MAX));
  // The old cluster was itself restored, and nothing was granted in it.
  const isUnsettled = leftAtMs > 0;
  return new TokenCounter(first, isUnsettled ? Math.min(leftAtMs, savedWallMs) : savedWallMs);
}

const NOTHING = Object.freeze({
  sessions: 0,
  holds: 0,
  requests: 0,
  work: 0,
  cooldowns: 0,
  semaphores: 0,
  identities: 0,
  endedLeases: 0,
});

/** Visits holds in the order of their tokens. Lone holds keep nothing closed and are skipped. */
function forEachHold({ sessions, detached, rows, work }: TableState, visit: (hold: Hold) => void) {
  const found: Hold[] = [];
  const collect = (firstHold: number): void => {
    for (let row = firstHold; row !== 0; row = rows.nextOf(row)) {
      const content = rows.contentOf(row);
      if (content instanceof Hold) found.push(content);
    }
  };
  collect(detached.firstHold);
  sessions.forEach((session) => {
    collect(session.firstHold);
  });
  // Ended sessions, some of whose holds have not been swept.
  work.forEach((item) => {
    if (item instanceof Session) collect(item.firstHold);
  });
  found.sort((left, right) => left.token - right.token);
  for (const hold of found) visit(hold);
}

/** Adds a cooldown with the places of the claim to the new table. */
function keepClosed(
  { state, cooldowns }: SnapshotParts,
  { token, firstPlace }: Pick<Hold, "token" | "firstPlace">,
  dueAt: number,
): void {
  const cooldown = new Cooldown(token, 0, undefined, dueAt, state.takeNumber(), state.copies);
  let last: Place | undefined;
  for (let at = firstPlace; at !== undefined; at = at.sibling) {
    const place = copyOf(state, cooldown, at);
    if (last === undefined) cooldown.change().firstPlace = place;
    else last.change().sibling = place;
    last = place;
  }
  cooldowns.push(cooldown);
}

function copyOf(state: TableState, cooldown: Cooldown, { key, mode, permits }: Place): Place {
  const copied = obtainKey(state, key.name);
  if (permits === undefined) return new Place(copied, mode, cooldown, undefined);
  if (copied.semaphore === undefined) {
    makeSemaphore(state, copied, key.semaphore?.limit ?? permits.wanted, false);
  }
  const copy = new Permits(permits.wanted);
  copy.slots = permits.slots;
  return new Place(copied, mode, cooldown, copy);
}
