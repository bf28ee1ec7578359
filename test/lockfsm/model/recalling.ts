/**
 * What the naive model answers a client that asks what became of its commands (semantics.md, 5.4).
 */
import {
  MESSAGE,
  RECALL_STATE,
  type RecallCommand,
  type RecalledHold,
  type RecalledSequence,
} from "../../../src/protocol/index.js";
import { heldItems, holdOf, isRevokedAtEnd } from "./claims.js";
import type { ModelHold, ModelSession } from "./records.js";
import type { Model } from "./state.js";

export function recall(model: Model, session: ModelSession, command: RecallCommand): void {
  const sequences = command.sequences.map((sequence) => stateOf(model, session, sequence));
  const { number } = command;
  model.say(session, { kind: MESSAGE.recalled, number, stamp: model.stamp, sequences });
}

function stateOf(model: Model, session: ModelSession, sequence: number): RecalledSequence {
  const isIt = (other: { readonly sequence: number }) => other.sequence === sequence;
  const hold = holdOf(model, session, sequence);
  if (hold !== undefined) return held(hold);
  if (model.requests.some((other) => other.session === session && isIt(other))) {
    return { sequence, state: RECALL_STATE.waiting };
  }
  const loss = session.losses.find(isIt);
  if (loss !== undefined) return { ...loss, state: RECALL_STATE.ended };
  const reply = [...session.replies, ...session.outcomes].find(isIt);
  if (reply !== undefined) return { ...reply, state: RECALL_STATE.replied };
  const { unseen, forgotten } = RECALL_STATE;
  return { sequence, state: sequence > session.highest ? unseen : forgotten };
}

function held(hold: ModelHold): RecalledHold {
  const { sequence, token, value, since: grantedAt, isContended } = hold;
  return {
    sequence,
    state: RECALL_STATE.held,
    token,
    items: heldItems(hold),
    value,
    grantedAt,
    endsAt: hold.end?.at ?? 0,
    isRevoked: isRevokedAtEnd(hold),
    isContended,
  };
}
