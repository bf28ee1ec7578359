/**
 * Encodes requests in the one canonical form that `decode-request.ts` accepts. These bytes are the
 * bytes in the log: they are never encoded again on their way. As in `decode-request.ts`, the most
 * frequent requests are written by hand and the others by the schema.
 */
import { OP } from "../commands.js";
import type { ClientRequest } from "../questions.js";
import { writeItems, writeNumbers, writeOptions, writeWait } from "./request-writer.js";
import { schemaOf, writeFields } from "./schema-codec.js";
import type { Writer } from "./writer.js";

/**
 * Appends one request to a frame. Values must be within their limits: unsigned integers, texts
 * without lone surrogates, nonces of 32 digits.
 *
 * @throws {InvariantError} for other values
 */
export function writeRequest(writer: Writer, request: ClientRequest): void {
  switch (request.op) {
    case OP.acquire:
      writeHeadOf(writer, 8, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.task);
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
      writeFields(writer, schemaOf(request.op), request);
  }
}

/** Writes the values with which these requests begin. */
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
