/**
 * Decodes requests strictly: at the gateway from frames, before `apply` from single commands, and
 * at the leader from single operations. All of these read a request with `readRequest`, so that the
 * table can never receive a command that a gateway would have refused, and a request that a gateway
 * accepted encodes to exactly the same bytes again.
 *
 * Nearly all requests are acquires, ends and keepalives. These are read by hand, which is faster,
 * exactly as `schema.ts` declares them; the others are read by the schema.
 */
import { forEachRecord } from "../batch.js";
import {
  type Command,
  isAttachCommand,
  type KeepaliveCommand,
  OP,
  type RecallCommand,
  WAIT_FOREVER,
} from "../commands.js";
import { CLIENT_FRAME_REQUESTS_MAX, SEQUENCE_MAX, WAIT_MS_MAX } from "../limits.js";
import { ProtocolError } from "../protocol-error.js";
import { type ClientRequest, isCommand, isOperation, type Operation } from "../questions.js";
import { type Origin, readOrigin } from "./origin.js";
import { RequestReader } from "./request-reader.js";
import { optionsProblem, REQUEST_SCHEMAS } from "./schema.js";
import { readFields, schemaOf } from "./schema-codec.js";

/**
 * The number of values of each request, by the number of its operation; 0 if there is no such
 * operation.
 */
const ARITY_BY_OP = new Uint8Array(Math.max(...Object.values(OP)) + 1);
for (const { op, arity } of REQUEST_SCHEMAS) ARITY_BY_OP[op] = arity;

/** Receives the requests of `decodeFrame`, in the frame's order. */
export interface RequestSink {
  /** An allowed request, whose bytes are `[start, end)` of the frame. */
  request(request: ClientRequest, start: number, end: number): void;
  /**
   * A well-formed request with a value that is not allowed, which must be answered with
   * `INVALID_ARGUMENT`. Never a keepalive or a recall, whose answers have no room for an error:
   * those break the protocol.
   * @param id the attempt of an open or resume, the sequence of a command, the id of the rest
   * @param reason short ASCII, without the refused text
   */
  invalid(op: number, id: number, reason: string): void;
}

/**
 * Reads a client's frame: an array, with a header of any width, of requests in canonical form.
 * Requests before the place where the frame is wrong have already been passed to `sink`.
 * @throws {ProtocolError} when a correct client would not send the frame
 */
export function decodeFrame(frame: Uint8Array, sink: RequestSink): void {
  const reader = new RequestReader(frame);
  const count = reader.frameHeader();
  if (count > CLIENT_FRAME_REQUESTS_MAX) reader.fail(`${count} requests in a frame`, 0);
  for (let i = 0; i < count; i++) {
    const start = reader.at;
    const request = readRequest(reader);
    if (reader.problem === undefined) {
      sink.request(request, start, reader.at);
      continue;
    }
    if (request.op === OP.keepalive || request.op === OP.recall) {
      throw new ProtocolError(reader.problem, start);
    }
    const reason = reader.problem;
    reader.problem = undefined;
    sink.invalid(request.op, idOf(request), reason);
  }
  if (!reader.isAtEnd) reader.fail("bytes after the last request");
}

/**
 * Reads one operation that another node forwarded and that fills `bytes`. Returns `undefined` for
 * bytes that `decodeFrame` would not pass to `RequestSink.request` as an operation. Never throws,
 * whatever the bytes.
 */
export function decodeOperation(bytes: Uint8Array): Operation | undefined {
  const reader = new RequestReader(bytes);
  const request = readFrom(reader, 0);
  const isOne = request !== undefined && reader.at === bytes.length;
  return isOne && isOperation(request) ? request : undefined;
}

/**
 * A command with the session and epoch of its record. `undefined` stands for bytes that no node
 * could decode.
 */
export interface RecordedCommand {
  readonly session: number;
  readonly epoch: number;
  readonly command: Command | undefined;
  /** Where the client of a command that attaches is. */
  readonly origin: Origin | undefined;
}

/**
 * Decodes every record from `offset` to the end of `bytes`; a command that attaches with its origin.
 * A record of bytes that `decodeFrame` would not pass to `RequestSink.request` as a command has none.
 * Never throws, whatever the commands are.
 */
export function decodeCommands(bytes: Uint8Array, offset: number): RecordedCommand[] {
  const reader = new RequestReader(bytes);
  const commands: RecordedCommand[] = [];
  forEachRecord(bytes, offset, (session, epoch, start, end) => {
    commands.push(readRecorded(reader, session, epoch, start, end));
  });
  return commands;
}

function readRecorded(
  reader: RequestReader,
  session: number,
  epoch: number,
  start: number,
  end: number,
): RecordedCommand {
  const request = readFrom(reader, start);
  if (request !== undefined && isAttachCommand(request)) {
    const origin = originAt(reader, end);
    return { session, epoch, command: origin === undefined ? undefined : request, origin };
  }
  const isOne = request !== undefined && isCommand(request) && reader.at === end;
  const command = isOne ? request : undefined;
  return { session, epoch, command, origin: undefined };
}

/** The origin from here to `end`. */
function originAt(reader: RequestReader, end: number): Origin | undefined {
  try {
    const origin = readOrigin(reader);
    return reader.at === end ? origin : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** The allowed request that begins at `start`; the reader is at its end then. */
function readFrom(reader: RequestReader, start: number): ClientRequest | undefined {
  reader.at = start;
  reader.problem = undefined;
  try {
    const request = readRequest(reader);
    return reader.problem === undefined ? request : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** The number that the refusal of a request repeats. */
function idOf(request: Exclude<ClientRequest, KeepaliveCommand | RecallCommand>): number {
  if ("attempt" in request) return request.attempt;
  return "sequence" in request && !("id" in request) ? request.sequence : request.id;
}

/**
 * Reads one request of any kind. A value of the wrong form throws `ProtocolError`, and so does an
 * unknown operation. A value that is not allowed is recorded in `reader.problem`; of the request
 * that is then returned, only `op` and the number are meaningful.
 */
export function readRequest(reader: RequestReader): ClientRequest {
  const op = readOp(reader);
  switch (op) {
    case OP.keepalive:
      return readKeepalive(reader);
    case OP.acquire:
    case OP.end:
      return readSequenced(reader, op);
    default:
      return readFields(reader, schemaOf(op));
  }
}

/**
 * Reads the header of a request and its operation, which must be known and have the right number of
 * values.
 */
export function readOp(reader: RequestReader): number {
  const start = reader.at;
  const arity = reader.arrayHeader();
  if (arity === 0) reader.fail("an empty request", start);
  const op = reader.uint();
  const expected = op < ARITY_BY_OP.length ? (ARITY_BY_OP[op] as number) : 0;
  if (expected === 0) reader.fail(`unknown operation ${op}`, start);
  if (arity !== expected) reader.fail(`operation ${op} with ${arity} values`, start);
  return op;
}

// Every literal below names its fields in one order, so that all requests of one operation have the
// same shape.

function readSequenced(reader: RequestReader, op: number): ClientRequest {
  const sequence = reader.uintWithin(1, SEQUENCE_MAX, "sequence");
  const mark = reader.uint();
  if (mark > sequence) reader.refuse(`mark ${mark} above sequence ${sequence}`);
  const acknowledged = reader.acknowledged();
  if (op === OP.end) {
    const target = reader.uint();
    if (target === 0 || target >= sequence) reader.refuse(`target ${target} not below sequence`);
    return { op: OP.end, sequence, mark, acknowledged, target };
  }
  const task = reader.uint();
  const items = reader.items();
  const waitMs = reader.takeNil() ? WAIT_FOREVER : reader.uintWithin(0, WAIT_MS_MAX, "waitMs");
  const options = reader.options();
  const problem = optionsProblem(options, items);
  if (problem !== undefined) reader.refuse(problem);
  return { op: OP.acquire, sequence, mark, acknowledged, task, items, waitMs, options };
}

function readKeepalive(reader: RequestReader): ClientRequest {
  const number = reader.uint();
  const mark = reader.uint();
  const acknowledged = reader.acknowledged();
  return { op: OP.keepalive, number, mark, acknowledged };
}
