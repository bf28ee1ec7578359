/**
 * Recall: a client that has attached again asks about sequences to which it has no answer. Holds
 * are reported from the table, as they are now, whatever was sent about them before.
 */
import {
  END_REASON,
  MESSAGE,
  RECALL_MAX,
  RECALL_STATE,
  type RecallCommand,
  type RecalledHold,
  type RecalledSequence,
} from "../../protocol/index.js";
import { endOf, reasonAtEnd } from "../holds/due-time.js";
import { lookAtHoldOf } from "../holds/tokens.js";
import type { Hold } from "../records/hold.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { heldItems } from "./hand-over.js";

export function recall(state: TableState, session: Session, command: RecallCommand): void {
  const { number, sequences: asked } = command;
  if (asked.length > RECALL_MAX) return;
  const sequences = asked.map((sequence) => recallOne(state, session, sequence));
  state.say(session, { kind: MESSAGE.recalled, number, stamp: state.stamp, sequences });
}

function recallOne(state: TableState, session: Session, sequence: number): RecalledSequence {
  const hold = lookAtHoldOf(state, session, sequence);
  if (hold !== undefined) return recallHold(hold);
  const slot = session.replies.find(sequence);
  if (slot?.state === "waiting") return { sequence, state: RECALL_STATE.waiting };
  if (slot !== undefined) {
    const { stamp, result } = slot;
    return { sequence, state: RECALL_STATE.replied, stamp, result };
  }
  const loss = session.losses?.get(sequence);
  if (loss !== undefined) return { sequence, state: RECALL_STATE.ended, ...loss };
  const isUnseen = sequence > session.highestSequence;
  return { sequence, state: isUnseen ? RECALL_STATE.unseen : RECALL_STATE.forgotten };
}

function recallHold(hold: Hold): RecalledHold {
  const { sequence, token, value, grantedAt, isContended } = hold;
  const endsAt = endOf(hold) ?? 0;
  return {
    sequence,
    state: RECALL_STATE.held,
    token,
    items: heldItems(hold),
    value,
    grantedAt,
    endsAt,
    isRevoked: endsAt > 0 && reasonAtEnd(hold) === END_REASON.revoked,
    isContended,
  };
}
