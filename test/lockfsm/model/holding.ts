/** What can be done with a hold in the naive model, by its session and by operators (semantics.md, 5). */
import {
  ACQUIRE_DEFAULTS,
  type AdoptCommand,
  type ChangeSettingCommand,
  type DowngradeCommand,
  END_REASON,
  type EndCommand,
  type EndSessionCommand,
  type HandOverCommand,
  MESSAGE,
  type Result,
  type RevokeCommand,
  type SetLimitCommand,
  STATUS,
  type UpdateCommand,
  type UpgradeCommand,
} from "../../../src/protocol/index.js";
import { deadlineOf, isValidWait, lineUp, UPGRADE_RANK, waitsOfSession } from "./acquiring.js";
import {
  dequeue,
  firstEndOf,
  forgetEnded,
  grantedResult,
  hasClaims,
  heldIn,
  heldItems,
  holdOf,
  holdOfOwner,
  look,
  lookAll,
  memoryOf,
  reasonAtEnd,
  scheduleEnd,
  takeNewToken,
  tellHolders,
  waitOfOwner,
} from "./claims.js";
import {
  endHold,
  endRequest,
  endSession,
  lose,
  lower,
  openIn,
  remember,
  upgradeOf,
  withdrawUpgrade,
} from "./ending.js";
import { longestLease } from "./leases.js";
import { error, isHold, itemIn, keysOf, type ModelHold, type ModelSession } from "./records.js";
import { answer, forbid, forget, hide } from "./replies.js";
import { mayEnd, mayOnAll } from "./rights.js";
import { isSetting, withSetting } from "./settings.js";
import { hasAllHolds, isIdentityFull, isSessionFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

const OK = { status: STATUS.ok } as const;

/** The hold, the wait or what was not read of the target, whichever there is, is no more. */
export function end(model: Model, session: ModelSession, { sequence, target }: EndCommand): void {
  const hold = holdOf(model, session, target);
  const reason = forget(session, target) ?? END_REASON.unknown;
  const wait = model.requests.find(
    (request) => request.session === session && request.sequence === target,
  );
  if (hold !== undefined) {
    answer(model, session, sequence, { status: STATUS.released });
    endHold(model, hold, END_REASON.released);
  } else if (wait !== undefined) {
    answer(model, session, sequence, OK);
    dequeue(model, wait);
    lookAll(model, keysOf(wait));
  } else answer(model, session, sequence, { status: STATUS.notReleased, reason });
}

// --- modes and values ------------------------------------------------------------------------

function weaken(model: Model, hold: ModelHold, key: string): void {
  const item = itemIn(hold, key);
  if (item?.mode !== "exclusive") return;
  item.mode = "shared";
  look(model, key);
}

export function downgrade(model: Model, session: ModelSession, command: DowngradeCommand): void {
  const { sequence, target, key: only } = command;
  const hold = holdOf(model, session, target);
  const items = (hold?.items ?? []).filter(({ key }) => only === undefined || key === only);
  if (hold === undefined || items.length === 0) {
    answer(model, session, sequence, error("NOT_HELD"));
  } else if (items.every(({ mode }) => mode === "permits")) {
    answer(model, session, sequence, error("WRONG_KIND"));
  } else {
    answer(model, session, sequence, OK);
    // What would make a key exclusive again ends first.
    const upgrade = upgradeOf(model, hold);
    if (upgrade !== undefined && items.some(({ key }) => itemIn(upgrade, key) !== undefined)) {
      endRequest(model, upgrade, error("CANCELLED"));
    }
    for (const { key } of items) weaken(model, hold, key);
  }
}

export function upgrade(model: Model, session: ModelSession, command: UpgradeCommand): void {
  const { sequence, target, key, waitMs, detect } = command;
  const hold = holdOf(model, session, target);
  const item = hold && itemIn(hold, key);
  const refuse = (code: "INVALID_ARGUMENT" | "NOT_HELD" | "WRONG_KIND" | "QUOTA") =>
    answer(model, session, sequence, error(code));
  if (!isValidWait(waitMs)) refuse("INVALID_ARGUMENT");
  else if (hold === undefined || item === undefined) refuse("NOT_HELD");
  else if (item.mode === "permits") refuse("WRONG_KIND");
  else if (item.mode === "exclusive") {
    answer(model, session, sequence, { status: STATUS.upgraded, token: hold.token });
  } else if (upgradeOf(model, hold) !== undefined) refuse("INVALID_ARGUMENT");
  else if (
    !isHeldAlone(model, hold, key) &&
    (waitsOfSession(model, session) >= model.settings.waitsPerSessionMax ||
      isSessionFull(model, session) ||
      isTableFull(model) ||
      isIdentityFull(model, session.identity, ["claims", "bytes"]))
  ) {
    refuse("QUOTA");
  } else {
    const number = model.takeNumber();
    lineUp(model, waitMs, {
      session,
      sequence,
      task: hold.task,
      number,
      joined: number,
      rank: UPGRADE_RANK,
      items: [{ key, mode: "exclusive", permits: 0, slots: [] }],
      since: model.stamp,
      deadline: deadlineOf(model, waitMs),
      options: ACQUIRE_DEFAULTS,
      take: undefined,
      detects: detect,
      upgrades: hold,
      reached: [],
    });
  }
}

function isHeldAlone(model: Model, hold: ModelHold, key: string): boolean {
  const others = [...model.holds, ...model.cooldowns].filter((other) => other !== hold);
  return !others.some(({ items }) => items.some((item) => item.key === key));
}

export function update(model: Model, session: ModelSession, command: UpdateCommand): void {
  const { sequence, target, value } = command;
  const hold = holdOf(model, session, target);
  if (hold === undefined) answer(model, session, sequence, error("NOT_HELD"));
  else if (
    value.length > hold.value.length &&
    (isSessionFull(model, session) ||
      isTableFull(model) ||
      isIdentityFull(model, session.identity, ["bytes"]))
  ) {
    answer(model, session, sequence, error("QUOTA"));
  } else {
    hold.value = value;
    answer(model, session, sequence, OK);
  }
}

// --- hand-over -------------------------------------------------------------------------------

export function handOver(model: Model, session: ModelSession, command: HandOverCommand): void {
  const { sequence, target, to, isBearer, ttlMs } = command;
  const { identity } = session;
  const owner = { identity, owner: to, isBearer };
  const hold = holdOf(model, session, target);
  const refuse = (result: Result) => answer(model, session, sequence, result);
  if (hold === undefined) refuse(error("NOT_HELD"));
  else if (isBearer && (ttlMs < 1_000 || ttlMs > 600_000)) refuse(error("INVALID_ARGUMENT"));
  else if (!isBearer && ttlMs > longestLease(model)) {
    refuse(error("INVALID_ARGUMENT", { limit: model.settings.leaseTtlMsMax }));
  } else if (ttlMs === 0 && model.settings.endlessLeases === 0) refuse(error("INVALID_ARGUMENT"));
  else if (
    keysOf(hold).some((key) => holdOfOwner(model, owner, key) ?? waitOfOwner(model, owner, key))
  ) {
    refuse(error("LOCK_HELD", { isSameOwner: true }));
  } else if (isTableFull(model) || isIdentityFull(model, identity, ["bytes"])) {
    refuse(error("QUOTA"));
  } else {
    const withdrawn = withdrawUpgrade(model, hold);
    takeNewToken(model, hold);
    const endsAt = ttlMs === 0 ? Number.POSITIVE_INFINITY : model.stamp + ttlMs;
    const ofSession = { name: session.name, request: "", ttlMs, endsAt, takenBy: undefined };
    const lease = { ...owner, ...ofSession };
    Object.assign(hold, { session: undefined, task: 0, sequence, lease });
    forgetEnded(model, owner, keysOf(hold));
    const { forced } = session;
    const isSooner = forced !== undefined && forced.at < (hold.revoked?.at ?? Infinity);
    if (isSooner) hold.revoked = { at: forced.at, reason: forced.reason, by: forced.by };
    scheduleEnd(model, hold);
    answer(model, session, sequence, grantedResult(hold));
    if (withdrawn !== undefined) lookAll(model, keysOf(withdrawn));
  }
}

export function adopt(model: Model, session: ModelSession, command: AdoptCommand): void {
  const { sequence, key, secret, task } = command;
  const bearer = { identity: session.identity, owner: secret, isBearer: true };
  const hold = holdOfOwner(model, bearer, key);
  const refuse = (result: Result) => answer(model, session, sequence, result);
  if (hold === undefined) refuse(error("NOT_HELD", { reason: memoryOf(model, bearer, key) }));
  else if (model.isOver(hold)) refuse(error("NOT_HELD", { reason: reasonAtEnd(hold) }));
  else if (!mayOnAll(session.identity, "acquire", hold)) hide(model, session, command);
  else if (
    hasAllHolds(model, session) ||
    isSessionFull(model, session) ||
    // A hold of its own identity counts against that already.
    (hold.lease?.identity !== session.identity &&
      isIdentityFull(model, session.identity, ["claims", "bytes"]))
  ) {
    refuse(error("QUOTA"));
  } else {
    if (hasClaims(model, session, task)) model.suspects.push({ session, task });
    remember(model, bearer, keysOf(hold), { reason: END_REASON.moved });
    takeNewToken(model, hold);
    Object.assign(hold, { session, task, sequence, lease: undefined, isContended: false });
    scheduleEnd(model, hold);
    const { items, value, since: grantedAt } = hold;
    const result = {
      status: STATUS.adopted,
      token: hold.token,
      items: heldItems(hold),
      value,
      grantedAt,
      endsAt: hold.end?.at ?? 0,
    };
    answer(model, session, sequence, result);
    tellRevoked(model, hold);
    for (const item of items) tellHolders(model, item.key);
  }
}

// --- operators -------------------------------------------------------------------------------

type Force = Pick<RevokeCommand, "graceMs" | "now" | "reason">;

export function revoke(model: Model, session: ModelSession, command: RevokeCommand): void {
  const { sequence, key, token } = command;
  if (key === undefined) {
    const hold = model.holds.find((other) => other.token === token);
    const cooldown = model.cooldowns.find((other) => other.token === token);
    const found = hold ?? cooldown;
    if (found === undefined) {
      answer(model, session, sequence, error("NOT_HELD"));
      return;
    }
    if (!mayOnAll(session.identity, "operate", found)) {
      hide(model, session, command);
      return;
    }
    if (hold === undefined) {
      answer(model, session, sequence, {
        ...{
          status: STATUS.revoked,
          count: 0,
          remaining: 0,
          opened: 1,
          endsInMs: 0,
          leasesLeft: 0,
        },
      });
      model.cooldowns = model.cooldowns.filter((other) => other !== cooldown);
      lookAll(model, keysOf(found));
      return;
    }
    answer(model, session, sequence, {
      ...{ status: STATUS.revoked, count: 1, remaining: 0, opened: 0 },
      ...left(model, [hold], command),
    });
    force(model, hold, command, session.identity.name);
    return;
  }
  const meantAll = heldIn(model, key).filter((claim) => token === 0 || claim.token <= token);
  const all = meantAll.filter((claim) => !isHold(claim) || !isForcedBy(model, claim, command));
  const meant = all.slice(0, model.settings.holdsPerStepMax);
  const holds = model.holds.filter((hold) => meant.includes(hold));
  const cooldowns = model.cooldowns.filter((cooldown) => meant.includes(cooldown));
  if (!mayEnd(session.identity, holds)) {
    forbid(model, session, command);
    return;
  }
  const [count, opened] = [holds.length, cooldowns.length];
  const remaining = all.length - meant.length;
  const before = model.holds.filter((hold) => meantAll.includes(hold) && !all.includes(hold));
  answer(model, session, sequence, {
    ...{ status: STATUS.revoked, count, remaining, opened },
    ...left(model, [...holds, ...before], command),
  });
  for (const cooldown of cooldowns) openIn(model, cooldown, [key]);
  if (opened > 0) look(model, key);
  for (const hold of holds) force(model, hold, command, session.identity.name);
}

/** What is left of holds that are revoked. */
function left(model: Model, holds: readonly ModelHold[], command: Force) {
  const leftMs = (hold: ModelHold): number => {
    const endsAt = Math.min(firstEndOf(hold), forceAt(model, hold, command));
    return command.now ? 0 : Math.max(0, endsAt - model.stamp);
  };
  return {
    endsInMs: Math.max(0, ...holds.map(leftMs)),
    leasesLeft: holds.filter((hold) => hold.session === undefined && leftMs(hold) > 0).length,
  };
}

/**
 * Not before the lease ends that the holder had when this was decided; a bearer has none, nor has what
 * is without end.
 */
function forceAt(model: Model, hold: ModelHold, { graceMs }: Force): number {
  const { session, lease } = hold;
  const leaseEndsAt = session?.expiresAt ?? (lease?.isBearer === true ? 0 : firstEndOf(hold));
  const isEndless = leaseEndsAt === Number.POSITIVE_INFINITY;
  return Math.max(model.stamp + graceMs, isEndless ? 0 : leaseEndsAt);
}

/** It ends by an earlier revoke, no later than this one would end it. */
function isForcedBy(model: Model, hold: ModelHold, command: Force): boolean {
  if (command.now || hold.revoked === undefined) return false;
  return hold.revoked.at <= forceAt(model, hold, command);
}

function force(model: Model, hold: ModelHold, command: Force, by: string): void {
  if (command.now) lose(model, hold, END_REASON.revoked);
  else if (!isForcedBy(model, hold, command)) {
    hold.revoked = { at: forceAt(model, hold, command), reason: command.reason, by };
    scheduleEnd(model, hold);
    tellRevoked(model, hold);
  }
}

function tellRevoked(model: Model, { session, sequence, revoked }: ModelHold): void {
  if (revoked === undefined) return;
  const { at: endsAt, reason } = revoked;
  model.say(session, { kind: MESSAGE.revoking, sequence, stamp: model.stamp, endsAt, reason });
}

export function endByOperator(
  model: Model,
  session: ModelSession,
  command: EndSessionCommand,
): void {
  const { sequence, graceMs, now, reason } = command;
  const target = model.sessions.find(({ id }) => id === command.session);
  if (target === undefined || !model.isAlive(target)) {
    answer(model, session, sequence, error("NOT_HELD"));
    return;
  }
  answer(model, session, sequence, OK);
  if (now) {
    endSession(model, target, END_REASON.revoked);
    return;
  }
  const at = Math.max(model.stamp + graceMs, target.expiresAt);
  if (target.forced !== undefined && target.forced.at <= at) return;
  target.forced = { at, number: model.takeNumber(), reason, by: session.identity.name };
  tellForced(model, target);
}

export function tellForced(model: Model, session: ModelSession): void {
  if (session.forced === undefined) return;
  const { at: endsAt, reason } = session.forced;
  model.say(session, { kind: MESSAGE.revoking, sequence: 0, stamp: model.stamp, endsAt, reason });
}

export function setLimit(model: Model, session: ModelSession, command: SetLimitCommand): void {
  const { sequence, key, limit } = command;
  const semaphore = model.semaphoreOf(key);
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1_000_000)) {
    answer(model, session, sequence, error("INVALID_ARGUMENT"));
  } else if (semaphore === undefined && model.isInUse(key)) {
    answer(model, session, sequence, error("WRONG_KIND"));
  } else if (limit !== undefined && semaphore?.isSet !== true && isTableFull(model)) {
    answer(model, session, sequence, error("QUOTA"));
  } else {
    answer(model, session, sequence, OK);
    if (semaphore === undefined) {
      if (limit === undefined) return;
      model.semaphores.push({ key, limit, isSet: true, evictFrom: undefined });
      return;
    }
    semaphore.isSet = limit !== undefined;
    const before = semaphore.limit;
    semaphore.limit = limit ?? before;
    if (semaphore.limit < before) lower(model, semaphore);
    else if (semaphore.limit > before) look(model, key);
  }
}

export function changeSetting(
  model: Model,
  session: ModelSession,
  { sequence, name, value }: ChangeSettingCommand,
): void {
  if (!isSetting(name, value)) {
    answer(model, session, sequence, error("INVALID_ARGUMENT"));
    return;
  }
  model.settings = withSetting(model.settings, name, value);
  answer(model, session, sequence, OK);
}
