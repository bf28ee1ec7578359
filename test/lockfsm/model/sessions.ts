/** Sessions in the naive model: which process may speak for one, and through which connection. */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import {
  ANONYMOUS,
  type AttachCommand,
  attachKeyOf,
  MESSAGE,
  OP,
  type OpenCommand,
  type Origin,
  type ResumeCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { tellForced } from "./holding.js";
import type { ModelCredential, ModelSession } from "./records.js";
import { credentialOf, maySomewhere, noteRefusal } from "./rights.js";
import { isIdentityFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

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
    else attach(model, known, command, credential, origin);
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
  attach(model, meant.session, command, meant.credential, origin);
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
    epoch: session.epoch,
    highestSequence: session.attachedSequence,
    stamp: session.attachedAt,
    ttlMs: session.ttlMs,
    index: model.index,
  });
  tellForced(model, session);
}

/** The session that is meant, if this is one that it can be attached to by its secret. */
function sessionOf(
  model: Model,
  command: ResumeCommand,
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

/** For one that it has not had so far. */
function isTooMuch(model: Model, { identity }: ModelCredential, session: ModelSession): boolean {
  if (session.identity === identity) return false;
  return isIdentityFull(model, identity, ["sessions", "claims", "bytes"]);
}

function forbid(model: Model, command: AttachCommand, code: "UNAUTHENTICATED" | "FORBIDDEN"): void {
  noteRefusal(model, "acquire");
  refuse(model, command, code);
}

function refuse(model: Model, command: AttachCommand, code: keyof typeof ERROR_NUMBERS): void {
  const status: ErrorNumber = ERROR_NUMBERS[code];
  const { stamp, index } = model;
  model.outbox?.attached({
    kind: MESSAGE.attached,
    key: attachKeyOf(command),
    attempt: command.attempt,
    status,
    session: command.op === OP.open ? 0 : command.session,
    epoch: 0,
    highestSequence: 0,
    stamp,
    ttlMs: 0,
    index,
  });
}

function isValidAttempt(attempt: number): boolean {
  return Number.isSafeInteger(attempt) && attempt >= 1 && attempt < 2 ** 32;
}
