/**
 * Encodes replies, notices and answers, as `message-layout.ts` declares them, directly into the
 * frame that a connection is filling.
 */
import type { ServerMessage } from "../replies.js";
import { serverMessage } from "./message-layout.js";
import { writePlainReply } from "./plain-reply.js";
import { PositionWriter } from "./position-writer.js";
import type { Writer } from "./writer.js";

/** Not reentrant. */
const positions = new PositionWriter();

/**
 * Appends `message` to `writer`.
 * @param writePayload appends the plain data of an answer
 */
export function writeServerMessage(
  writer: Writer,
  message: ServerMessage,
  writePayload: (to: Writer, payload: unknown) => void,
): void {
  if (!writePlainReply(writer, message)) {
    positions.write(writer, message, serverMessage, writePayload);
  }
}
