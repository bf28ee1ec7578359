/**
 * Open and resume. This decides, in the log, which connection may act for a session. Its client
 * raises `attempt` with every transmission. The largest attempt wins; duplicates of it are answered
 * again; a command that arrives later with a smaller one is ignored.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  ATTEMPT_MAX,
  type AttachCommand,
  attachKeyOf,
  digestOf,
  MESSAGE,
  type OpenCommand,
  type Origin,
  type ResumeCommand,
  STATUS,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { isBeyondIdentity, isTableFull } from "../holds/quotas.js";
import { noteRefusal } from "../holds/rights.js";
import type { Credential, Identity } from "../records/identity.js";
import { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { notifyForcedEnd } from "./orders.js";
import { renewLease } from "./session-effects.js";

/** @param by number of the credential of the connection that it came on */
export function open(state: TableState, command: OpenCommand, by: number, origin: Origin): void {
  const { nonce, attempt, ttlMs } = command;
  if (!isWithin(ttlMs, TTL_MS_MIN, TTL_MS_MAX) || !isWithin(attempt, 1, ATTEMPT_MAX)) {
    refuse(state, command, ERROR_NUMBERS.INVALID_ARGUMENT);
    return;
  }
  if (state.quietUntil > 0) {
    refuse(state, command, ERROR_NUMBERS.UNAVAILABLE);
    return;
  }
  const credential = credentialOf(state, command, by);
  if (credential === undefined) return;
  const { identity } = credential;
  if (identity.highest < ACCESS_LEVEL.acquire) {
    const isAnonymous = identity === state.access.anonymous;
    const status = isAnonymous ? ERROR_NUMBERS.UNAUTHENTICATED : ERROR_NUMBERS.FORBIDDEN;
    forbid(state, command, status, credential);
    return;
  }
  const digest = digestOf(nonce);
  const known = state.sessions.findByNonce(digest);
  if (known?.isAliveAt(state.stamp)) {
    attach(state, known, command, credential, origin);
    return;
  }
  if (isFull(state, identity)) {
    refuse(state, command, ERROR_NUMBERS.QUOTA);
    return;
  }
  const { name, metadata } = command;
  const id = state.takeNumber();
  const session = new Session(
    state.copies,
    id,
    digest,
    name,
    metadata,
    ttlMs,
    state.stamp,
    attempt,
    credential,
  );
  session.change().origin = origin;
  state.sessions.add(session);
  state.due.add(session);
  answer(state, session, command);
}

function isFull(state: TableState, identity: Identity): boolean {
  if (state.sessions.size >= state.settings.sessionsMax || isTableFull(state)) return true;
  return isBeyondIdentity(state, identity, "session");
}

export function resume(
  state: TableState,
  command: ResumeCommand,
  by: number,
  origin: Origin,
): void {
  if (!isWithin(command.attempt, 1, ATTEMPT_MAX)) {
    refuse(state, command, ERROR_NUMBERS.INVALID_ARGUMENT);
    return;
  }
  const credential = credentialOf(state, command, by);
  if (credential === undefined) return;
  const session = state.sessions.find(command.session);
  if (session === undefined || !session.isAliveAt(state.stamp)) {
    refuse(state, command, ERROR_NUMBERS.SESSION_EXPIRED);
  } else if (session.nonceDigest !== digestOf(command.nonce)) {
    refuse(state, command, ERROR_NUMBERS.FORBIDDEN);
  } else attach(state, session, command, credential, origin);
}

/** The credential that attaches; refuses the command if it is gone. */
function credentialOf(
  state: TableState,
  command: AttachCommand,
  by: number,
): Credential | undefined {
  const credential = state.access.findCredential(by);
  if (credential === undefined) forbid(state, command, ERROR_NUMBERS.UNAUTHENTICATED, undefined);
  return credential;
}

/**
 * A session belongs to one identity; one that was opened anonymously can be adopted, once. Refuses
 * the command otherwise, or if the identity may not have more.
 */
function mayAttach(
  state: TableState,
  session: Session,
  command: AttachCommand,
  credential: Credential,
): boolean {
  const { identity } = credential;
  const owner = session.credential.identity;
  if (owner === identity) return true;
  if (owner !== state.access.anonymous) forbid(state, command, ERROR_NUMBERS.FORBIDDEN, credential);
  else if (isBeyondIdentity(state, identity, "adoption")) {
    refuse(state, command, ERROR_NUMBERS.QUOTA);
  } else return true;
  return false;
}

/** What the session has counts against `to` from now on, except its cooldowns. */
function countFor(session: Session, to: Identity): void {
  const { holdCount, requestCount } = session;
  const from = session.credential.identity;
  const bytes = session.bytes - session.cooldownBytes;
  from.sessionCount -= 1;
  to.sessionCount += 1;
  from.waitCount -= requestCount;
  to.waitCount += requestCount;
  from.countHolds(-holdCount, -bytes);
  to.countHolds(holdCount, bytes);
}

/**
 * Attaches the connection of a command that has proved by its secret that the session is its
 * client's.
 */
function attach(
  state: TableState,
  session: Session,
  command: AttachCommand,
  credential: Credential,
  origin: Origin,
): void {
  const { attempt } = command;
  if (!mayAttach(state, session, command, credential) || attempt < session.attempt) return;
  if (attempt === session.attempt && !isAnsweredAgain(session, credential)) return;
  if (attempt > session.attempt) {
    const attached = session.change();
    attached.attempt = attempt;
    if (credential.identity !== session.credential.identity) {
      countFor(session, credential.identity);
    }
    attached.credential = credential;
    attached.origin = origin;
    // The field in a record has 32 bits.
    attached.attachEpoch = (session.attachEpoch % ATTEMPT_MAX) + 1;
    attached.attachedAt = state.stamp;
    attached.attachedSequence = session.highestSequence;
    renewLease(state, session);
  }
  answer(state, session, command);
  notifyForcedEnd(state, session);
}

/**
 * Whether a repeated attempt is answered: not if the earlier answer is out of date, nor if it comes
 * by another credential, with whose removal this attachment would not end. A correct client does
 * neither.
 */
function isAnsweredAgain(session: Session, credential: Credential): boolean {
  return session.highestSequence === session.attachedSequence && credential === session.credential;
}

function answer(state: TableState, session: Session, command: AttachCommand): void {
  state.outbox.attached({
    ...headOf(state, command),
    status: STATUS.ok,
    session: session.id,
    epoch: session.attachEpoch,
    highestSequence: session.attachedSequence,
    stamp: session.attachedAt,
    ttlMs: session.ttlMs,
  });
}

function refuse(state: TableState, command: AttachCommand, status: ErrorNumber): void {
  const session = "session" in command ? command.session : 0;
  const nothing = { epoch: 0, highestSequence: 0, stamp: state.stamp, ttlMs: 0 };
  state.outbox.attached({ ...headOf(state, command), status, session, ...nothing });
}

function headOf({ index }: TableState, command: AttachCommand) {
  const { attempt } = command;
  return { kind: MESSAGE.attached, key: attachKeyOf(command), attempt, index } as const;
}

/** Refuses a command because of who gives it. */
function forbid(
  state: TableState,
  command: AttachCommand,
  status: typeof ERROR_NUMBERS.FORBIDDEN | typeof ERROR_NUMBERS.UNAUTHENTICATED,
  credential: Credential | undefined,
): void {
  noteRefusal(state, command, { session: 0, identity: credential?.identity, status });
  refuse(state, command, status);
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}
