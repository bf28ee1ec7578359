/**
 * Bytes to requests, strictly: at the gateway from frames, before `apply` from single commands.
 * Both ways share one reading of a request, so that the table can never meet a command that a
 * gateway would have refused, and what a gateway accepted encodes to exactly the same bytes again.
 *
 * Operations 1 – 63 are commands, those from 64 on reads; an unknown one breaks the protocol.
 */
import { assert } from "../assert.js";
import {
  type Command,
  type KeepaliveCommand,
  OP,
  type RecallCommand,
  type Request,
  WAIT_FOREVER,
} from "./commands.js";
import {
  ATTEMPT_MAX,
  CLIENT_FRAME_REQUESTS_MAX,
  KEY_BYTES_MAX,
  METADATA_BYTES_MAX,
  QUERY_PAGE_MAX,
  RECALL_MAX,
  SESSION_NAME_BYTES_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_MS_MAX,
} from "./limits.js";
import { ProtocolError } from "./protocol-error.js";
import { RequestReader } from "./request-reader.js";
import { isValidMetadata, isValidPrefix, isValidSessionName } from "./text-rules.js";

/** Where `decodeFrame` puts what it read, in the frame's order. */
export interface RequestSink {
  /** An allowed request, which lies in `[start, end)` of the frame. */
  request(request: Request, start: number, end: number): void;
  /**
   * A well-formed request with a value that is not allowed; to be answered `INVALID_ARGUMENT`.
   * Never a keepalive or a recall, whose answers have no room for an error: those break the
   * protocol.
   * @param id the attempt of an open or resume, the sequence of a command, the id of a read
   * @param reason short ASCII, without the refused text
   */
  invalid(op: number, id: number, reason: string): void;
}

/**
 * Reads a client's frame: an array, of any width of header, of requests in canonical form. What
 * stood before the place where it breaks was handed to `sink` already.
 * @throws {ProtocolError} when the frame is not what a correct client sends
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
  if (!reader.isAtEnd) reader.fail("bytes behind the last request");
}

/**
 * Reads one command that was replicated. `undefined` for anything that `decodeFrame` does not hand
 * to `RequestSink.request` as a command; never throws, whatever the bytes.
 */
export function decodeCommand(bytes: Uint8Array): Command | undefined {
  const reader = new RequestReader(bytes);
  try {
    const request = readRequest(reader);
    const isWhole = reader.problem === undefined && reader.isAtEnd;
    return isWhole && request.op !== OP.inspect && request.op !== OP.query ? request : undefined;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** What the refusal of a request repeats. */
function idOf(request: Exclude<Request, KeepaliveCommand | RecallCommand>): number {
  switch (request.op) {
    case OP.open:
    case OP.resume:
      return request.attempt;
    case OP.inspect:
    case OP.query:
      return request.id;
    default:
      return request.sequence;
  }
}

function readRequest(reader: RequestReader): Request {
  const start = reader.at;
  const arity = reader.arrayHeader();
  if (arity === 0) reader.fail("an empty request", start);
  const op = reader.uint();
  const expected = arityOf(op);
  if (expected === 0) reader.fail(`unknown operation ${op}`, start);
  if (arity !== expected) reader.fail(`operation ${op} with ${arity} values`, start);
  switch (op) {
    case OP.open:
      return readOpen(reader);
    case OP.resume:
      return readResume(reader);
    case OP.keepalive:
      return readKeepalive(reader);
    case OP.recall:
      return readRecall(reader);
    case OP.inspect:
      return readInspect(reader);
    case OP.query:
      return readQuery(reader);
    default:
      return readSequenced(reader, op);
  }
}

/** How many values a request has, its operation included; 0 when there is no such operation. */
function arityOf(op: number): number {
  switch (op) {
    case OP.acquire:
      return 8;
    case OP.open:
    case OP.recall:
      return 6;
    case OP.release:
    case OP.cancel:
    case OP.query:
      return 5;
    case OP.resume:
    case OP.keepalive:
    case OP.close:
      return 4;
    case OP.inspect:
      return 3;
    default:
      return 0;
  }
}

// Every literal below names its fields in one order, so that each operation has one shape.

function readSequenced(reader: RequestReader, op: number): Request {
  const sequence = reader.uint();
  if (sequence === 0) reader.refuse("sequence 0");
  const mark = reader.uint();
  if (mark > sequence) reader.refuse(`mark ${mark} above sequence ${sequence}`);
  const acknowledged = reader.acknowledged();
  switch (op) {
    case OP.acquire: {
      const owner = reader.uint();
      const items = reader.items();
      const waitMs = reader.takeNil() ? WAIT_FOREVER : reader.uintWithin(0, WAIT_MS_MAX, "waitMs");
      reader.options();
      return { op: OP.acquire, sequence, mark, acknowledged, owner, items, waitMs };
    }
    case OP.release:
      return { op: OP.release, sequence, mark, acknowledged, token: reader.uint() };
    case OP.cancel: {
      const target = reader.uint();
      if (target === 0 || target >= sequence) reader.refuse(`target ${target} not below sequence`);
      return { op: OP.cancel, sequence, mark, acknowledged, target };
    }
    default:
      assert(op === OP.close, () => `operation ${op} has an arity and no reading`);
      return { op: OP.close, sequence, mark, acknowledged };
  }
}

function readOpen(reader: RequestReader): Request {
  const nonce = reader.nonce();
  const attempt = reader.uintWithin(1, ATTEMPT_MAX, "attempt");
  const ttlMs = reader.uintWithin(TTL_MS_MIN, TTL_MS_MAX, "ttlMs");
  const name = reader.textUnder(SESSION_NAME_BYTES_MAX, isValidSessionName, "name");
  const metadata = reader.textUnder(METADATA_BYTES_MAX, isValidMetadata, "metadata");
  return { op: OP.open, nonce, attempt, ttlMs, name, metadata };
}

function readResume(reader: RequestReader): Request {
  const session = reader.uint();
  if (session === 0) reader.refuse("session 0");
  const nonce = reader.nonce();
  const attempt = reader.uintWithin(1, ATTEMPT_MAX, "attempt");
  return { op: OP.resume, session, nonce, attempt };
}

function readKeepalive(reader: RequestReader): Request {
  const number = reader.uint();
  const mark = reader.uint();
  const acknowledged = reader.acknowledged();
  return { op: OP.keepalive, number, mark, acknowledged };
}

function readRecall(reader: RequestReader): Request {
  const number = reader.uint();
  const mark = reader.uint();
  const acknowledged = reader.acknowledged();
  const sequences = reader.numbers(RECALL_MAX, "recalled");
  const tokens = reader.numbers(RECALL_MAX - sequences.length, "recalled");
  return { op: OP.recall, number, mark, acknowledged, sequences, tokens };
}

function readInspect(reader: RequestReader): Request {
  const id = reader.uint();
  const key = reader.key();
  return { op: OP.inspect, id, key };
}

function readQuery(reader: RequestReader): Request {
  const id = reader.uint();
  const prefix = reader.textUnder(KEY_BYTES_MAX, isValidPrefix, "prefix");
  const after = reader.takeNil()
    ? undefined
    : reader.textUnder(KEY_BYTES_MAX, isValidPrefix, "after");
  const limit = reader.uintWithin(1, QUERY_PAGE_MAX, "limit");
  return { op: OP.query, id, prefix, after, limit };
}
