/**
 * The bytes of a link around its messages, the same in both directions (big endian):
 *
 * link  = "HFPL", version of the link u16, frame × n
 * frame = length of the body u32, kind u8, body
 *
 * What a link begins with and the frame `close` never change, so that any two releases can at least
 * explain why they do not talk. No text of HTTP and no TLS handshake begins like a link.
 */
import { PEER_FRAME_BYTES_MAX } from "../../protocol/index.js";
import { cutText } from "../cut-text.js";

/** Version 1 was WebSocket. */
export const PEER_LINK_VERSION = 2;
export const LINK_MAGIC: Buffer = Buffer.from("HFPL");
/** What a link begins with, in either direction. */
export const LINK_PREFACE: Buffer = Buffer.concat([
  LINK_MAGIC,
  Buffer.of(PEER_LINK_VERSION >> 8, PEER_LINK_VERSION & 255),
]);

/** Length and kind. */
export const FRAME_HEAD_BYTES = 5;

export const FRAME = { hello: 1, messages: 2, ping: 3, pong: 4, close: 5 } as const;

const TLS_ALERT = 0x15;
const TLS_HANDSHAKE = 0x16;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

/** The frames that may come, by their kinds, each with the most bytes that its body may have. */
export type FrameLimits = Readonly<Record<number, number>>;

/** The most bytes of a hello: more than the longest has. */
export const HELLO_BYTES_MAX = 2_304;
/** A code u16, and a reason in UTF-8. */
const CLOSE_CODE_BYTES = 2;
const CLOSE_REASON_BYTES_MAX = 123;
const CLOSE = { [FRAME.close]: CLOSE_CODE_BYTES + CLOSE_REASON_BYTES_MAX };

/** Before its hello, a node may send nothing else. */
export const BEFORE_HELLO: FrameLimits = Object.freeze({
  [FRAME.hello]: HELLO_BYTES_MAX,
  ...CLOSE,
});
/** After its hello, from the node that dialed. */
export const FROM_DIALER: FrameLimits = Object.freeze({
  [FRAME.messages]: PEER_FRAME_BYTES_MAX,
  [FRAME.ping]: 0,
  ...CLOSE,
});
/** After its hello, from the node that was dialed. */
export const FROM_DIALED: FrameLimits = Object.freeze({ [FRAME.pong]: 0, ...CLOSE });

/** Writes the head of a frame of `length` bytes. */
export function writeHead(head: Uint8Array, kind: number, length: number): void {
  head[0] = length >>> 24;
  head[1] = length >>> 16;
  head[2] = length >>> 8;
  head[3] = length;
  head[4] = kind;
}

/** A whole frame, of a short body. */
export function frameOfKind(kind: number, body: Uint8Array = new Uint8Array(0)): Buffer {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + body.length);
  writeHead(frame, kind, body.length);
  frame.set(body, FRAME_HEAD_BYTES);
  return frame;
}

export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(cutText(reason, CLOSE_REASON_BYTES_MAX));
  return frameOfKind(FRAME.close, Buffer.concat([Buffer.of(code >> 8, code & 255), text]));
}

export interface LinkClose {
  readonly code: number;
  readonly reason: string;
}

/** What a `close` says; `undefined` if it is cut short. */
export function readClose(body: Uint8Array): LinkClose | undefined {
  if (body.length < CLOSE_CODE_BYTES) return undefined;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return { code: bytes.readUInt16BE(0), reason: bytes.toString("utf8", CLOSE_CODE_BYTES) };
}

/** What a connection that is not a link speaks, as far as its first byte shows. */
export function foreignLanguage(first: number): "TLS" | "HTTP" | undefined {
  if (first === TLS_HANDSHAKE || first === TLS_ALERT) return "TLS";
  return first >= UPPER_A && first <= UPPER_Z ? "HTTP" : undefined;
}
