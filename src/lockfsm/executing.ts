/**
 * From a command of an entry to its effect: whose it is, whether it counts, whether it was executed
 * before. Bad input is answered or has no effect; nothing a client can send throws.
 */
import { assert, unreachable } from "../assert.js";
import {
  type CloseCommand,
  type Command,
  END_REASON,
  isOrder,
  MESSAGE,
  OP,
  RECALL_MAX,
  type SequencedCommand,
  type SessionCommand,
  TOKEN_MIN,
} from "../protocol/index.js";
import { acquire } from "./acquiring.js";
import { open, resume } from "./attaching.js";
import { downgrade, update, upgrade } from "./converting.js";
import { endSession } from "./ending.js";
import { cancel, release, store } from "./giving-up.js";
import { renewLease } from "./leases.js";
import { order, orderWithoutSession } from "./ordering.js";
import { recall } from "./recalling.js";
import { OK, SESSION_EXPIRED, TOKENS_EXHAUSTED, TOO_MANY_IN_FLIGHT } from "./results.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";
import { resolveSuspects } from "./suspecting.js";
import { claim, detach } from "./tickets.js";
import { forgetOlder } from "./tokens.js";
import type { TableCommand } from "./types.js";

/**
 * Beyond this multiple of `inFlightMax` stored replies a command is dropped as if it had been lost
 * on its way: a refusal would have to be stored too.
 */
const SETTLED_FACTOR = 2;

export function execute(state: TableState, { session: id, epoch, command }: TableCommand): void {
  if (command === undefined) return;
  state.stepUnits = state.settings.grantsPerStepMax;
  if (command.op === OP.open) open(state, command);
  else if (command.op === OP.resume || command.op === OP.takeOver) resume(state, command);
  else executeOf(state, id, epoch, command);
  resolveSuspects(state);
}

function executeOf(state: TableState, id: number, epoch: number, command: SessionCommand): void {
  const session = state.sessions.find(id);
  if (session === undefined) {
    if (id === 0 && isOrder(command)) orderWithoutSession(state, command);
    else refuseUnknown(state, id, epoch, command);
    return;
  }
  if (epoch !== session.attachEpoch) return;
  if (!session.isAliveAt(state.stamp)) {
    // Its end is told when it is swept; what has no sequence has no answer until then.
    if (hasSequence(command)) {
      state.reply(session, command.sequence, state.stamp, SESSION_EXPIRED);
    }
    return;
  }
  state.saving.keepSession(session);
  if (command.op === OP.keepalive) {
    noteRead(state, session, command);
    renewLease(state, session);
    state.say(session, { kind: MESSAGE.pulse, number: command.number, stamp: state.stamp });
  } else if (command.op === OP.recall) {
    if (command.sequences.length + command.tokens.length > RECALL_MAX) return;
    noteRead(state, session, command);
    renewLease(state, session);
    recall(state, session, command);
  } else if (hasSequence(command)) {
    executeSequenced(state, session, command);
  }
}

/** The node to which such a client is attached knows its session and epoch from before. */
function refuseUnknown(
  state: TableState,
  session: number,
  epoch: number,
  command: SessionCommand,
): void {
  const { outbox, stamp } = state;
  if (hasSequence(command)) {
    const { sequence } = command;
    const result = SESSION_EXPIRED;
    outbox.toSession(session, epoch, { kind: MESSAGE.reply, sequence, stamp, result });
  } else if (command.op === OP.keepalive || command.op === OP.recall) {
    const reason = END_REASON.unknown;
    outbox.toSession(session, epoch, { kind: MESSAGE.ended, session, reason });
  }
}

function executeSequenced(state: TableState, session: Session, command: SequencedCommand): void {
  const { sequence } = command;
  if (!Number.isSafeInteger(sequence) || sequence < 1) return;
  noteRead(state, session, command);
  const { replies } = session;
  const slot = replies.find(sequence);
  if (slot !== undefined) {
    if (slot.state === "tombstone") return;
    state.reply(session, sequence, slot.stamp, slot.result);
    return;
  }
  if (sequence < replies.mark) return;
  if (command.op === OP.close) {
    close(state, session, command);
    return;
  }
  const { inFlightMax, unacknowledgedMax } = state.settings;
  if (replies.settled >= SETTLED_FACTOR * inFlightMax) return;
  renewLease(state, session);
  if (sequence > session.highestSequence) session.highestSequence = sequence;
  const bringsToken = mayBringToken(command);
  const isOverfull = bringsToken && session.unreadEnds >= unacknowledgedMax;
  if (replies.unread >= inFlightMax || isOverfull) {
    store(state, session, sequence, TOO_MANY_IN_FLIGHT);
  } else if (bringsToken && state.tokens.isExhausted) {
    store(state, session, sequence, TOKENS_EXHAUSTED);
  } else perform(state, session, command);
  assert(replies.find(sequence) !== undefined, () => `${sequence} left no trace`);
}

function perform(
  state: TableState,
  session: Session,
  command: Exclude<SequencedCommand, CloseCommand>,
): void {
  switch (command.op) {
    case OP.acquire:
      acquire(state, session, command);
      return;
    case OP.release:
      release(state, session, command);
      return;
    case OP.cancel:
      cancel(state, session, command);
      return;
    case OP.downgrade:
      downgrade(state, session, command);
      return;
    case OP.upgrade:
      upgrade(state, session, command);
      return;
    case OP.update:
      update(state, session, command);
      return;
    case OP.revoke:
    case OP.endSession:
    case OP.setLimit:
    case OP.changeSetting:
      order(state, command, (result) => store(state, session, command.sequence, result));
      return;
    case OP.detach:
      detach(state, session, command);
      return;
    case OP.claim:
      claim(state, session, command);
      return;
    default:
      unreachable(command);
  }
}

/** Limits of stored replies do not apply: nothing of the session is left to be stored. */
function close(state: TableState, session: Session, { sequence }: CloseCommand): void {
  state.reply(session, sequence, state.stamp, OK);
  endSession(state, session, END_REASON.closed);
}

/** What the client says it has read is true whenever it arrives, even with a repeated command. */
function noteRead(
  state: TableState,
  session: Session,
  { acknowledged, mark }: SessionCommand,
): void {
  // Every command comes here: no iterator is made for what is one number mostly.
  for (let at = 0; at < acknowledged.length; at += 1) {
    const number = acknowledged[at] as number;
    if (number >= TOKEN_MIN) session.acknowledgeLoss(number);
    else if (state.holds.aliasCount === 0) session.replies.acknowledge(number);
    else acknowledge(state, session, number);
  }
  if (Number.isSafeInteger(mark)) session.replies.raiseMark(mark);
}

/** The same where holds have old tokens, which nobody may need any more. */
function acknowledge(state: TableState, session: Session, sequence: number): void {
  const { replies } = session;
  const slot = replies.find(sequence);
  const result = slot?.state === "outcome" ? slot.result : undefined;
  replies.acknowledge(sequence);
  if (result !== undefined && "token" in result) forgetOlder(state, sequence, result);
}

/** Its outcome is kept until it is acknowledged; a refusal is only a reply. */
function mayBringToken({ op }: SequencedCommand): boolean {
  return op === OP.acquire || op === OP.upgrade || op === OP.claim;
}

function hasSequence(command: Command): command is SequencedCommand {
  return "sequence" in command;
}
