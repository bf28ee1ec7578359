/**
 * Requests to bytes, in the one canonical form that `decode-request.ts` accepts. The bytes made
 * here are the bytes in the log: they are never packed again on their way.
 */
import { assert, unreachable } from "../assert.js";
import {
  type Command,
  type LockItem,
  MEMBER_ACTION,
  OP,
  type Request,
  WAIT_FOREVER,
} from "./commands.js";
import { bytesOfHex } from "./hex.js";
import { NONCE_BYTES } from "./limits.js";
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
    case OP.open:
      head(writer, 6, request.op);
      writeNonce(writer, request.nonce);
      writer.uint(request.attempt);
      writer.uint(request.ttlMs);
      writer.string(request.name);
      writer.string(request.metadata);
      return;
    case OP.resume:
      head(writer, 4, request.op);
      writer.uint(request.session);
      writeNonce(writer, request.nonce);
      writer.uint(request.attempt);
      return;
    case OP.keepalive:
      headOf(writer, 4, request.op, request.number, request.mark, request.acknowledged);
      return;
    case OP.acquire:
      headOf(writer, 8, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.owner);
      writeItems(writer, request.items);
      if (request.waitMs === WAIT_FOREVER) writer.nil();
      else writer.uint(request.waitMs);
      writer.mapHeader(0);
      return;
    case OP.release:
      headOf(writer, 5, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.token);
      return;
    case OP.cancel:
      headOf(writer, 5, request.op, request.sequence, request.mark, request.acknowledged);
      writer.uint(request.target);
      return;
    case OP.recall:
      headOf(writer, 6, request.op, request.number, request.mark, request.acknowledged);
      writeNumbers(writer, request.sequences);
      writeNumbers(writer, request.tokens);
      return;
    case OP.close:
      headOf(writer, 4, request.op, request.sequence, request.mark, request.acknowledged);
      return;
    case OP.inspect:
      head(writer, 3, request.op);
      writer.uint(request.id);
      writer.string(request.key);
      return;
    case OP.query:
      head(writer, 5, request.op);
      writer.uint(request.id);
      writer.string(request.prefix);
      if (request.after === undefined) writer.nil();
      else writer.string(request.after);
      writer.uint(request.limit);
      return;
    case OP.members:
      head(writer, 2, request.op);
      writer.uint(request.id);
      return;
    case OP.changeMember:
      head(writer, 5, request.op);
      writer.uint(request.id);
      writer.uint(MEMBER_ACTION[request.action]);
      writer.uint(request.node);
      if (request.address === undefined) writer.nil();
      else writer.string(request.address);
      return;
    case OP.transfer:
      head(writer, 3, request.op);
      writer.uint(request.id);
      writer.uint(request.node);
      return;
    default:
      unreachable(request);
  }
}

function head(writer: Writer, arity: number, op: number): void {
  writer.arrayHeader(arity);
  writer.uint(op);
}

/** What all commands of a session begin with. */
function headOf(
  writer: Writer,
  arity: number,
  op: number,
  number: number,
  mark: number,
  acknowledged: readonly number[],
): void {
  head(writer, arity, op);
  writer.uint(number);
  writer.uint(mark);
  writeNumbers(writer, acknowledged);
}

function writeNumbers(writer: Writer, numbers: readonly number[]): void {
  writer.arrayHeader(numbers.length);
  for (let i = 0; i < numbers.length; i++) writer.uint(numbers[i] as number);
}

function writeItems(writer: Writer, items: readonly LockItem[]): void {
  writer.arrayHeader(items.length);
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as LockItem;
    writer.arrayHeader(2);
    writer.string(item.key);
    writer.uint(item.mode === "shared" ? 1 : 0);
  }
}

function writeNonce(writer: Writer, nonce: string): void {
  assert(nonce.length === 2 * NONCE_BYTES, () => `a nonce of ${nonce.length} digits`);
  writer.binary(bytesOfHex(nonce));
}
