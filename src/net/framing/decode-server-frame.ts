/**
 * Decodes a frame from a node into messages, in the client, as the layouts of messages declare them.
 * Everything except the payload of an answer is read in place by the canonical reader of `protocol`:
 * a client can receive ten thousand replies a second, and values that are read one position at a time
 * need no second check of their types. Messages of a kind that this client does not know are skipped.
 */
import {
  MESSAGE,
  MessagePositionReader,
  PROTOCOL_VERSION,
  ProtocolError,
  readPlainReply,
  SERVER_FRAME_BYTES_MAX,
  type ServerMessage,
  serverMessage,
} from "../../protocol/index.js";
import { MessageReader } from "./message-reader.js";

/**
 * The messages of one frame, in order; after the hello of a node of another version, no more.
 * @throws {ProtocolError} when no correct node sends this frame; the connection must be closed
 */
export function decodeServerFrame(frame: Uint8Array): ServerMessage[] {
  if (frame.length > SERVER_FRAME_BYTES_MAX) {
    throw new ProtocolError(`a frame of ${frame.length} bytes`, 0);
  }
  const reader = new MessageReader(frame);
  const positions = new MessagePositionReader(reader);
  const messages: ServerMessage[] = [];
  for (let left = reader.frameHeader(); left > 0; left--) {
    const message = readPlainReply(reader) ?? positions.read(serverMessage);
    if (message !== undefined) messages.push(message);
    if (message?.kind === MESSAGE.hello && message.version !== PROTOCOL_VERSION) return messages;
  }
  if (!reader.isAtEnd) reader.fail("bytes after the last message");
  return messages;
}
