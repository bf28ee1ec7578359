/**
 * Leases of named owners in the naive model (semantics.md, 8): how they are taken, extended and given
 * back. That they end by themselves stands with all other holds.
 */
import {
  ACQUIRE_DEFAULTS,
  END_REASON,
  type ExtendCommand,
  type GiveBackCommand,
  type Result,
  STATUS,
  type TakeCommand,
} from "../../../src/protocol/index.js";
import {
  ask,
  beginUse,
  deadlineOf,
  isWellFormed,
  kindProblemOf,
  lineUp,
  lockHeld,
} from "./acquiring.js";
import {
  dequeue,
  endedIn,
  grantedResult,
  holdOfOwner,
  isFree,
  makeHold,
  memoryOf,
  reasonAtEnd,
  scheduleEnd,
  waitOfOwner,
} from "./claims.js";
import { endHold, endRequest, remember } from "./ending.js";
import {
  error,
  itemIn,
  itemsOf,
  keysOf,
  type ModelHold,
  type ModelItem,
  type ModelRequest,
  type ModelSession,
  type NamedOwner,
} from "./records.js";
import { answer, push } from "./replies.js";
import { isIdentityFull, isSessionFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

const GIVEN_BACK = END_REASON.released;

type Lease = ModelHold & { readonly lease: NonNullable<ModelHold["lease"]> };
type Wait = ModelRequest & { readonly take: NonNullable<ModelRequest["take"]> };

const isLease = (hold: ModelHold): hold is Lease => hold.lease !== undefined;

// --- what an owner has ---------------------------------------------------------------------

function leaseIn(model: Model, owner: NamedOwner, key: string): Lease | undefined {
  return holdOfOwner(model, owner, key) as Lease | undefined;
}

/** The one claim that an owner has in a key, if it has one. */
function claimIn(model: Model, owner: NamedOwner, key: string) {
  return leaseIn(model, owner, key) ?? waitOfOwner(model, owner, key);
}

const ownerIn = ({ identity }: ModelSession, { owner }: { readonly owner: string }): NamedOwner => {
  return { identity, owner, isBearer: false };
};

/** A copy of what the owner gave back in one of the keys. */
function isLateCopy(
  model: Model,
  session: ModelSession,
  command: TakeCommand,
  keys: readonly string[],
): boolean {
  const owner = ownerIn(session, command);
  return keys.some((key) => endedIn(model, owner, key)?.request === command.request);
}

// --- take ----------------------------------------------------------------------------------

export function take(model: Model, session: ModelSession, command: TakeCommand): void {
  const { sequence, items } = command;
  const refuse = (result: Result) => answer(model, session, sequence, result);
  if (command.ttlMs > longestLease(model)) {
    refuse(error("INVALID_ARGUMENT", { limit: model.settings.leaseTtlMsMax }));
    return;
  }
  if (!isSound(model, command)) {
    refuse(error("INVALID_ARGUMENT"));
    return;
  }
  if (command.isSplit) {
    takeEach(model, session, command);
    return;
  }
  const keys = keysOf({ items });
  const [claim] = keys.flatMap((key) => claimIn(model, ownerIn(session, command), key) ?? []);
  if (claim !== undefined) {
    if (!isRepeat(model, claim, command, itemsOf(items)))
      refuse(error("LOCK_HELD", { isSameOwner: true }));
    else if (isLease(claim as ModelHold)) refuse(repeated(model, command, claim as Lease));
    else goOver(model, session, command, claim as Wait);
    return;
  }
  const problem = kindProblemOf(model, items);
  if (isLateCopy(model, session, command, keys)) refuse(error("NOT_HELD", { reason: GIVEN_BACK }));
  else if (problem !== undefined) refuse(problem);
  else if (isFull(model, session)) refuse(error("QUOTA"));
  else ask(model, command, wantedOf(session, command, itemsOf(items)));
}

function isSound(model: Model, command: TakeCommand): boolean {
  const { ttlMs, options } = command;
  return isAllowedTtl(model, ttlMs) && options?.steal !== true && isWellFormed(model, command);
}

function isAllowedTtl(model: Model, ttlMs: number): boolean {
  if (ttlMs === 0) return model.settings.endlessLeases === 1;
  return Number.isSafeInteger(ttlMs) && ttlMs >= 1 && ttlMs <= longestLease(model);
}

/** What the setting says, and the hundredth that a door may add. */
export function longestLease({ settings }: Model): number {
  return Math.ceil((settings.leaseTtlMsMax * 101) / 100);
}

function isFull(model: Model, session: ModelSession): boolean {
  const isOverfull = isSessionFull(model, session) || isTableFull(model);
  return isOverfull || isIdentityFull(model, session.identity, ["claims", "bytes"]);
}

function wantedOf(session: ModelSession, command: TakeCommand, items: readonly ModelItem[]) {
  const { sequence, request, name, ttlMs, options = ACQUIRE_DEFAULTS } = command;
  const take = { ...ownerIn(session, command), request, name, ttlMs };
  return { session, sequence, task: 0, items, options, take };
}

/** The same request for the same, and what it got is not due. */
function isRepeat(
  model: Model,
  claim: ModelHold | ModelRequest,
  { request }: TakeCommand,
  items: readonly ModelItem[],
): boolean {
  const asked = "lease" in claim ? claim.lease : claim.take;
  if (model.isOver(claim) || asked?.request !== request) return false;
  if (claim.items.length !== items.length) return false;
  return items.every(({ key, mode, permits }) => {
    const own = itemIn(claim, key);
    return own?.mode === mode && own.permits === permits;
  });
}

function repeated(model: Model, { ttlMs, items }: TakeCommand, hold: Lease): Result {
  const { lease } = hold;
  const endsAt = ttlMs === 0 ? Number.POSITIVE_INFINITY : model.stamp + ttlMs;
  if (endsAt > lease.endsAt) Object.assign(lease, { endsAt, ttlMs });
  lease.takenBy = undefined;
  scheduleEnd(model, hold);
  // Told in the order in which it was asked for now.
  const asked = items.flatMap(({ key }) => itemIn(hold, key) ?? []);
  return grantedResult({ ...hold, items: asked });
}

/**
 * The new take has the wait from here on, in its old place, and the earlier one nothing. It leaves and
 * comes again, so that it is granted at once if it only had to wait for its turn.
 */
function goOver(
  model: Model,
  session: ModelSession,
  { sequence, waitMs, ttlMs, items: asked }: TakeCommand,
  wait: Wait,
): void {
  push(model, wait.session, wait.sequence, error("CANCELLED"));
  dequeue(model, wait);
  const [joined, deadline] = [model.takeNumber(), deadlineOf(model, waitMs)];
  Object.assign(wait, { session, sequence, joined, deadline, items: itemsOf(asked) });
  wait.take.ttlMs = ttlMs;
  lineUp(model, waitMs, wait);
}

/** A lease of each item, or nothing. */
function takeEach(model: Model, session: ModelSession, command: TakeCommand): void {
  const { sequence, items } = command;
  const refuse = (result: Result) => answer(model, session, sequence, result);
  const found = items.map((item) => ({
    item,
    claim: claimIn(model, ownerIn(session, command), item.key),
  }));
  const isInOwnWay = found.some(({ item, claim }) => {
    if (claim === undefined) return false;
    return !("lease" in claim) || !isRepeat(model, claim, command, itemsOf([item]));
  });
  if (isInOwnWay) {
    refuse(error("LOCK_HELD", { isSameOwner: true }));
    return;
  }
  const fresh = found.flatMap(({ item, claim }) => (claim === undefined ? [item] : []));
  const problem = kindProblemOf(model, fresh);
  const wanted = itemsOf(fresh);
  const freshKeys = fresh.map(({ key }) => key);
  if (isLateCopy(model, session, command, freshKeys)) {
    refuse(error("NOT_HELD", { reason: GIVEN_BACK }));
  } else if (problem !== undefined) refuse(problem);
  else if (fresh.length > 0 && isFull(model, session)) refuse(error("QUOTA"));
  else if (!wanted.every((item) => isFree(model, item))) refuse(lockHeld(model, wanted));
  else {
    beginUse(model, fresh);
    const leases = found.map(({ item, claim }) => {
      if (claim === undefined) return makeHold(model, wantedOf(session, command, itemsOf([item])));
      repeated(model, command, claim as Lease);
      return claim as ModelHold;
    });
    const ends = leases.flatMap(({ end }) => (end === undefined ? [] : [end.at]));
    answer(model, session, sequence, {
      status: STATUS.leased,
      tokens: leases.map(({ token }) => token),
      endsAt: ends.length === 0 ? 0 : Math.min(...ends),
      slots: leases.flatMap(({ items: [only] }) => (only?.mode === "permits" ? [only.slots] : [])),
    });
  }
}

// --- extend and give back ------------------------------------------------------------------

export function extend(model: Model, session: ModelSession, command: ExtendCommand): void {
  const { sequence, keys, ttlMs, mode } = command;
  if (ttlMs > longestLease(model)) {
    const { leaseTtlMsMax: limit } = model.settings;
    answer(model, session, sequence, error("INVALID_ARGUMENT", { limit }));
    return;
  }
  const addsNothing = mode === "add" && ttlMs === 0;
  if (addsNothing || !isAllowedTtl(model, ttlMs)) {
    answer(model, session, sequence, error("INVALID_ARGUMENT"));
    return;
  }
  const leases: Lease[] = [];
  for (const key of keys) {
    const lease = leaseIn(model, ownerIn(session, command), key);
    if (lease === undefined || model.isOver(lease)) {
      const reason =
        lease === undefined ? memoryOf(model, ownerIn(session, command), key) : reasonAtEnd(lease);
      answer(model, session, sequence, error("NOT_HELD", { reason }));
      return;
    }
    leases.push(lease);
  }
  for (const hold of new Set(leases)) {
    const { lease } = hold;
    const endsAt = extendedEnd(model, hold, command);
    if (endsAt !== lease.endsAt || command.mode === "exactly") {
      const restMs = endsAt - model.stamp;
      Object.assign(lease, { endsAt, ttlMs: restMs === Number.POSITIVE_INFINITY ? 0 : restMs });
    }
    scheduleEnd(model, hold);
  }
  const told = leases.map(({ token, end }) => ({ token, endsAt: end?.at ?? 0 }));
  answer(model, session, sequence, { status: STATUS.extended, leases: told });
}

function extendedEnd(model: Model, { lease }: Lease, { mode, ttlMs }: ExtendCommand): number {
  const { stamp } = model;
  const wanted = ttlMs === 0 ? Number.POSITIVE_INFINITY : stamp + ttlMs;
  switch (mode) {
    case "exactly":
      return wanted;
    case "atLeast":
      return Math.max(lease.endsAt, wanted);
    case "add":
      return Math.max(lease.endsAt, Math.min(lease.endsAt + ttlMs, stamp + longestLease(model)));
  }
}

export function giveBack(model: Model, session: ModelSession, command: GiveBackCommand): void {
  const { sequence, keys } = command;
  const found = keys.map((key) => {
    const claim = claimIn(model, ownerIn(session, command), key);
    return claim !== undefined && isMeant(session, claim, command) ? claim : undefined;
  });
  const holds = found.flatMap((claim) => (claim && "lease" in claim ? [claim] : []));
  const waits = found.flatMap((claim) => (claim && !("lease" in claim) ? [claim] : []));
  const missing = keys[found.indexOf(undefined)];
  answer(model, session, sequence, {
    status: STATUS.givenBack,
    count: holds.length,
    waits: waits.length,
    reason:
      missing === undefined
        ? END_REASON.unknown
        : memoryOf(model, ownerIn(session, command), missing),
  });
  for (const wait of new Set(waits)) {
    endRequest(model, wait, error("CANCELLED"));
    if (command.taken === 0) refuseCopiesOf(model, wait, wait.take);
  }
  for (const hold of new Set(holds)) {
    endHold(model, hold, END_REASON.released);
    if (command.taken === 0) refuseCopiesOf(model, hold, hold.lease);
  }
}

/** From here on; unless it says the same each time, as where the owner is the request. */
function refuseCopiesOf(
  model: Model,
  claim: ModelHold | ModelRequest,
  asked: ModelHold["lease"] | ModelRequest["take"],
): void {
  if (asked === undefined || asked.request === asked.owner) return;
  remember(model, asked, keysOf(claim), { reason: GIVEN_BACK, request: asked.request });
}

/** Everything, or only a wait that this take named last, or a lease that no other take named. */
function isMeant(
  { id }: ModelSession,
  claim: ModelHold | ModelRequest,
  { taken }: GiveBackCommand,
): boolean {
  if (taken === 0) return true;
  const by =
    "lease" in claim
      ? claim.lease?.takenBy
      : { session: claim.session.id, sequence: claim.sequence };
  return by?.session === id && by.sequence === taken;
}
