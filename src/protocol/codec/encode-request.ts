/**
 * Requests to bytes, in the one canonical form that `decode-request.ts` accepts. The bytes made
 * here are the bytes in the log: they are never packed again on their way. Where a value stands in
 * its request is decided here and in `write-question.ts`; `read-request.ts` must agree.
 */
import { unreachable } from "../../assert.js";
import {
  type AcquireCommand,
  type AttachCommand,
  type CloseCommand,
  type Command,
  type EndCommand,
  type EndSessionCommand,
  OP,
  type RevokeCommand,
  type SequencedCommand,
} from "../commands.js";
import { NONCE_BYTES, SECRET_BYTES, TAKER_BYTES } from "../limits.js";
import { isCommand, type Request } from "../questions.js";
import {
  writeDigits,
  writeHead,
  writeHeadOf,
  writeItems,
  writeNumbers,
  writeOptionalNumber,
  writeOptionalText,
  writeOptions,
  writeWait,
} from "./request-parts.js";
import { writeQuestion } from "./write-question.js";
import { Writer } from "./writer.js";

type HoldingCommand = Exclude<SequencedCommand, AcquireCommand | EndCommand | CloseCommand>;

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
    case OP.recall:
      writeHeadOf(writer, 5, request.op, request.number, request.mark, request.acknowledged);
      writeNumbers(writer, request.sequences);
      return;
    case OP.close:
      writeHeadOf(writer, 4, request.op, request.sequence, request.mark, request.acknowledged);
      return;
    case OP.open:
    case OP.resume:
    case OP.takeOver:
      writeAttach(writer, request);
      return;
    default:
      if (isCommand(request)) writeHolding(writer, request);
      else writeQuestion(writer, request);
  }
}

function writeAttach(writer: Writer, command: AttachCommand): void {
  const { op, nonce, attempt } = command;
  if (op === OP.open) {
    writeHead(writer, 6, op);
    writeDigits(writer, nonce, NONCE_BYTES);
    writer.uint(attempt);
    writer.uint(command.ttlMs);
    writer.string(command.name);
    writer.string(command.metadata);
    return;
  }
  writeHead(writer, op === OP.resume ? 5 : 6, op);
  writer.uint(command.session);
  writeDigits(writer, nonce, NONCE_BYTES);
  writer.uint(command.generation);
  if (op === OP.takeOver) writeDigits(writer, command.taker, TAKER_BYTES);
  writer.uint(attempt);
}

/** What is done with a hold, and by operators. */
function writeHolding(writer: Writer, command: HoldingCommand): void {
  const { op, sequence, mark, acknowledged } = command;
  switch (op) {
    case OP.downgrade:
      writeHeadOf(writer, 6, op, sequence, mark, acknowledged);
      writer.uint(command.target);
      writeOptionalText(writer, command.key);
      return;
    case OP.upgrade:
      writeHeadOf(writer, 8, op, sequence, mark, acknowledged);
      writer.uint(command.target);
      writer.string(command.key);
      writeWait(writer, command.waitMs);
      writer.bool(command.detect);
      return;
    case OP.update:
      writeHeadOf(writer, 6, op, sequence, mark, acknowledged);
      writer.uint(command.target);
      writer.string(command.value);
      return;
    case OP.revoke:
      writeHeadOf(writer, 9, op, sequence, mark, acknowledged);
      writeOptionalText(writer, command.key);
      writer.uint(command.token);
      writeForce(writer, command);
      return;
    case OP.endSession:
      writeHeadOf(writer, 8, op, sequence, mark, acknowledged);
      writer.uint(command.session);
      writeForce(writer, command);
      return;
    case OP.setLimit:
      writeHeadOf(writer, 6, op, sequence, mark, acknowledged);
      writer.string(command.key);
      writeOptionalNumber(writer, command.limit);
      return;
    case OP.detach:
      writeHeadOf(writer, 7, op, sequence, mark, acknowledged);
      writer.uint(command.target);
      writeDigits(writer, command.secret, SECRET_BYTES);
      writer.uint(command.ticketTtlMs);
      return;
    case OP.claim:
      writeHeadOf(writer, 7, op, sequence, mark, acknowledged);
      writer.uint(command.token);
      writeDigits(writer, command.secret, SECRET_BYTES);
      writer.uint(command.owner);
      return;
    case OP.changeSetting:
      writeHeadOf(writer, 6, op, sequence, mark, acknowledged);
      writer.string(command.name);
      writeOptionalNumber(writer, command.value);
      return;
    default:
      unreachable(command);
  }
}

function writeForce(writer: Writer, force: RevokeCommand | EndSessionCommand): void {
  writer.uint(force.graceMs);
  writer.bool(force.now);
  writer.string(force.reason);
}
