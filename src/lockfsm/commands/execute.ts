/**
 * Executes a command of an entry: finds its session, and decides whether it counts and whether it
 * is the next one of that session. Bad input is answered or has no effect; nothing that a client
 * can send may throw.
 */
import {
  type CloseCommand,
  type Command,
  END_REASON,
  isOrder,
  isTakingAct,
  MESSAGE,
  OP,
  type OrderCommand,
  type SequencedCommand,
  type SessionCommand,
} from "../../protocol/index.js";
import { resolveSuspects } from "../deadlock/detect.js";
import { endSession } from "../holds/end.js";
import { mayDo, noteRefusal, ofSession } from "../holds/rights.js";
import { type Session, UNKNOWN_ORIGIN } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { FORBIDDEN, isRefusal, OK, TOKENS_EXHAUSTED, TOO_MANY_IN_FLIGHT } from "../results.js";
import type { TableCommand } from "../types.js";
import { acquire } from "./acquire.js";
import { act } from "./act.js";
import { open, resume } from "./attach.js";
import { downgrade, update, upgrade } from "./convert.js";
import { adopt, handOver } from "./hand-over.js";
import { extend, giveBack, take } from "./leases.js";
import { order, orderWithoutSession } from "./orders.js";
import { recall } from "./recall.js";
import { release } from "./release.js";
import { renewLease, store } from "./session-effects.js";

export function execute(state: TableState, recorded: TableCommand): void {
  const { session: id, epoch, command, origin = UNKNOWN_ORIGIN } = recorded;
  if (command === undefined) return;
  state.stepUnits = state.settings.grantsPerStepMax;
  if (command.op === OP.open) open(state, command, epoch, origin);
  else if (command.op === OP.resume) resume(state, command, epoch, origin);
  else executeOf(state, id, epoch, command);
  resolveSuspects(state);
}

function executeOf(state: TableState, id: number, epoch: number, command: SessionCommand): void {
  const session = state.sessions.find(id);
  if (session === undefined) {
    if (id === 0 && isOrder(command)) orderWithoutSession(state, command, epoch);
    else state.pushEnded(id, epoch, END_REASON.unknown);
    return;
  }
  if (epoch !== session.attachEpoch || session.credential.isRemoved) return;
  if (!session.isAliveAt(state.stamp)) {
    state.pushEnded(id, epoch, session.endReason);
    return;
  }
  const changed = session.change();
  noteRead(session, command);
  if (command.op === OP.keepalive) {
    renewLease(state, session);
    state.say(session, { kind: MESSAGE.renewed, number: command.number, stamp: state.stamp });
  } else if (command.op === OP.recall) {
    renewLease(state, session);
    recall(state, session, command);
  } else if (command.sequence === session.highestSequence + 1) {
    renewLease(state, session);
    changed.highestSequence = command.sequence;
    perform(state, session, command);
  }
}

function perform(state: TableState, session: Session, command: SequencedCommand): void {
  if (!mayDo(state, session, command)) {
    noteRefusal(state, command, ofSession(session));
    store(state, session, command.sequence, FORBIDDEN);
    return;
  }
  const { sequence } = command;
  if (bringsHold(command) && session.unreadEnds >= state.settings.unacknowledgedMax) {
    store(state, session, sequence, TOO_MANY_IN_FLIGHT);
    return;
  }
  if (state.tokens.isExhausted && (bringsHold(command) || command.op === OP.handOver)) {
    store(state, session, sequence, TOKENS_EXHAUSTED);
    return;
  }
  if (isOrder(command)) orderOf(state, session, command);
  else (PERFORMED_BY[command.op] as Performer<typeof command>)(state, session, command);
}

type Performer<C> = (state: TableState, session: Session, command: C) => void;

/** What executes each command but orders. */
const PERFORMED_BY: {
  readonly [C in Exclude<SequencedCommand, OrderCommand> as C["op"]]: Performer<C>;
} = {
  [OP.acquire]: acquire,
  [OP.end]: release,
  [OP.close]: close,
  [OP.downgrade]: downgrade,
  [OP.upgrade]: upgrade,
  [OP.update]: update,
  [OP.handOver]: handOver,
  [OP.adopt]: adopt,
  [OP.take]: take,
  [OP.extend]: extend,
  [OP.giveBack]: giveBack,
  [OP.act]: act,
};

/** Apart from `perform`, whose variables would otherwise live on the heap for the sake of this answer. */
function orderOf(
  state: TableState,
  session: Session,
  command: SequencedCommand & OrderCommand,
): void {
  order(state, { credential: session.credential, session: session.id }, command, (result) => {
    if (isRefusal(result)) noteRefusal(state, command, ofSession(session));
    store(state, session, command.sequence, result);
  });
}

/** The reply is only sent: nothing of the session remains in which to store it. */
function close(state: TableState, session: Session, { sequence }: CloseCommand): void {
  state.reply(session, sequence, OK);
  endSession(state, session, END_REASON.closed);
}

/**
 * Records what the client has read, which is true whenever it arrives, whether or not the command
 * has an effect.
 */
function noteRead(session: Session, { acknowledged, mark }: SessionCommand): void {
  // Every command passes here, usually with one number: this avoids making an iterator.
  for (let at = 0; at < acknowledged.length; at += 1) {
    const sequence = acknowledged[at] as number;
    session.replies.acknowledge(sequence);
    session.acknowledgeLoss(sequence);
  }
  if (Number.isSafeInteger(mark)) {
    session.replies.raiseMark(Math.min(mark, session.highestSequence + 1));
  }
}

/** Or the token of a stronger one. */
function bringsHold(command: Command): boolean {
  const { op } = command;
  if (op === OP.acquire || op === OP.take || op === OP.upgrade || op === OP.adopt) return true;
  return isTakingAct(command);
}
