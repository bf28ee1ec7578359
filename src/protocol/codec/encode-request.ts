/**
 * Requests to bytes, in the one canonical form that `decode-request.ts` accepts. The bytes made
 * here are the bytes in the log: they are never packed again on their way. As in `read-request.ts`,
 * the requests of which there are most are written by hand, and the others by the schema.
 */
import { type Command, OP } from "../commands.js";
import type { Request } from "../questions.js";
import { writeItems, writeNumbers, writeOptions, writeWait } from "./request-parts.js";
import { operationOf, writeFields } from "./schema-codec.js";
import { Writer } from "./writer.js";

/** Reused by `encodeCommand`, which calls nothing that could call it. */
const scratch = new Writer();

/**
 * The bytes of one command, the caller's to keep. Values must be within their limits: numbers
 * unsigned integers, texts without lone surrogates, nonces of 32 digits; else `InvariantError`.
 */
export function encodeCommand(command: Command): Uint8Array {
  scratch.reset();
  writeRequest(scratch, command);
  return scratch.take();
}

/** Appends one request to a frame in the making. The same conditions as for `encodeCommand`. */
export function writeRequest(writer: Writer, request: Request): void {
  switch (request.op) {
    case OP.acquire:
      writeHeadOf(writer, 8, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.owner);
      writeItems(writer, request.items);
      writeWait(writer, request.waitMs);
      if (request.options === undefined) writer.mapHeader(0);
      else writeOptions(writer, request.options);
      return;
    case OP.end:
      writeHeadOf(writer, 5, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.target);
      return;
    case OP.keepalive:
      writeHeadOf(writer, 4, request.op, request.number, request.mark, request.acknowledged);
      return;
    default:
      writeFields(writer, operationOf(request.op), request);
  }
}

/** What they all begin with. */
function writeHeadOf(
  writer: Writer,
  arity: number,
  op: number,
  number: number,
  mark: number,
  acknowledged: readonly number[],
): void {
  writer.arrayHeader(arity);
  writer.uint(op);
  writer.uint(number);
  writer.uint(mark);
  writeNumbers(writer, acknowledged);
}
