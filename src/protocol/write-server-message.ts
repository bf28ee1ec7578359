/**
 * Replies, notices and answers to bytes, straight into the frame that a connection is filling. This
 * runs once per reply on the node a client is attached to: one pass, nothing allocated.
 */
import { unreachable } from "../assert.js";
import { ERROR_NUMBERS } from "../errors.js";
import {
  type Blocker,
  MESSAGE,
  type NodeEndpoint,
  RECALL_STATE,
  type Recalled,
  type Result,
  type ServerMessage,
  STATUS,
} from "./replies.js";
import type { Writer } from "./writer.js";

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
    case MESSAGE.ended:
      writer.arrayHeader(3);
      writer.uint(message.kind);
      writer.uint(message.session);
      writer.uint(message.reason);
      return;
    case MESSAGE.answer:
      writer.arrayHeader(4);
      writer.uint(message.kind);
      writer.uint(message.id);
      writer.uint(message.status);
      if (message.payload === undefined || message.payload === null) writer.nil();
      else writer.raw(packPayload(message.payload));
      return;
    case MESSAGE.hello:
      writer.arrayHeader(7);
      writer.uint(message.kind);
      writer.uint(message.version);
      writer.string(message.clusterId);
      writer.uint(message.nodeId);
      writer.uint(message.leaderId);
      writeEndpoints(writer, message.endpoints);
      writer.uint(message.frameBytesMax);
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
    default:
      unreachable(message);
  }
}

/** Positions of a result: its status and what belongs to that. */
function resultArity(result: Result): number {
  switch (result.status) {
    case STATUS.granted:
    case STATUS.notReleased:
      return 2;
    case ERROR_NUMBERS.LOCK_HELD:
      return result.blockedBy !== undefined ? 3 : 1;
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
      return;
    case STATUS.notReleased:
      writer.uint(result.reason);
      return;
    case ERROR_NUMBERS.LOCK_HELD:
      if (result.blockedBy === undefined) return;
      writer.uint(result.blockedBy);
      writeBlockers(writer, result.blockers ?? []);
      return;
    default:
      return;
  }
}

function writeBlockers(writer: Writer, blockers: readonly Blocker[]): void {
  writer.arrayHeader(blockers.length);
  for (const blocker of blockers) {
    writer.arrayHeader(4);
    writer.string(blocker.sessionName);
    writer.string(blocker.key);
    writer.uint(blocker.mode === "shared" ? 1 : 0);
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
    writer.arrayHeader(3);
    writer.uint(recalled.token);
    writer.bool(recalled.held);
    writer.uint(recalled.reason);
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
