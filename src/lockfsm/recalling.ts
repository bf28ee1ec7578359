/**
 * Recall: what a client asks after it attached again. Beyond what it asked for, the answer names
 * the end of every token that one of the recalled sequences was granted and that is held no more.
 */
import {
  END_REASON,
  MESSAGE,
  RECALL_STATE,
  type RecallCommand,
  type RecalledSequence,
  type RecalledToken,
} from "../protocol/index.js";
import type { Hold } from "./hold.js";
import { endOf, reasonAtEnd } from "./hold-ends.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";
import { lookAtHold } from "./tokens.js";

export function recall(state: TableState, session: Session, command: RecallCommand): void {
  const sequences: RecalledSequence[] = [];
  const tokens: RecalledToken[] = command.tokens.map((token) => tokenOf(state, session, token));
  const asked = new Set(command.tokens);
  for (const sequence of command.sequences) {
    const recalled = sequenceOf(session, sequence);
    sequences.push(recalled);
    if (recalled.state !== RECALL_STATE.done || !("token" in recalled.result)) continue;
    const { token } = recalled.result;
    if (asked.has(token) || lookAtHoldOf(state, session, token) !== undefined) continue;
    asked.add(token);
    tokens.push(tokenOf(state, session, token));
  }
  const { number } = command;
  state.say(session, { kind: MESSAGE.recalled, number, stamp: state.stamp, sequences, tokens });
}

function sequenceOf(session: Session, sequence: number): RecalledSequence {
  const slot = session.replies.find(sequence);
  if (slot === undefined) {
    const isPassed = sequence < session.replies.mark;
    return { sequence, state: isPassed ? RECALL_STATE.dropped : RECALL_STATE.unseen };
  }
  if (slot.state === "tombstone") return { sequence, state: RECALL_STATE.dropped };
  if (slot.state === "waiting") return { sequence, state: RECALL_STATE.queued };
  return { sequence, state: RECALL_STATE.done, stamp: slot.stamp, result: slot.result };
}

function lookAtHoldOf(state: TableState, session: Session, token: number): Hold | undefined {
  const hold = lookAtHold(state, token);
  return hold?.session === session ? hold : undefined;
}

function tokenOf(state: TableState, session: Session, token: number): RecalledToken {
  const hold = lookAtHoldOf(state, session, token);
  if (hold === undefined) return { token, held: false, reason: session.endReasonOf(token) };
  const { count, isContended } = hold;
  const endsAt = endOf(hold) ?? 0;
  const isRevoked = endsAt > 0 && reasonAtEnd(hold) === END_REASON.revoked;
  return { token, held: true, current: hold.token, count, endsAt, isRevoked, isContended };
}
