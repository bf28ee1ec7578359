/**
 * From a command of an entry to its effect: whose it is, whether it counts, whether it was executed
 * before. Bad input is answered or has no effect; nothing a client can send throws.
 */
import { assert } from "../assert.js";
import {
  type CloseCommand,
  type Command,
  END_REASON,
  MESSAGE,
  OP,
  RECALL_MAX,
  type SequencedCommand,
  type SessionCommand,
} from "../protocol/index.js";
import { acquire } from "./acquiring.js";
import { open, resume } from "./attaching.js";
import { endSession } from "./ending.js";
import { cancel, release } from "./giving-up.js";
import { renewLease } from "./leases.js";
import { recall } from "./recalling.js";
import { OK, SESSION_EXPIRED, TOO_MANY_IN_FLIGHT } from "./results.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";
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
  else if (command.op === OP.resume) resume(state, command);
  else executeOf(state, id, epoch, command);
}

function executeOf(state: TableState, id: number, epoch: number, command: SessionCommand): void {
  const session = state.sessions.find(id);
  if (session === undefined) {
    refuseUnknown(state, id, epoch, command);
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
    noteRead(session, command);
    renewLease(state, session);
    state.say(session, { kind: MESSAGE.pulse, number: command.number, stamp: state.stamp });
  } else if (command.op === OP.recall) {
    if (command.sequences.length + command.tokens.length > RECALL_MAX) return;
    noteRead(session, command);
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
  noteRead(session, command);
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
  const isOverfull = command.op === OP.acquire && replies.unacknowledged >= unacknowledgedMax;
  if (replies.unread >= inFlightMax || isOverfull) {
    replies.add(sequence, state.stamp, "reply", TOO_MANY_IN_FLIGHT);
    state.reply(session, sequence, state.stamp, TOO_MANY_IN_FLIGHT);
  } else if (command.op === OP.acquire) acquire(state, session, command);
  else if (command.op === OP.release) release(state, session, command);
  else cancel(state, session, command);
  assert(replies.find(sequence) !== undefined, () => `${sequence} left no trace`);
}

/** Limits of stored replies do not apply: nothing of the session is left to be stored. */
function close(state: TableState, session: Session, { sequence }: CloseCommand): void {
  state.reply(session, sequence, state.stamp, OK);
  endSession(state, session, END_REASON.closed);
}

/** What the client says it has read is true whenever it arrives, even with a repeated command. */
function noteRead(session: Session, { acknowledged, mark }: SessionCommand): void {
  for (const sequence of acknowledged) session.replies.acknowledge(sequence);
  if (Number.isSafeInteger(mark)) session.replies.raiseMark(mark);
}

function hasSequence(command: Command): command is SequencedCommand {
  const { op } = command;
  return op === OP.acquire || op === OP.release || op === OP.cancel || op === OP.close;
}
