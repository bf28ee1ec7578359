/** Sessions in the naive model: which process may speak for one, and through which connection. */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors.js";
import {
  ANONYMOUS,
  type AttachCommand,
  attachKeyOf,
  END_REASON,
  MESSAGE,
  OP,
  type OpenCommand,
  type Origin,
  type ResumeCommand,
  STATUS,
  type TakeOverCommand,
} from "../../../src/protocol/index.js";
import { dequeue, lookAll, takeNewToken } from "./claims.js";
import { upgradeOf } from "./ending.js";
import { tellForced } from "./holding.js";
import { keysOf, type ModelCredential, type ModelSession } from "./records.js";
import { credentialOf, maySomewhere, noteRefusal } from "./rights.js";
import { isIdentityFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

/** Cluster time between two takeovers of one session. */
const TAKEOVER_PAUSE_MS = 1_000;

export function renew(model: Model, session: ModelSession): void {
  session.expiresAt = Math.max(session.expiresAt, model.stamp + session.ttlMs);
  session.renewedAt = model.stamp;
}

export function open(model: Model, command: OpenCommand, by: number, origin: Origin): void {
  const { nonce, attempt, ttlMs, name, metadata } = command;
  const isValidTtl = Number.isSafeInteger(ttlMs) && ttlMs >= 1_000 && ttlMs <= 600_000;
  const known = model.sessions.findLast((session) => session.nonce === nonce);
  const credential = credentialOf(model, by);
  if (!isValidTtl || !isValidAttempt(attempt)) refuse(model, command, "INVALID_ARGUMENT");
  else if (model.stamp < model.quietUntil) refuse(model, command, "UNAVAILABLE");
  else if (credential === undefined) forbid(model, command, "UNAUTHENTICATED");
  else if (!maySomewhere(credential.identity, "acquire")) {
    const isAnonymous = credential.identity.name === ANONYMOUS;
    forbid(model, command, isAnonymous ? "UNAUTHENTICATED" : "FORBIDDEN");
  } else if (known !== undefined && model.isAlive(known)) {
    if (!mayHave(credential, known)) forbid(model, command, "FORBIDDEN");
    else if (isTooMuch(model, credential, known)) refuse(model, command, "QUOTA");
    // Who opens it is its first process.
    else if (known.generation === 0) attach(model, known, command, credential, origin);
    else refuseTaken(model, command, known);
  } else if (
    model.sessions.length >= model.settings.sessionsMax ||
    isTableFull(model) ||
    isIdentityFull(model, credential.identity, ["sessions", "bytes"])
  ) {
    refuse(model, command, "QUOTA");
  } else {
    const session: ModelSession = {
      id: model.takeNumber(),
      nonce,
      name,
      metadata,
      ttlMs,
      identity: credential.identity,
      credential: by,
      origin,
      expiresAt: model.stamp + ttlMs,
      renewedAt: model.stamp,
      generation: 0,
      taker: "",
      takenOverAt: Number.NEGATIVE_INFINITY,
      attempt: 0,
      epoch: 0,
      attachedAt: model.stamp,
      attachedSequence: 0,
      highest: 0,
      mark: 1,
      replies: [],
      outcomes: [],
      losses: [],
      forced: undefined,
      endedBy: undefined,
    };
    model.sessions.push(session);
    attach(model, session, command, credential, origin);
  }
}

export function resume(model: Model, command: ResumeCommand, by: number, origin: Origin): void {
  const meant = sessionOf(model, command, by);
  if (meant === undefined) return;
  const { session, credential } = meant;
  if (command.generation > session.generation) refuse(model, command, "FORBIDDEN");
  else if (command.generation < session.generation) refuseTaken(model, command, session);
  else attach(model, session, command, credential, origin);
}

export function takeOver(model: Model, command: TakeOverCommand, by: number, origin: Origin): void {
  const meant = sessionOf(model, command, by);
  if (meant === undefined) return;
  const { session, credential } = meant;
  const { generation, taker } = command;
  if (generation === session.generation) change(model, session, command, credential, origin);
  else if (generation + 1 === session.generation && taker === session.taker) {
    attach(model, session, command, credential, origin);
  } else refuseTaken(model, command, session);
}

/** Another process has the session from here on. */
function change(
  model: Model,
  session: ModelSession,
  command: TakeOverCommand,
  credential: ModelCredential,
  origin: Origin,
): void {
  const holds = model.holds.filter((hold) => hold.session === session);
  if (holds.length > model.settings.holdsPerStepMax) refuse(model, command, "QUOTA");
  else if (holds.length > 0 && model.hasNoTokens) refuse(model, command, "TOKENS_EXHAUSTED");
  else if (model.stamp < session.takenOverAt + TAKEOVER_PAUSE_MS) {
    refuse(model, command, "BUSY");
  } else {
    const { taker } = command;
    model.say(session, {
      kind: MESSAGE.ended,
      session: session.id,
      reason: END_REASON.takenOver,
      taker,
    });
    session.generation += 1;
    session.taker = taker;
    session.takenOverAt = model.stamp;
    session.attempt = 0;
    // Who asked for them has gone: nobody is told how they ended.
    const upgrades = holds.flatMap((hold) => upgradeOf(model, hold) ?? []);
    for (const upgrade of upgrades) dequeue(model, upgrade);
    for (const hold of holds) takeNewToken(model, hold);
    attach(model, session, command, credential, origin);
    for (const upgrade of upgrades) lookAll(model, keysOf(upgrade));
  }
}

/**
 * A larger attempt is adopted, the same answered again to the same credential while nothing was executed
 * since, a smaller one ignored.
 */
function attach(
  model: Model,
  session: ModelSession,
  command: AttachCommand,
  { identity, number }: ModelCredential,
  origin: Origin,
): void {
  const { attempt } = command;
  if (attempt < session.attempt) return;
  const isRepeated = attempt === session.attempt;
  if (isRepeated && session.highest > session.attachedSequence) return;
  if (isRepeated && session.credential !== number) return;
  if (attempt > session.attempt) {
    renew(model, session);
    Object.assign(session, { identity, credential: number, origin });
    session.attempt = attempt;
    session.epoch += 1;
    session.attachedAt = model.stamp;
    session.attachedSequence = session.highest;
  }
  model.outbox?.attached({
    kind: MESSAGE.attached,
    key: attachKeyOf(command),
    attempt,
    status: STATUS.ok,
    session: session.id,
    generation: session.generation,
    epoch: session.epoch,
    highestSequence: session.attachedSequence,
    stamp: session.attachedAt,
    ttlMs: session.ttlMs,
    index: model.index,
    taker: "",
  });
  tellForced(model, session);
}

/** The session that is meant, if this is one that it can be attached to by its secret. */
function sessionOf(
  model: Model,
  command: ResumeCommand | TakeOverCommand,
  by: number,
): { session: ModelSession; credential: ModelCredential } | undefined {
  const credential = credentialOf(model, by);
  const { session: id, nonce, attempt } = command;
  const session = model.sessions.find((other) => other.id === id);
  if (!isValidAttempt(attempt)) refuse(model, command, "INVALID_ARGUMENT");
  else if (credential === undefined) forbid(model, command, "UNAUTHENTICATED");
  else if (session === undefined || !model.isAlive(session)) {
    refuse(model, command, "SESSION_EXPIRED");
  } else if (session.nonce !== nonce) refuse(model, command, "FORBIDDEN");
  else if (!mayHave(credential, session)) forbid(model, command, "FORBIDDEN");
  else if (isTooMuch(model, credential, session)) refuse(model, command, "QUOTA");
  else return { session, credential };
  return undefined;
}

/** Its own, or one that is nobody's yet. */
function mayHave({ identity }: ModelCredential, session: ModelSession): boolean {
  return session.identity === identity || session.identity.name === ANONYMOUS;
}

/** Of one that it has not had so far. */
function isTooMuch(model: Model, { identity }: ModelCredential, session: ModelSession): boolean {
  if (session.identity === identity) return false;
  return isIdentityFull(model, identity, ["sessions", "claims", "bytes"]);
}

function forbid(model: Model, command: AttachCommand, code: "UNAUTHENTICATED" | "FORBIDDEN"): void {
  noteRefusal(model, "acquire");
  refuse(model, command, code);
}

function refuseTaken(
  model: Model,
  command: AttachCommand,
  { generation, taker }: ModelSession,
): void {
  refuse(model, command, "TAKEN_OVER", { generation, taker });
}

function refuse(
  model: Model,
  command: AttachCommand,
  code: keyof typeof ERROR_NUMBERS,
  by = { generation: 0, taker: "" },
): void {
  const status: ErrorNumber = ERROR_NUMBERS[code];
  const { stamp, index } = model;
  model.outbox?.attached({
    kind: MESSAGE.attached,
    key: attachKeyOf(command),
    attempt: command.attempt,
    status,
    session: command.op === OP.open ? 0 : command.session,
    generation: by.generation,
    epoch: 0,
    highestSequence: 0,
    stamp,
    ttlMs: 0,
    index,
    taker: by.taker,
  });
}

function isValidAttempt(attempt: number): boolean {
  return Number.isSafeInteger(attempt) && attempt >= 1 && attempt < 2 ** 32;
}
