/**
 * Encodes replies, notices and answers, as `message-schema.ts` declares them, directly into the
 * frame that a connection is filling. This runs once per reply on the node that a client is attached
 * to: in one pass, and without allocating.
 */
import { assert } from "../../errors/index.js";
import { MESSAGE, type ServerMessage } from "../replies.js";
import { MESSAGE_FORMS } from "./message-schema.js";
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
  const { kind } = message;
  const forms = MESSAGE_FORMS[kind];
  assert(forms !== undefined, () => `a message of kind ${kind}`);
  const hasPayload = kind === MESSAGE.answer || kind === MESSAGE.changes;
  const content = hasPayload
    ? { ...message, payload: packed(message.payload, packPayload) }
    : message;
  writer.arrayHeader(1 + forms.count(content));
  writer.uint(kind);
  forms.write(writer, content);
}

function packed(payload: unknown, pack: (value: unknown) => Uint8Array): Uint8Array | null {
  return payload === undefined || payload === null ? null : pack(payload);
}
