/**
 * Encodes peer messages as `message-layout.ts` declares them. Everything encoded was made by this
 * process, so a message that does not fit the format is a broken invariant, not an error.
 */
import { assert } from "../../errors/index.js";
import type { PeerMessage } from "../types.js";
import { writeAppend, writeAppendReply } from "./append-bytes.js";
import type { PeerFrame } from "./frame.js";
import { PEER_MESSAGES } from "./message-layout.js";

/** kind u8, version u8, group u32, length u32. */
export const MESSAGE_HEADER_BYTES = 10;

const BY_NAME = new Map(PEER_MESSAGES.map((form) => [form.name, form]));

/** Appends one message to the frame. */
export function encodePeerMessage(frame: PeerFrame, group: number, message: PeerMessage): void {
  const content = message.type === "raft" ? message.message : message;
  const form = BY_NAME.get(content.type);
  assert(form !== undefined, () => `a peer message of type ${content.type}`);
  frame.uint8(form.kind);
  frame.uint8(form.version);
  frame.uint32(group);
  const lengthAt = frame.length;
  frame.uint32(0);
  if (content.type === "append") writeAppend(frame, content);
  else if (content.type === "appendReply") writeAppendReply(frame, content);
  else form.layout(frame, content);
  frame.endLength(lengthAt);
}
