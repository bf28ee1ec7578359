/**
 * What `inspect` and `query` show ("Seeing"). Reads only, and never without a limit: a queue of a
 * hundred thousand is shown by its beginning and its length.
 */
import {
  type HoldView,
  type KeysView,
  type KeyView,
  QUERY_PAGE_MAX,
  type WaiterView,
} from "../protocol/index.js";
import type { Hold } from "./hold.js";
import type { Key, Place } from "./key.js";
import type { Request } from "./request.js";
import type { TableState } from "./state.js";

/** Holds, and likewise waiters, that are listed of one key. */
const LINES_PER_KEY_MAX = 1_000;
/** A page ends with the key that reaches so many holds and waiters. */
const LINES_PER_PAGE_MAX = 10_000;

export function inspect(state: TableState, name: string): KeyView {
  const key = state.keys.find(name);
  return key === undefined ? { key: name, holds: [], waiters: [] } : viewOf(state, key);
}

/** `limit` is brought into 1 … `QUERY_PAGE_MAX`; a page may end early when its keys are crowded. */
export function query(
  state: TableState,
  prefix: string,
  after: string | undefined,
  limit: number,
): KeysView {
  const wanted = Number.isSafeInteger(limit) ? limit : QUERY_PAGE_MAX;
  const pageKeys = Math.min(Math.max(1, wanted), QUERY_PAGE_MAX);
  const found = state.keys.page(prefix, after, pageKeys + 1);
  const keys: KeyView[] = [];
  let lines = 0;
  for (const key of found) {
    if (keys.length === pageKeys || lines >= LINES_PER_PAGE_MAX) break;
    const view = viewOf(state, key);
    keys.push(view);
    lines += view.holds.length + view.waiters.length;
  }
  const next = keys.length < found.length ? (keys[keys.length - 1]?.key ?? null) : null;
  return { keys, next };
}

function viewOf(state: TableState, key: Key): KeyView {
  const holds: HoldView[] = [];
  const waiters: WaiterView[] = [];
  for (let place = key.firstHold; place !== undefined; place = place.next) {
    if (holds.length === LINES_PER_KEY_MAX) break;
    holds.push(holdViewOf(state, place, place.claimant as Hold));
  }
  for (let place = key.firstWaiter; place !== undefined; place = place.next) {
    if (waiters.length === LINES_PER_KEY_MAX) break;
    waiters.push(waiterViewOf(state, place, place.claimant as Request));
  }
  if (holds.length === key.holdCount && waiters.length === key.waiterCount) {
    return { key: key.name, holds, waiters };
  }
  const truncated = { holds: key.holdCount, waiters: key.waiterCount };
  return { key: key.name, holds, waiters, truncated };
}

function holdViewOf({ stamp }: TableState, { exclusive }: Place, hold: Hold): HoldView {
  const { session, token, owner } = hold;
  return {
    token,
    mode: exclusive ? "exclusive" : "shared",
    session: session.id,
    sessionName: session.name,
    owner,
    heldMs: stamp - hold.grantedAt,
    leaseMs: session.isAliveAt(stamp) ? session.dueAt - stamp : 0,
  };
}

function waiterViewOf({ stamp }: TableState, { exclusive }: Place, request: Request): WaiterView {
  const { session, slot, owner } = request;
  return {
    mode: exclusive ? "exclusive" : "shared",
    session: session.id,
    sessionName: session.name,
    owner,
    sequence: slot.sequence,
    waitingMs: stamp - request.enqueuedAt,
  };
}
