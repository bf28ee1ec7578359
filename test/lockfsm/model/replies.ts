/**
 * What the naive model stores of answers, and for how long. Each number of a session is in one place at
 * most: a hold, a request that waits, a reply that is not below the mark, or an end that was not
 * acknowledged. There is nothing to report about a number that is in none.
 */
import {
  ANONYMOUS,
  type EndReason,
  MESSAGE,
  type Result,
  type SequencedCommand,
  type SessionCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { error, type ModelHold, type ModelSession } from "./records.js";
import { levelOf, noteRefusal } from "./rights.js";
import type { Model } from "./state.js";

/** Losses that are reported to one session once more when it asks. */
const LOSSES_MAX = 1_000;

/** A grant is not stored: the hold itself shows it. */
const isToldByItsHold = ({ status }: Result) =>
  status === STATUS.granted || status === STATUS.adopted;

/** The answer of the entry that executes the command. */
export function answer(
  model: Model,
  session: ModelSession,
  sequence: number,
  result: Result,
): void {
  const { stamp } = model;
  const isWaiting = result.status === STATUS.queued;
  if (!isWaiting && !isToldByItsHold(result)) session.replies.push({ sequence, stamp, result });
  model.say(session, { kind: MESSAGE.reply, sequence, stamp, result });
}

/** A refusal because of missing rights; who has not said who it is, is told to. */
export function forbid(model: Model, session: ModelSession, command: SequencedCommand): void {
  noteRefusal(model, levelOf(command));
  const isUnknown = session.identity.isRemoved || session.identity.name === ANONYMOUS;
  const code = session.id === 0 && isUnknown ? "UNAUTHENTICATED" : "FORBIDDEN";
  answer(model, session, command.sequence, error(code));
}

/** Refused, and told as if what has that token were not there. */
export function hide(model: Model, session: ModelSession, command: SequencedCommand): void {
  noteRefusal(model, levelOf(command));
  answer(model, session, command.sequence, error("NOT_HELD"));
}

/** How a wait ended, pushed when it did. */
export function push(model: Model, session: ModelSession, sequence: number, result: Result): void {
  const { stamp } = model;
  if (!isToldByItsHold(result)) session.outcomes.push({ sequence, stamp, result });
  model.say(session, { kind: MESSAGE.outcome, sequence, stamp, result });
}

/** What the client says to have read. What is held or waits did not end: of it nothing was read. */
export function noteRead(session: ModelSession, command: SessionCommand): void {
  session.mark = Math.max(session.mark, Math.min(command.mark, session.highest + 1));
  session.replies = session.replies.filter(({ sequence }) => sequence >= session.mark);
  for (const sequence of command.acknowledged) forgetEnd(session, sequence);
}

/** Its stored reply too: nothing is left of it. */
export function forget(session: ModelSession, sequence: number): EndReason | undefined {
  session.replies = session.replies.filter((other) => other.sequence !== sequence);
  return forgetEnd(session, sequence);
}

/** Drops how it ended, if that was not read yet; returns why, when it was a loss. */
function forgetEnd(session: ModelSession, sequence: number): EndReason | undefined {
  const loss = session.losses.find((other) => other.sequence === sequence);
  session.outcomes = session.outcomes.filter((other) => other.sequence !== sequence);
  session.losses = session.losses.filter((other) => other !== loss);
  return loss?.reason;
}

/** A hold ended otherwise than by a command of its session. */
export function recordLoss(session: ModelSession, hold: ModelHold, reason: EndReason): void {
  const { sequence, token } = hold;
  session.losses.push({ sequence, token, reason });
  session.losses = session.losses.slice(-LOSSES_MAX);
}

export function countUnreadEnds({ outcomes, losses }: ModelSession): number {
  return outcomes.length + losses.length;
}
