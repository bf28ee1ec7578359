/**
 * Encodes replies, notices and answers directly into the frame that a connection is filling. This
 * runs once per reply on the node that a client is attached to: in one pass, and without
 * allocating.
 */
import { ERROR_NUMBERS, unreachable } from "../../errors/index.js";
import { CLAIM_MODES } from "../commands.js";
import {
  type Attached,
  type Blocker,
  type Contended,
  type CycleMember,
  type HeldItem,
  type Hello,
  type LeaderNotice,
  type Lost,
  MESSAGE,
  type MoveNotice,
  type NodeEndpoint,
  RECALL_STATE,
  type Recalled,
  type RecalledSequence,
  type Refused,
  type Result,
  type Revoking,
  type ServerMessage,
  type SessionEnded,
  STATUS,
} from "../replies.js";
import type { Writer } from "./writer.js";

type Notice =
  | Hello
  | LeaderNotice
  | MoveNotice
  | SessionEnded
  | Refused
  | Contended
  | Revoking
  | Lost;

/**
 * Appends `message` to `writer`.
 * @param packPayload packs the plain data of an answer into one msgpack value
 */
export function writeServerMessage(
  writer: Writer,
  message: ServerMessage,
  packPayload: (value: unknown) => Uint8Array,
): void {
  switch (message.kind) {
    case MESSAGE.reply:
    case MESSAGE.outcome:
      writer.arrayHeader(3 + resultArity(message.result));
      writer.uint(message.kind);
      writer.uint(message.sequence);
      writer.uint(message.stamp);
      writeResult(writer, message.result);
      return;
    case MESSAGE.pulse:
      writer.arrayHeader(3);
      writer.uint(message.kind);
      writer.uint(message.number);
      writer.uint(message.stamp);
      return;
    case MESSAGE.attached:
      writeAttached(writer, message);
      return;
    case MESSAGE.recalled:
      writeRecalled(writer, message);
      return;
    case MESSAGE.answer:
    case MESSAGE.changes:
      writer.arrayHeader(4);
      writer.uint(message.kind);
      writer.uint(message.id);
      writer.uint(message.status);
      if (message.payload === undefined || message.payload === null) writer.nil();
      else writer.raw(packPayload(message.payload));
      return;
    default:
      writeNotice(writer, message);
  }
}

function writeAttached(writer: Writer, message: Attached): void {
  const { status } = message;
  writer.arrayHeader(status === STATUS.ok ? 9 : 3);
  writer.uint(message.kind);
  writer.uint(message.attempt);
  writer.uint(status);
  if (status === STATUS.ok) {
    writer.uint(message.session);
    writer.uint(message.epoch);
    writer.uint(message.highestSequence);
    writer.uint(message.stamp);
    writer.uint(message.ttlMs);
    writer.uint(message.index);
  }
}

/** Writes a message that was not asked for. */
function writeNotice(writer: Writer, message: Notice): void {
  switch (message.kind) {
    case MESSAGE.hello:
      writer.arrayHeader(8);
      writer.uint(message.kind);
      writer.uint(message.version);
      writer.string(message.clusterId);
      writer.uint(message.nodeId);
      writer.uint(message.leaderId);
      writeEndpoints(writer, message.endpoints);
      writer.uint(message.frameBytesMax);
      writer.arrayHeader(message.voters.length);
      for (const id of message.voters) writer.uint(id);
      return;
    case MESSAGE.leader:
      writer.arrayHeader(3);
      writer.uint(message.kind);
      writer.uint(message.leaderId);
      writeEndpoints(writer, message.endpoints);
      return;
    case MESSAGE.move:
      writer.arrayHeader(1);
      writer.uint(message.kind);
      return;
    case MESSAGE.ended:
      writer.arrayHeader(3);
      writer.uint(message.kind);
      writer.uint(message.session);
      writer.uint(message.reason);
      return;
    case MESSAGE.refused:
      writer.arrayHeader(3);
      writer.uint(message.kind);
      writer.uint(message.sequence);
      writer.uint(message.status);
      return;
    case MESSAGE.contended:
      writer.arrayHeader(2);
      writer.uint(message.kind);
      writer.uint(message.sequence);
      return;
    case MESSAGE.revoking:
      writer.arrayHeader(5);
      writer.uint(message.kind);
      writer.uint(message.sequence);
      writer.uint(message.stamp);
      writer.uint(message.endsAt);
      writer.string(message.reason);
      return;
    case MESSAGE.lost:
      writer.arrayHeader(5);
      writer.uint(message.kind);
      writer.uint(message.sequence);
      writer.uint(message.token);
      writer.uint(message.stamp);
      writer.uint(message.reason);
      return;
    default:
      unreachable(message);
  }
}

/** The number of positions of a result: its status and its fields. */
function resultArity(result: Result): number {
  switch (result.status) {
    case STATUS.granted:
      return result.slots === undefined ? 2 : 3;
    case STATUS.notReleased:
    case STATUS.upgraded:
      return 2;
    case STATUS.revoked:
      return 4;
    case STATUS.adopted:
      return 6;
    case STATUS.extended:
      return 2;
    case STATUS.leased:
    case STATUS.givenBack:
      return 4;
    case ERROR_NUMBERS.LOCK_HELD:
      if (result.isSameOwner === true) return 2;
      return result.blockedBy !== undefined ? 3 : 1;
    case ERROR_NUMBERS.NOT_HELD:
      return result.reason !== undefined ? 2 : 1;
    case ERROR_NUMBERS.DEADLOCK:
      return result.cycle !== undefined ? 2 : 1;
    case ERROR_NUMBERS.LIMIT_MISMATCH:
    case ERROR_NUMBERS.INVALID_ARGUMENT:
      return result.limit !== undefined ? 2 : 1;
    case ERROR_NUMBERS.OUTDATED_ORDER:
      return result.orderCount !== undefined ? 2 : 1;
    default:
      return 1;
  }
}

function writeResult(writer: Writer, result: Result): void {
  writer.uint(result.status);
  switch (result.status) {
    case STATUS.ok:
    case STATUS.queued:
    case STATUS.released:
      return;
    case STATUS.granted:
      writer.uint(result.token);
      if (result.slots !== undefined) writeSlots(writer, result.slots);
      return;
    case STATUS.upgraded:
      writer.uint(result.token);
      return;
    case STATUS.notReleased:
      writer.uint(result.reason);
      return;
    case STATUS.revoked:
      writer.uint(result.count);
      writer.uint(result.remaining);
      writer.uint(result.opened);
      return;
    case STATUS.adopted:
      writer.uint(result.token);
      writeClaimed(writer, result.items);
      writer.string(result.value);
      writer.uint(result.grantedAt);
      writer.uint(result.endsAt);
      return;
    case STATUS.leased:
      writeNumbers(writer, result.tokens);
      writer.uint(result.endsAt);
      writeSlots(writer, result.slots);
      return;
    case STATUS.extended:
      writer.arrayHeader(result.leases.length);
      for (const { token, endsAt } of result.leases) writeNumbers(writer, [token, endsAt]);
      return;
    case STATUS.givenBack:
      writer.uint(result.count);
      writer.uint(result.waits);
      writer.uint(result.reason);
      return;
    case ERROR_NUMBERS.NOT_HELD:
      if (result.reason !== undefined) writer.uint(result.reason);
      return;
    case ERROR_NUMBERS.LOCK_HELD:
      if (result.isSameOwner === true) writer.bool(true);
      if (result.blockedBy === undefined) return;
      writer.uint(result.blockedBy);
      writeBlockers(writer, result.blockers ?? []);
      return;
    case ERROR_NUMBERS.DEADLOCK:
      if (result.cycle !== undefined) writeCycle(writer, result.cycle);
      return;
    case ERROR_NUMBERS.LIMIT_MISMATCH:
    case ERROR_NUMBERS.INVALID_ARGUMENT:
      if (result.limit !== undefined) writer.uint(result.limit);
      return;
    case ERROR_NUMBERS.OUTDATED_ORDER:
      if (result.orderCount !== undefined) writer.uint(result.orderCount);
      return;
    default:
      return;
  }
}

function writeSlots(writer: Writer, slots: readonly (readonly number[])[]): void {
  writer.arrayHeader(slots.length);
  for (const ofItem of slots) writeNumbers(writer, ofItem);
}

function writeClaimed(writer: Writer, items: readonly HeldItem[]): void {
  writer.arrayHeader(items.length);
  for (const { key, mode, permits, slots } of items) {
    writer.arrayHeader(4);
    writer.string(key);
    writer.uint(CLAIM_MODES.indexOf(mode));
    writer.uint(permits);
    writeNumbers(writer, slots);
  }
}

function writeCycle(writer: Writer, cycle: readonly CycleMember[]): void {
  writer.arrayHeader(cycle.length);
  for (const { session, sessionName, owner, key, mode, identity } of cycle) {
    writer.arrayHeader(6);
    writer.uint(session);
    writer.string(sessionName);
    writer.uint(owner);
    writer.string(key);
    writer.uint(CLAIM_MODES.indexOf(mode));
    writer.string(identity);
  }
}

function writeNumbers(writer: Writer, numbers: readonly number[]): void {
  writer.arrayHeader(numbers.length);
  for (const number of numbers) writer.uint(number);
}

function writeBlockers(writer: Writer, blockers: readonly Blocker[]): void {
  writer.arrayHeader(blockers.length);
  for (const blocker of blockers) {
    writer.arrayHeader(5);
    writer.string(blocker.sessionName);
    writer.string(blocker.key);
    writer.uint(CLAIM_MODES.indexOf(blocker.mode));
    writer.uint(blocker.token);
    writer.string(blocker.identity);
  }
}

function writeRecalled(writer: Writer, message: Recalled): void {
  writer.arrayHeader(4);
  writer.uint(message.kind);
  writer.uint(message.number);
  writer.uint(message.stamp);
  writer.arrayHeader(message.sequences.length);
  for (const recalled of message.sequences) writeRecalledSequence(writer, recalled);
}

function writeRecalledSequence(writer: Writer, recalled: RecalledSequence): void {
  const { sequence, state } = recalled;
  switch (state) {
    case RECALL_STATE.held:
      writer.arrayHeader(9);
      writer.uint(sequence);
      writer.uint(state);
      writer.uint(recalled.token);
      writeClaimed(writer, recalled.items);
      writer.string(recalled.value);
      writer.uint(recalled.grantedAt);
      writer.uint(recalled.endsAt);
      writer.bool(recalled.isRevoked);
      writer.bool(recalled.isContended);
      return;
    case RECALL_STATE.ended:
      writer.arrayHeader(4);
      writer.uint(sequence);
      writer.uint(state);
      writer.uint(recalled.token);
      writer.uint(recalled.reason);
      return;
    case RECALL_STATE.replied:
      writer.arrayHeader(3 + resultArity(recalled.result));
      writer.uint(sequence);
      writer.uint(state);
      writer.uint(recalled.stamp);
      writeResult(writer, recalled.result);
      return;
    default:
      writer.arrayHeader(2);
      writer.uint(sequence);
      writer.uint(state);
  }
}

function writeEndpoints(writer: Writer, endpoints: readonly NodeEndpoint[]): void {
  writer.arrayHeader(endpoints.length);
  for (const { id, endpoint } of endpoints) {
    writer.arrayHeader(2);
    writer.uint(id);
    writer.string(endpoint);
  }
}
