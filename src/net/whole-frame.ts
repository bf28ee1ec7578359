/**
 * Sends a whole binary message to a client as one frame in one write (RFC 6455, 5.2). `ws` writes
 * the header and the payload as two pieces, which the socket joins again; that is a third of the cost
 * of a short message. So the payload is preceded by space for its header, and both are written
 * together to the stream that `ws` was given.
 *
 * `ws` sends everything else on the connection: handshake, pings, closes. Never use this for a
 * connection that compresses, where `ws` has a queue of its own that this would overtake.
 */
import type { Writable } from "node:stream";
import { WebSocket } from "ws";
import { assert } from "../errors/index.js";

/** Space before a payload: two bytes, and eight for a long length. */
export const FRAME_HEADROOM_BYTES = 10;

const FINAL_BINARY = 0x82;
const UINT16_FOLLOWS = 126;
const UINT64_FOLLOWS = 127;
const TWO_32 = 2 ** 32;

/**
 * Sends `payload`, which must be preceded by `FRAME_HEADROOM_BYTES` of writable memory. The caller
 * must not touch either until `done` is called, which always happens.
 *
 * @param stream the stream that `socket` was given
 */
export function sendWhole(
  socket: WebSocket,
  stream: Writable,
  payload: Uint8Array,
  done: () => void,
): void {
  // Nothing may follow a close frame.
  if (socket.readyState === WebSocket.OPEN) stream.write(wholeFrame(payload), done);
  else done();
}

/** The payload with its header before it, in the same memory. */
export function wholeFrame(payload: Uint8Array): Buffer {
  const { buffer, byteOffset, length } = payload;
  const lengthBytes = length < UINT16_FOLLOWS ? 0 : length < 1 << 16 ? 2 : 8;
  const headerBytes = 2 + lengthBytes;
  assert(byteOffset >= headerBytes, () => `no room for a header before ${length} bytes`);
  const frame = Buffer.from(buffer, byteOffset - headerBytes, headerBytes + length);
  frame[0] = FINAL_BINARY;
  if (lengthBytes === 0) frame[1] = length;
  else if (lengthBytes === 2) {
    frame[1] = UINT16_FOLLOWS;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = UINT64_FOLLOWS;
    frame.writeUInt32BE(Math.floor(length / TWO_32), 2);
    frame.writeUInt32BE(length >>> 0, 6);
  }
  return frame;
}
