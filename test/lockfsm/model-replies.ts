/** What the naive model stores of answers, and for how long ("Stored replies"). */
import {
  END_REASON,
  type EndReason,
  MESSAGE,
  type Result,
  type SessionCommand,
  STATUS,
  TOKEN_MIN,
} from "../../src/protocol/index.js";
import type { ModelHold, ModelReply, ModelSession } from "./model-records.js";
import type { Model } from "./model-state.js";

/** Ends that one session is told once more when it asks. */
const LOSSES_MAX = 1_000;

export function replyTo(session: ModelSession, sequence: number): ModelReply | undefined {
  return session.replies.find((reply) => reply.sequence === sequence);
}

/** An `outcome` is what an acquire or claim brought; it stays until it is acknowledged. */
export function answer(
  model: Model,
  session: ModelSession,
  sequence: number,
  result: Result,
  kind: "reply" | "outcome" = "reply",
): void {
  session.replies.push({ sequence, stamp: model.stamp, kind, result });
  model.reply(session, sequence, result);
}

/** A request begins to wait; nothing is said yet. */
export function storeWaiting(model: Model, session: ModelSession, sequence: number): void {
  const result: Result = { status: STATUS.queued };
  session.replies.push({ sequence, stamp: model.stamp, kind: "waiting", result });
}

/** How a wait ended: pushed, or as the reply of the entry in which it would have begun. */
export function settle(
  model: Model,
  session: ModelSession,
  sequence: number,
  result: Result,
  how: "push" | "reply" | "refuse",
): void {
  const reply = replyTo(session, sequence);
  if (reply?.kind !== "waiting") throw new Error(`model: ${sequence} does not wait`);
  reply.kind = how === "refuse" ? "reply" : "outcome";
  reply.result = result;
  if (how !== "push") model.reply(session, sequence, result);
  else model.say(session, { kind: MESSAGE.outcome, sequence, stamp: model.stamp, result });
}

export function tokenIn({ result }: ModelReply): number {
  return "token" in result ? result.token : 0;
}

/** What the client says to have read. */
export function noteRead(model: Model, session: ModelSession, command: SessionCommand): void {
  for (const number of command.acknowledged) {
    if (number >= TOKEN_MIN) {
      session.losses = session.losses.filter(({ token }) => token !== number);
      continue;
    }
    const reply = replyTo(session, number);
    if (reply === undefined || reply.kind === "waiting") continue;
    outliveTokens(model, session, number);
    reply.kind = "tombstone";
    reply.result = { status: STATUS.queued };
    delete reply.endReason;
  }
  forgetOldTokens(model, session);
  session.mark = Math.max(session.mark, command.mark);
  session.replies = session.replies.filter(
    ({ sequence, kind }) => sequence >= session.mark || kind === "waiting" || kind === "outcome",
  );
}

/** Who has read what an upgrade brought knows a newer token than those that the hold had before. */
function outliveTokens(model: Model, session: ModelSession, sequence: number): void {
  for (const hold of model.holds) {
    if (hold.session !== session) continue;
    const at = hold.aliases.findIndex((alias) => alias.sequence === sequence);
    for (const alias of hold.aliases.slice(0, at + 1)) alias.isOutlived = true;
  }
}

/** Such a token is needed until all that was said in its name was read. */
function forgetOldTokens(model: Model, session: ModelSession): void {
  for (const hold of model.holds) {
    if (hold.session !== session) continue;
    hold.aliases = hold.aliases.filter(
      ({ token, isOutlived }) => !isOutlived || isNamed(session, token),
    );
  }
}

/** Whether it could be read yet that the token was granted. */
export function isNamed({ replies }: ModelSession, token: number): boolean {
  return replies.some((reply) => reply.kind === "outcome" && tokenIn(reply) === token);
}

/** Replies at or above the mark, of these kinds. */
export function countReplies(session: ModelSession, kinds: readonly ModelReply["kind"][]): number {
  return session.replies.filter(
    ({ sequence, kind }) => sequence >= session.mark && kinds.includes(kind),
  ).length;
}

/** Outcomes and losses that it has not said to have read, wherever the mark is. */
export function countUnreadEnds({ replies, losses }: ModelSession): number {
  return replies.filter(({ kind }) => kind === "outcome").length + losses.length;
}

/** The outcomes that brought a hold say why it is no more, once its client gave it up. */
export function recordEnd(session: ModelSession, hold: ModelHold, reason: EndReason): void {
  const newer = hold.aliases.filter(({ isOutlived }) => !isOutlived);
  const sequences = [hold.sequence, ...newer.map(({ sequence }) => sequence)];
  for (const reply of session.replies) {
    if (reply.kind === "outcome" && sequences.includes(reply.sequence)) reply.endReason = reason;
  }
}

/** A hold ended against the will of its session. */
export function recordLoss(session: ModelSession, token: number, reason: EndReason): void {
  session.losses.push({ token, reason });
  session.losses = session.losses.slice(-LOSSES_MAX);
}

export function endReasonOf(session: ModelSession, token: number): EndReason {
  const loss = session.losses.find((other) => other.token === token);
  const reply = session.replies.find(
    (other) => other.endReason !== undefined && tokenIn(other) === token,
  );
  return loss?.reason ?? reply?.endReason ?? END_REASON.unknown;
}
