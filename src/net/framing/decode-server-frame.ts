/**
 * Decodes a frame from a node into messages, in the client, as the schema of messages declares them.
 * Everything except the payload of an answer is read in place by the canonical reader of `protocol`:
 * a client can receive ten thousand replies a second, and values that are read one position at a time
 * need no second check of their types. Messages of a kind that this client does not know are skipped.
 */
import {
  MESSAGE,
  MESSAGE_FORMS,
  PROTOCOL_VERSION,
  ProtocolError,
  SERVER_FRAME_BYTES_MAX,
  type ServerMessage,
} from "../../protocol/index.js";
import { MessageReader } from "./message-reader.js";

/** What is not on the wire, and what is not in a refusal to attach. */
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

/** What is not known of a node of another version. */
const OF_ANOTHER_VERSION = Object.freeze({
  kind: MESSAGE.hello,
  clusterId: "",
  nodeId: 0,
  leaderId: 0,
  endpoints: [],
  frameBytesMax: 0,
  voters: [],
});

/**
 * The messages of one frame, in order; after the hello of a node of another version, no more.
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
    if (message?.kind === MESSAGE.hello && message.version !== PROTOCOL_VERSION) return messages;
  }
  if (!reader.isAtEnd) reader.fail("bytes after the last message");
  return messages;
}

/** The next message, or `undefined` for one of a kind that this client does not know. */
function readMessage(reader: MessageReader): ServerMessage | undefined {
  const count = reader.arrayHeader();
  reader.need(count, 1);
  const kind = reader.uint();
  const forms = MESSAGE_FORMS[kind];
  if (forms === undefined) {
    reader.passOver(count - 1);
    return undefined;
  }
  const message = blank(kind);
  forms.read(reader, count, 1, message);
  return message as ServerMessage;
}

/** A message before its fields are read. */
function blank(kind: number): object {
  if (kind === MESSAGE.attached) return { ...NOT_ATTACHED };
  return kind === MESSAGE.hello ? { ...OF_ANOTHER_VERSION } : { kind };
}
