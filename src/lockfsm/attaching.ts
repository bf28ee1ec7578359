/**
 * Open and resume: which connection may speak for a session is decided here, in the log. The
 * client raises `attempt` with every transmission; the largest one wins, its duplicates get its
 * answer again, and what comes later with a smaller one is ignored.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../errors.js";
import {
  type AttachCommand,
  MESSAGE,
  OP,
  type OpenCommand,
  type ResumeCommand,
  STATUS,
  type TakeOverCommand,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../protocol/index.js";
import type { Hold } from "./hold.js";
import { renewLease } from "./leases.js";
import { holdAt } from "./lone-holds.js";
import { tellForcedEnd } from "./revoking.js";
import { digestOf } from "./secret-digest.js";
import { Session } from "./session.js";
import { isTableFull } from "./sizes.js";
import type { TableState } from "./state.js";
import { renewToken } from "./tokens.js";

/** A record carries the epoch in 32 bits. */
const ATTEMPT_MAX = 2 ** 32 - 1;

export function open(state: TableState, command: OpenCommand): void {
  const { nonce, attempt, ttlMs } = command;
  const isValidTtl = Number.isSafeInteger(ttlMs) && ttlMs >= TTL_MS_MIN && ttlMs <= TTL_MS_MAX;
  if (!isValidTtl || !isValidAttempt(attempt)) {
    refuse(state, command, 0, ERROR_NUMBERS.INVALID_ARGUMENT);
    return;
  }
  if (state.quietUntil > 0) {
    refuse(state, command, 0, ERROR_NUMBERS.UNAVAILABLE);
    return;
  }
  const digest = digestOf(nonce);
  const known = state.sessions.findByNonce(digest);
  if (known?.isAliveAt(state.stamp)) {
    attach(state, known, command);
    return;
  }
  if (state.sessions.size >= state.settings.sessionsMax || isTableFull(state)) {
    refuse(state, command, 0, ERROR_NUMBERS.QUOTA);
    return;
  }
  const { name, metadata } = command;
  const id = state.takeNumber();
  const session = new Session(
    state.saving,
    id,
    digest,
    name,
    metadata,
    ttlMs,
    state.stamp,
    attempt,
  );
  state.sessions.add(session);
  state.due.add(session);
  answer(state, session, nonce);
}

/** A takeover is a resume by another process: what it holds gets new tokens. */
export function resume(state: TableState, command: ResumeCommand | TakeOverCommand): void {
  if (!isValidAttempt(command.attempt)) {
    refuse(state, command, command.session, ERROR_NUMBERS.INVALID_ARGUMENT);
    return;
  }
  const session = state.sessions.find(command.session);
  if (session === undefined || !session.isAliveAt(state.stamp)) {
    refuse(state, command, command.session, ERROR_NUMBERS.SESSION_EXPIRED);
    return;
  }
  if (session.nonceDigest !== digestOf(command.nonce)) {
    refuse(state, command, command.session, ERROR_NUMBERS.FORBIDDEN);
    return;
  }
  if (command.op === OP.takeOver && command.attempt > session.attachEpoch) {
    if (session.holdCount > state.settings.holdsPerStepMax) {
      refuse(state, command, command.session, ERROR_NUMBERS.QUOTA);
      return;
    }
    if (session.holdCount > 0 && state.tokens.isExhausted) {
      refuse(state, command, command.session, ERROR_NUMBERS.TOKENS_EXHAUSTED);
      return;
    }
    renewTokens(state, session);
  }
  attach(state, session, command);
}

/** The process before must not be believed by what it guards any more. */
function renewTokens(state: TableState, session: Session): void {
  const holds: Hold[] = [];
  for (let row = session.firstHold; row !== 0; row = state.rows.nextOf(row)) {
    holds.push(holdAt(state, row));
  }
  for (const hold of holds) {
    renewToken(state, hold, 0);
    state.note("converted", hold);
  }
}

/** The command proved by its nonce that the session is its client's. */
function attach(state: TableState, session: Session, { nonce, attempt }: AttachCommand): void {
  if (attempt < session.attachEpoch) return;
  if (attempt > session.attachEpoch) {
    state.saving.keepSession(session);
    session.attachEpoch = attempt;
    session.attachedAt = state.stamp;
    session.attachedSequence = session.highestSequence;
    renewLease(state, session);
  }
  answer(state, session, nonce);
  tellForcedEnd(state, session);
}

function answer(state: TableState, session: Session, nonce: string): void {
  state.outbox.attached({
    kind: MESSAGE.attached,
    nonce,
    attempt: session.attachEpoch,
    status: STATUS.ok,
    session: session.id,
    epoch: session.attachEpoch,
    highestSequence: session.attachedSequence,
    stamp: session.attachedAt,
    ttlMs: session.ttlMs,
  });
}

function refuse(
  state: TableState,
  command: AttachCommand,
  session: number,
  status: ErrorNumber,
): void {
  state.outbox.attached({
    kind: MESSAGE.attached,
    nonce: command.nonce,
    attempt: command.attempt,
    status,
    session,
    epoch: 0,
    highestSequence: 0,
    stamp: state.stamp,
    ttlMs: 0,
  });
}

function isValidAttempt(attempt: number): boolean {
  return Number.isSafeInteger(attempt) && attempt >= 1 && attempt <= ATTEMPT_MAX;
}
