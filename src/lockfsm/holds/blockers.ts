/** Finds a few of the blockers of a request, for people, in a bounded number of looks. */
import {
  BLOCKED_BY,
  BLOCKERS_MAX,
  type BlockedBy,
  type Blocker,
  type ClaimMode,
} from "../../protocol/index.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold, upgradedBy } from "../records/hold.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, Request } from "../records/session.js";
import { comesBefore } from "../records/waiting-queue.js";

/** The most places examined in each key. */
const LOOKS_MAX = 16;

export interface Asked {
  /** `undefined` if the key is not in use. */
  readonly key: Key | undefined;
  readonly mode: ClaimMode;
  readonly wanted: number;
  /** Only waiters before this place count; `undefined` if all do. */
  readonly before?: Place | undefined;
}

export interface Blocking {
  readonly blockedBy: BlockedBy;
  readonly blockers: readonly Blocker[];
}

/** Holds first, then cooldowns, then waiters. */
export function blockersOf(asked: readonly Asked[]): Blocking {
  const blockers: Blocker[] = [];
  let [isHeld, isCoolingDown] = [false, false];
  for (const { key, mode, wanted, before } of asked) {
    if (key === undefined || isFree(key, mode, wanted, before)) continue;
    if (!key.admitsHold(mode, wanted, ownOf(before))) {
      const claims = listFrom(blockers, key.firstHold, mode, (place) => !isOwn(place, before));
      isHeld ||= claims.hasHold || claims.isCut;
      isCoolingDown ||= claims.hasCooldown;
    }
    listFrom(blockers, firstInTheWay(key, mode), mode, (place) => isBefore(place, before));
  }
  const held = isHeld ? BLOCKED_BY.holds : BLOCKED_BY.waiters;
  return { blockedBy: isCoolingDown && !isHeld ? BLOCKED_BY.cooldown : held, blockers };
}

function isFree(key: Key, mode: ClaimMode, wanted: number, before: Place | undefined): boolean {
  return before === undefined ? key.admits(mode, wanted) : key.hasReached(before);
}

/**
 * The first place in the queue that could block a request. Shared places at the head have been
 * reached, so the blockers of a shared request begin at the frontier, however many places are
 * before it.
 */
function firstInTheWay({ queue }: Key, mode: ClaimMode): Place | undefined {
  const isAfterShared = mode === "shared" && queue?.first?.mode === "shared";
  return isAfterShared ? queue?.frontier : queue?.first;
}

function listFrom(
  blockers: Blocker[],
  first: Place | undefined,
  mode: ClaimMode,
  counts: (place: Place) => boolean,
): { hasHold: boolean; hasCooldown: boolean; isCut: boolean } {
  const found = { hasHold: false, hasCooldown: false, isCut: false };
  let place = first;
  for (let looks = 0; place !== undefined; looks += 1, place = place.next) {
    if (looks === LOOKS_MAX) {
      found.isCut = true;
      break;
    }
    if (!counts(place) || (mode === "shared" && place.mode === "shared")) continue;
    if (place.claimant instanceof Hold) found.hasHold = true;
    if (place.claimant instanceof Cooldown) found.hasCooldown = true;
    if (blockers.length < BLOCKERS_MAX) blockers.push(blockerAt(place));
  }
  return found;
}

/** The hold that an upgrade is for, which is not in its way. */
function ownOf(before: Place | undefined): Hold | undefined {
  return before === undefined ? undefined : upgradedBy(orderOf(before));
}

function isOwn(place: Place, before: Place | undefined): boolean {
  const own = ownOf(before);
  return own !== undefined && place.claimant === own;
}

function isBefore(place: Place, before: Place | undefined): boolean {
  return before === undefined || comesBefore(orderOf(place), orderOf(before));
}

function blockerAt({ key, mode, claimant }: Place): Blocker {
  const hold = claimant instanceof Hold ? claimant : undefined;
  const claim = hold ?? (claimant instanceof Request ? claimant : undefined);
  return {
    sessionName: claim?.holderName ?? "",
    key: key.name,
    mode,
    token: hold?.token ?? 0,
    identity: claim?.identityName ?? "",
    session: claim?.session.id ?? 0,
    holder: hold?.holder ?? null,
  };
}
