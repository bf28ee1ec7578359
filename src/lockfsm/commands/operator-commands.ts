/**
 * Orders: what operators take away and set, about holds and sessions of others and the whole table.
 * A session may give one, and then it is executed once, as all of its commands are. So may anybody
 * without a session, when none is to be had or none is wanted: then it is executed as often as the
 * log has it, and nothing of it is stored. Each is a wish for a state, which does no harm twice; a
 * revoke of a key names the newest token that it means. (semantics.md, 11.1.)
 */
import { unreachable } from "../../assert.js";
import { MESSAGE, OP, type OrderCommand, type Result } from "../../protocol/index.js";
import type { TableState } from "../records/state.js";
import { changeSetting, setLimit } from "./limits.js";
import { endByOperator, revoke } from "./revoke.js";

/** Called once, before the effects, so that the operator who gave the order hears of it first. */
export type Answer = (result: Result) => void;

export function order(state: TableState, command: OrderCommand, answer: Answer): void {
  switch (command.op) {
    case OP.revoke:
      revoke(state, command, answer);
      return;
    case OP.endSession:
      endByOperator(state, command, answer);
      return;
    case OP.setLimit:
      setLimit(state, command, answer);
      return;
    case OP.changeSetting:
      changeSetting(state, command, answer);
      return;
    default:
      unreachable(command);
  }
}

/** Of a record with session 0. Each node knows by the number whether a client of it asked. */
export function orderWithoutSession(state: TableState, command: OrderCommand): void {
  const { outbox, stamp } = state;
  const { sequence } = command;
  order(state, command, (result) => {
    outbox.toSession(0, 0, { kind: MESSAGE.reply, sequence, stamp, result });
  });
}
