/**
 * Decodes the bytes of a peer, strictly and totally, as `message-layout.ts` declares them. Every
 * length is checked before it is used, every byte must be accounted for, and a frame is accepted as a
 * whole or not at all. Any input either decodes or throws `PeerFrameError`, and nothing else.
 */
import type { NodeId } from "../../raft/index.js";
import type { PeerMessage } from "../types.js";
import { readAppend, readAppendReply } from "./append-bytes.js";
import { FrameCursor, fail, openFrame } from "./frame-cursor.js";
import { PEER_MESSAGES, type PeerMessageForm } from "./message-layout.js";
import { UNREAD } from "./peer-fields.js";

export interface PeerDelivery {
  readonly group: number;
  readonly message: PeerMessage;
}

const BY_KIND = new Map(PEER_MESSAGES.map((form) => [form.kind, form]));
/**
 * Messages are copied out of a frame of at least this size, so that a kept message does not keep
 * the whole frame, unless the message is most of the frame.
 */
const LARGE_FRAME_BYTES = 64 << 10;

/**
 * All messages of a frame that came from `from` to `to`. Byte fields are views of `frame`, which
 * the caller must own, or of a copy of their message, so that a kept message does not keep a large
 * frame in memory.
 *
 * @throws {PeerFrameError} for any other input
 */
export function decodePeerFrame(frame: Uint8Array, from: NodeId, to: NodeId): PeerDelivery[] {
  const reader = openFrame(frame, from, to);
  const deliveries: PeerDelivery[] = [];
  while (reader.at < frame.length) {
    const kind = reader.uint8();
    const version = reader.uint8();
    const group = reader.uint32();
    const length = reader.uint32();
    const isView = frame.length < LARGE_FRAME_BYTES || length * 2 >= frame.length;
    const body = isView ? reader : new FrameCursor(reader.raw(length).slice(), from, to);
    deliveries.push({ group, message: decodeMessage(body, kind, version, length) });
  }
  if (deliveries.length === 0) fail("empty frame");
  return deliveries;
}

/** Decodes the message whose body is the next `length` bytes. */
function decodeMessage(
  body: FrameCursor,
  kind: number,
  version: number,
  length: number,
): PeerMessage {
  const form = BY_KIND.get(kind);
  if (form === undefined) return fail(`unknown message kind ${kind}`);
  if (version !== form.version) fail(`message kind ${kind} of version ${version}`);
  body.begin(length);
  const content = readContent(body, form);
  body.finish();
  return (form.isOfCore ? { type: "raft", message: content } : content) as PeerMessage;
}

function readContent(body: FrameCursor, { name, layout }: PeerMessageForm): object {
  if (name === "append") return readAppend(body);
  if (name === "appendReply") return readAppendReply(body);
  return layout(body, UNREAD);
}
