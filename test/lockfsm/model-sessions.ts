/** Sessions in the naive model: who may speak for one, and what it is told when it is back. */
import { ERROR_NUMBERS, type ErrorNumber } from "../../src/errors.js";
import {
  type AttachCommand,
  END_REASON,
  MESSAGE,
  OP,
  type OpenCommand,
  RECALL_STATE,
  type RecallCommand,
  type RecalledSequence,
  type RecalledToken,
  type ResumeCommand,
  STATUS,
  type TakeOverCommand,
} from "../../src/protocol/index.js";
import { holdOf, renewToken } from "./model-claims.js";
import { reasonAtEnd } from "./model-ending.js";
import { tellForced } from "./model-holding.js";
import type { ModelSession } from "./model-records.js";
import { endReasonOf, replyTo, tokenIn } from "./model-replies.js";
import { isTableFull } from "./model-sizes.js";
import type { Model } from "./model-state.js";

export function renew(model: Model, session: ModelSession): void {
  session.expiresAt = Math.max(session.expiresAt, model.stamp + session.ttlMs);
}

export function open(model: Model, command: OpenCommand): void {
  const { nonce, attempt, ttlMs, name, metadata } = command;
  const isValidTtl = Number.isSafeInteger(ttlMs) && ttlMs >= 1_000 && ttlMs <= 600_000;
  const known = model.sessions.findLast((session) => session.nonce === nonce);
  if (!isValidTtl || !isValidAttempt(attempt)) refuse(model, command, 0, "INVALID_ARGUMENT");
  else if (model.stamp < model.quietUntil) refuse(model, command, 0, "UNAVAILABLE");
  else if (known !== undefined && model.isAlive(known)) attach(model, known, attempt);
  else if (model.sessions.length >= model.settings.sessionsMax || isTableFull(model)) {
    refuse(model, command, 0, "QUOTA");
  } else {
    const session: ModelSession = {
      id: model.takeNumber(),
      nonce,
      name,
      metadata,
      ttlMs,
      expiresAt: model.stamp + ttlMs,
      epoch: attempt,
      attachedAt: model.stamp,
      attachedSequence: 0,
      highest: 0,
      mark: 1,
      replies: [],
      losses: [],
      forced: undefined,
      endedBy: undefined,
    };
    model.sessions.push(session);
    attach(model, session, attempt);
  }
}

export function resume(model: Model, command: ResumeCommand | TakeOverCommand): void {
  const { session: id, nonce, attempt } = command;
  const session = model.sessions.find((other) => other.id === id);
  if (!isValidAttempt(attempt)) refuse(model, command, id, "INVALID_ARGUMENT");
  else if (session === undefined || !model.isAlive(session)) {
    refuse(model, command, id, "SESSION_EXPIRED");
  } else if (session.nonce !== nonce) refuse(model, command, id, "FORBIDDEN");
  else {
    const isTakeover = command.op === OP.takeOver && attempt > session.epoch;
    const holds = isTakeover ? model.holds.filter((hold) => hold.session === session) : [];
    if (holds.length > model.settings.holdsPerStepMax) refuse(model, command, id, "QUOTA");
    else {
      for (const hold of holds) renewToken(model, hold, 0);
      attach(model, session, attempt);
    }
  }
}

/** A larger attempt is adopted, the same answered again, a smaller one ignored. */
function attach(model: Model, session: ModelSession, attempt: number): void {
  if (attempt < session.epoch) return;
  if (attempt > session.epoch) {
    renew(model, session);
    session.epoch = attempt;
    session.attachedAt = model.stamp;
    session.attachedSequence = session.highest;
  }
  model.outbox?.attached({
    kind: MESSAGE.attached,
    nonce: session.nonce,
    attempt,
    status: STATUS.ok,
    session: session.id,
    epoch: attempt,
    highestSequence: session.attachedSequence,
    stamp: session.attachedAt,
    ttlMs: session.ttlMs,
  });
  tellForced(model, session);
}

function refuse(
  model: Model,
  { nonce, attempt }: AttachCommand,
  session: number,
  code: keyof typeof ERROR_NUMBERS,
): void {
  const status: ErrorNumber = ERROR_NUMBERS[code];
  const { stamp } = model;
  const nothing = { epoch: 0, highestSequence: 0, stamp, ttlMs: 0 };
  model.outbox?.attached({ kind: MESSAGE.attached, nonce, attempt, status, session, ...nothing });
}

function isValidAttempt(attempt: number): boolean {
  return Number.isSafeInteger(attempt) && attempt >= 1 && attempt < 2 ** 32;
}

export function recall(model: Model, session: ModelSession, command: RecallCommand): void {
  const sequences = command.sequences.map((sequence) => sequenceOf(session, sequence));
  const granted = command.sequences.flatMap((sequence) => {
    const reply = replyTo(session, sequence);
    return reply === undefined || tokenIn(reply) === 0 ? [] : [tokenIn(reply)];
  });
  // Ends of what it was granted are told unasked.
  const ended = granted.filter(
    (token) => !command.tokens.includes(token) && holdOf(model, session, token) === undefined,
  );
  const tokens = [...command.tokens, ...new Set(ended)].map((token) =>
    tokenOf(model, session, token),
  );
  const { number } = command;
  model.say(session, { kind: MESSAGE.recalled, number, stamp: model.stamp, sequences, tokens });
}

function sequenceOf(session: ModelSession, sequence: number): RecalledSequence {
  const reply = replyTo(session, sequence);
  const { done, dropped, queued, unseen } = RECALL_STATE;
  if (reply === undefined) return { sequence, state: sequence < session.mark ? dropped : unseen };
  if (reply.kind === "tombstone") return { sequence, state: dropped };
  if (reply.kind === "waiting") return { sequence, state: queued };
  return { sequence, state: done, stamp: reply.stamp, result: reply.result };
}

function tokenOf(model: Model, session: ModelSession, token: number): RecalledToken {
  const hold = holdOf(model, session, token);
  if (hold === undefined) return { token, held: false, reason: endReasonOf(session, token) };
  const { token: current, count, end, isContended } = hold;
  const isRevoked = end !== undefined && reasonAtEnd(hold) === END_REASON.revoked;
  return { token, held: true, current, count, endsAt: end?.at ?? 0, isRevoked, isContended };
}
