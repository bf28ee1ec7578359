/**
 * Decodes a frame from a node into messages, in the client. Everything except the payload of an
 * answer is read in place by the canonical reader of `protocol`: a client can receive ten thousand
 * replies a second, and values that are read one position at a time need no second check of their
 * types.
 *
 * A newer node may send more than this client knows. Unknown kinds of message, and positions after
 * the known ones, are skipped, and only their form is checked.
 */
import {
  type Answer,
  type Attached,
  type Changes,
  type Hello,
  MESSAGE,
  ProtocolError,
  type Recalled,
  SERVER_FRAME_BYTES_MAX,
  type ServerMessage,
  STATUS,
} from "../../protocol/index.js";
import { MessageReader } from "./message-reader.js";
import { unpackPayload } from "./unpack-payload.js";

/** The fields of a refusal to attach, apart from the attempt and the error. */
const NOT_ATTACHED = Object.freeze({
  kind: MESSAGE.attached,
  key: "",
  session: 0,
  epoch: 0,
  highestSequence: 0,
  stamp: 0,
  ttlMs: 0,
  index: 0,
});

/**
 * The messages of one frame, in order.
 * @throws {ProtocolError} when no correct node sends this frame; the connection must be closed
 */
export function decodeServerFrame(frame: Uint8Array): ServerMessage[] {
  if (frame.length > SERVER_FRAME_BYTES_MAX) {
    throw new ProtocolError(`a frame of ${frame.length} bytes`, 0);
  }
  const reader = new MessageReader(frame);
  const messages: ServerMessage[] = [];
  for (let left = reader.frameHeader(); left > 0; left--) {
    const message = readMessage(reader);
    if (message !== undefined) messages.push(message);
  }
  if (!reader.isAtEnd) reader.fail("bytes after the last message");
  return messages;
}

/** The next message, or `undefined` for one of a kind that this client does not know. */
function readMessage(reader: MessageReader): ServerMessage | undefined {
  const count = reader.positions(1);
  const kind = reader.uint();
  switch (kind) {
    case MESSAGE.reply:
    case MESSAGE.outcome: {
      reader.need(count, 4);
      const sequence = reader.uint();
      const stamp = reader.uint();
      return { kind, sequence, stamp, result: reader.result(count - 3) };
    }
    case MESSAGE.pulse: {
      reader.need(count, 3);
      const number = reader.uint();
      return { kind, number, stamp: reader.last(reader.uint(), count - 3) };
    }
    case MESSAGE.attached:
      return readAttached(reader, count);
    case MESSAGE.recalled:
      return readRecalled(reader, count);
    case MESSAGE.answer:
    case MESSAGE.changes:
      return readAnswer(reader, count, kind);
    default:
      return readNotice(reader, kind, count);
  }
}

/** Messages that a node sends unasked. */
function readNotice(reader: MessageReader, kind: number, count: number): ServerMessage | undefined {
  switch (kind) {
    case MESSAGE.ended: {
      reader.need(count, 3);
      const session = reader.uint();
      return { kind, session, reason: reader.last(reader.endReason(), count - 3) };
    }
    case MESSAGE.refused: {
      reader.need(count, 3);
      const sequence = reader.uint();
      return { kind, sequence, status: reader.last(reader.error(), count - 3) };
    }
    case MESSAGE.contended: {
      reader.need(count, 2);
      return { kind, sequence: reader.last(reader.uint(), count - 2) };
    }
    case MESSAGE.revoking: {
      reader.need(count, 5);
      const sequence = reader.uint();
      const stamp = reader.uint();
      const endsAt = reader.uint();
      return { kind, sequence, stamp, endsAt, reason: reader.last(reader.string(), count - 5) };
    }
    case MESSAGE.lost: {
      reader.need(count, 5);
      const sequence = reader.uint();
      const token = reader.uint();
      const stamp = reader.uint();
      return { kind, sequence, token, stamp, reason: reader.last(reader.endReason(), count - 5) };
    }
    case MESSAGE.hello:
      return readHello(reader, count);
    case MESSAGE.leader: {
      reader.need(count, 3);
      const leaderId = reader.uint();
      return { kind, leaderId, endpoints: reader.last(reader.endpoints(), count - 3) };
    }
    case MESSAGE.move:
      return reader.last({ kind }, count - 1);
    default:
      return reader.last(undefined, count - 1);
  }
}

function readAttached(reader: MessageReader, count: number): Attached {
  reader.need(count, 3);
  const kind = MESSAGE.attached;
  const attempt = reader.uint();
  const status = reader.okOrError();
  if (status !== STATUS.ok) {
    reader.passOver(count - 3);
    return { ...NOT_ATTACHED, attempt, status };
  }
  reader.need(count, 9);
  const session = reader.uint();
  const epoch = reader.uint();
  const highestSequence = reader.uint();
  const stamp = reader.uint();
  const ttlMs = reader.uint();
  const index = reader.last(reader.uint(), count - 9);
  const rest = { session, epoch, highestSequence, stamp, ttlMs, index };
  return { kind, key: "", attempt, status, ...rest };
}

function readRecalled(reader: MessageReader, count: number): Recalled {
  reader.need(count, 4);
  const number = reader.uint();
  const stamp = reader.uint();
  const sequences = reader.last(reader.recalledSequences(), count - 4);
  return { kind: MESSAGE.recalled, number, stamp, sequences };
}

function readAnswer(
  reader: MessageReader,
  count: number,
  kind: typeof MESSAGE.answer | typeof MESSAGE.changes,
): Answer | Changes {
  reader.need(count, 4);
  const id = reader.uint();
  const status = reader.okOrError();
  const start = reader.at;
  reader.passOver(1);
  const payload = unpackPayload(reader.bytes.subarray(start, reader.at));
  return reader.last({ kind, id, status, payload }, count - 4);
}

function readHello(reader: MessageReader, count: number): Hello {
  reader.need(count, 8);
  const version = reader.uint();
  const clusterId = reader.string();
  const nodeId = reader.uint();
  const leaderId = reader.uint();
  const endpoints = reader.endpoints();
  const frameBytesMax = reader.uint();
  const voters = reader.last(reader.numbers(), count - 8);
  const kind = MESSAGE.hello;
  return { kind, version, clusterId, nodeId, leaderId, endpoints, frameBytesMax, voters };
}
