/**
 * Replies, notices and answers to bytes, straight into the frame that a connection is filling. This
 * runs once per reply on the node a client is attached to: one pass, nothing allocated.
 */
import { unreachable } from "../assert.js";
import { ERROR_NUMBERS } from "../errors.js";
import { CLAIM_MODES } from "./commands.js";
import {
  type Blocker,
  type ClaimedItem,
  type Contended,
  type CycleMember,
  type Hello,
  type LeaderNotice,
  type Lost,
  MESSAGE,
  type MoveNotice,
  type NodeEndpoint,
  RECALL_STATE,
  type Recalled,
  type RecalledToken,
  type Result,
  type Revoking,
  type ServerMessage,
  type SessionEnded,
  STATUS,
} from "./replies.js";
import type { Writer } from "./writer.js";

type Notice = Hello | LeaderNotice | MoveNotice | SessionEnded | Contended | Revoking | Lost;

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
      writer.arrayHeader(message.status === STATUS.ok ? 8 : 3);
      writer.uint(message.kind);
      writer.uint(message.attempt);
      writer.uint(message.status);
      if (message.status !== STATUS.ok) return;
      writer.uint(message.session);
      writer.uint(message.epoch);
      writer.uint(message.highestSequence);
      writer.uint(message.stamp);
      writer.uint(message.ttlMs);
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

/** What is said of itself, without having been asked. */
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
    case MESSAGE.contended:
      writer.arrayHeader(2);
      writer.uint(message.kind);
      writer.uint(message.token);
      return;
    case MESSAGE.revoking:
      writer.arrayHeader(5);
      writer.uint(message.kind);
      writer.uint(message.token);
      writer.uint(message.stamp);
      writer.uint(message.endsAt);
      writer.string(message.reason);
      return;
    case MESSAGE.lost:
      writer.arrayHeader(4);
      writer.uint(message.kind);
      writer.uint(message.token);
      writer.uint(message.stamp);
      writer.uint(message.reason);
      return;
    default:
      unreachable(message);
  }
}

/** Positions of a result: its status and what belongs to that. */
function resultArity(result: Result): number {
  switch (result.status) {
    case STATUS.granted:
      return result.count === undefined && result.slots === undefined ? 2 : 4;
    case STATUS.notReleased:
      return 2;
    case STATUS.released:
      return result.remaining === undefined ? 1 : 2;
    case STATUS.upgraded:
      return 3;
    case STATUS.revoked:
      return 4;
    case STATUS.claimed:
      return 6;
    case ERROR_NUMBERS.LOCK_HELD:
      return result.blockedBy !== undefined ? 3 : 1;
    case ERROR_NUMBERS.DEADLOCK:
      return result.cycle !== undefined ? 2 : 1;
    case ERROR_NUMBERS.LIMIT_MISMATCH:
      return result.limit !== undefined ? 2 : 1;
    default:
      return 1;
  }
}

function writeResult(writer: Writer, result: Result): void {
  writer.uint(result.status);
  switch (result.status) {
    case STATUS.ok:
    case STATUS.queued:
      return;
    case STATUS.released:
      if (result.remaining !== undefined) writer.uint(result.remaining);
      return;
    case STATUS.granted:
      writer.uint(result.token);
      if (result.count === undefined && result.slots === undefined) return;
      writer.uint(result.count ?? 1);
      writeSlots(writer, result.slots ?? []);
      return;
    case STATUS.upgraded:
      writer.uint(result.token);
      writer.string(result.key);
      return;
    case STATUS.notReleased:
      writer.uint(result.reason);
      return;
    case STATUS.revoked:
      writer.uint(result.count);
      writer.uint(result.remaining);
      writer.uint(result.opened);
      return;
    case STATUS.claimed:
      writer.uint(result.token);
      writeClaimed(writer, result.items);
      writer.string(result.value);
      writer.uint(result.grantedAt);
      writer.uint(result.endsAt);
      return;
    case ERROR_NUMBERS.LOCK_HELD:
      if (result.blockedBy === undefined) return;
      writer.uint(result.blockedBy);
      writeBlockers(writer, result.blockers ?? []);
      return;
    case ERROR_NUMBERS.DEADLOCK:
      if (result.cycle !== undefined) writeCycle(writer, result.cycle);
      return;
    case ERROR_NUMBERS.LIMIT_MISMATCH:
      if (result.limit !== undefined) writer.uint(result.limit);
      return;
    default:
      return;
  }
}

function writeSlots(writer: Writer, slots: readonly (readonly number[])[]): void {
  writer.arrayHeader(slots.length);
  for (const ofItem of slots) writeNumbers(writer, ofItem);
}

function writeClaimed(writer: Writer, items: readonly ClaimedItem[]): void {
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
  for (const { session, sessionName, owner, key, mode } of cycle) {
    writer.arrayHeader(5);
    writer.uint(session);
    writer.string(sessionName);
    writer.uint(owner);
    writer.string(key);
    writer.uint(CLAIM_MODES.indexOf(mode));
  }
}

function writeNumbers(writer: Writer, numbers: readonly number[]): void {
  writer.arrayHeader(numbers.length);
  for (const number of numbers) writer.uint(number);
}

function writeBlockers(writer: Writer, blockers: readonly Blocker[]): void {
  writer.arrayHeader(blockers.length);
  for (const blocker of blockers) {
    writer.arrayHeader(4);
    writer.string(blocker.sessionName);
    writer.string(blocker.key);
    writer.uint(CLAIM_MODES.indexOf(blocker.mode));
    writer.uint(blocker.token);
  }
}

function writeRecalled(writer: Writer, message: Recalled): void {
  writer.arrayHeader(5);
  writer.uint(message.kind);
  writer.uint(message.number);
  writer.uint(message.stamp);
  writer.arrayHeader(message.sequences.length);
  for (const recalled of message.sequences) {
    const isDone = recalled.state === RECALL_STATE.done;
    writer.arrayHeader(isDone ? 3 + resultArity(recalled.result) : 2);
    writer.uint(recalled.sequence);
    writer.uint(recalled.state);
    if (!isDone) continue;
    writer.uint(recalled.stamp);
    writeResult(writer, recalled.result);
  }
  writer.arrayHeader(message.tokens.length);
  for (const recalled of message.tokens) {
    writeRecalledToken(writer, recalled);
  }
}

function writeRecalledToken(writer: Writer, recalled: RecalledToken): void {
  writer.arrayHeader(recalled.held ? 7 : 3);
  writer.uint(recalled.token);
  writer.bool(recalled.held);
  if (!recalled.held) {
    writer.uint(recalled.reason);
    return;
  }
  writer.uint(recalled.current);
  writer.uint(recalled.count);
  writer.uint(recalled.endsAt);
  writer.bool(recalled.isRevoked);
  writer.bool(recalled.isContended);
}

function writeEndpoints(writer: Writer, endpoints: readonly NodeEndpoint[]): void {
  writer.arrayHeader(endpoints.length);
  for (const { id, endpoint } of endpoints) {
    writer.arrayHeader(2);
    writer.uint(id);
    writer.string(endpoint);
  }
}
