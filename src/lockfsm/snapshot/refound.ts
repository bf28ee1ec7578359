/**
 * The table of a cluster that is restored from a snapshot of another one. That one may have gone on
 * after the snapshot, and its clients know nothing of this one: so nobody is taken for a holder or a
 * waiter, no token is given that it could have given, and no session is opened while a holder could
 * still count on its lease. What outlives the sessions goes on: settings, limits that were set, and
 * the rest of what keeps keys closed (semantics.md, 10.4).
 */
import { assert } from "../../assert.js";
import { makeSemaphore, obtainKey } from "../holds/keys.js";
import { Closing } from "../records/closing.js";
import { Permits, Place } from "../records/key.js";
import { Hold, Session } from "../records/session.js";
import { TableState } from "../records/state.js";
import { TOKEN_FLOOR_MAX, TOKEN_JUMP, TokenCounter } from "../token-counter.js";
import { link } from "./link.js";
import { SnapshotParts } from "./parts.js";

export interface RefoundOptions {
  /** Of the entry before the first of the new cluster; behind all that the old one can have reached. */
  readonly index: number;
  /** For how long no session is opened, in milliseconds of cluster time. */
  readonly quietMs: number;
  /** No token will be below it. Up to `TOKEN_FLOOR_MAX`. */
  readonly tokenFloor: number;
  /**
   * Wall clock of the snapshot: the first entry adds what could have been granted since. Above 0.
   */
  readonly savedWallMs: number;
}

/** Takes time proportional to `old`, which stays as it is. */
export function refound(old: TableState, options: RefoundOptions): TableState {
  const { index, quietMs, tokenFloor, savedWallMs } = options;
  assert(index >= old.index, () => `founded again at ${index}, before ${old.index}`);
  assert(savedWallMs > 0 && quietMs >= 0, () => `saved at ${savedWallMs}, quiet for ${quietMs}`);
  assert(tokenFloor <= TOKEN_FLOOR_MAX, () => `token floor ${tokenFloor}`);
  const state = new TableState(old.settings);
  state.index = index;
  state.stamp = old.stamp;
  state.nextNumber = old.nextNumber;
  state.tokens = countingOn(old.tokens, options);
  state.quietUntil = quietMs === 0 ? 0 : old.stamp + quietMs;
  const parts = new SnapshotParts(state, NOTHING);
  old.semaphores.forEach(({ name, limit, isSet }) => {
    if (isSet) makeSemaphore(state, obtainKey(state, name), limit, true);
  });
  old.closings.forEach((closing) => {
    keepClosed(parts, closing, closing.dueAt);
  });
  forEachHold(old, (hold) => {
    const dueAt = hold.grantedAt + (hold.extras?.minHoldMs ?? 0);
    if (dueAt > old.stamp) keepClosed(parts, hold, dueAt);
  });
  const linking = link(parts);
  for (;;) {
    const step = linking.next();
    if (step.done === true) return step.value;
  }
}

/** Above what the old cluster may have given since, as far as that can be known without a clock. */
function countingOn(
  { next, leftAtMs }: TokenCounter,
  { tokenFloor, savedWallMs }: RefoundOptions,
): TokenCounter {
  const floor = Math.max(next + TOKEN_JUMP, tokenFloor);
  const first = Math.max(next, Math.min(floor, TOKEN_FLOOR_MAX));
  // That one was restored itself, and nothing was granted in it.
  const isUnsettled = leftAtMs > 0;
  return new TokenCounter(first, isUnsettled ? Math.min(leftAtMs, savedWallMs) : savedWallMs);
}

const NOTHING = Object.freeze({
  sessions: 0,
  holds: 0,
  requests: 0,
  work: 0,
  closings: 0,
  semaphores: 0,
});

/** In the order of their tokens. Lone holds keep nothing closed and are passed over. */
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
  // Those that ended, and of which not everything was swept.
  work.forEach((item) => {
    if (item instanceof Session) collect(item.firstHold);
  });
  found.sort((left, right) => left.token - right.token);
  for (const hold of found) visit(hold);
}

/** A ghost of the claim, in the new table. */
function keepClosed(
  { state, closings }: SnapshotParts,
  { token, firstPlace }: Pick<Hold, "token" | "firstPlace">,
  dueAt: number,
): void {
  const closing = new Closing(token, 0, dueAt, state.takeNumber(), state.copies);
  let last: Place | undefined;
  for (let at = firstPlace; at !== undefined; at = at.sibling) {
    const place = copyOf(state, closing, at);
    if (last === undefined) closing.change().firstPlace = place;
    else last.change().sibling = place;
    last = place;
  }
  closings.push(closing);
}

function copyOf(state: TableState, closing: Closing, { key, mode, permits }: Place): Place {
  const copied = obtainKey(state, key.name);
  if (permits === undefined) return new Place(copied, mode, closing, undefined);
  if (copied.semaphore === undefined) {
    makeSemaphore(state, copied, key.semaphore?.limit ?? permits.wanted, false);
  }
  const copy = new Permits(permits.wanted);
  copy.slots = permits.slots;
  return new Place(copied, mode, closing, copy);
}
