/**
 * Reads one request, value by value, whatever it is: the one place that knows what stands where in
 * each operation. What breaks the form throws `ProtocolError`; a value that is not allowed is noted
 * in `reader.problem`, and what is returned then is of no use but for its `op` and number.
 *
 * Operations 1 – 63 are commands, 64 – 69 reads, those from 70 on for operators; an unknown one
 * breaks the protocol.
 */
import { assert } from "../assert.js";
import { MEMBER_ACTION, type MemberAction, OP, type Request, WAIT_FOREVER } from "./commands.js";
import {
  ADDRESS_BYTES_MAX,
  ATTEMPT_MAX,
  KEY_BYTES_MAX,
  METADATA_BYTES_MAX,
  NODE_ID_MAX,
  QUERY_PAGE_MAX,
  RECALL_MAX,
  SESSION_NAME_BYTES_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_MS_MAX,
} from "./limits.js";
import type { RequestReader } from "./request-reader.js";
import {
  isValidAddress,
  isValidMetadata,
  isValidPrefix,
  isValidSessionName,
} from "./text-rules.js";

/** By their numbers on the wire. */
const MEMBER_ACTIONS = Object.keys(MEMBER_ACTION) as readonly MemberAction[];

export function readRequest(reader: RequestReader): Request {
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
    case OP.members:
      return { op: OP.members, id: reader.uint() };
    case OP.changeMember:
      return readChangeMember(reader);
    case OP.transfer:
      return readTransfer(reader);
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
    case OP.changeMember:
      return 5;
    case OP.resume:
    case OP.keepalive:
    case OP.close:
      return 4;
    case OP.inspect:
    case OP.transfer:
      return 3;
    case OP.members:
      return 2;
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

function readChangeMember(reader: RequestReader): Request {
  const id = reader.uint();
  const number = reader.uintWithin(0, MEMBER_ACTIONS.length - 1, "action");
  const action = MEMBER_ACTIONS[number] ?? "remove";
  const node = reader.uintWithin(1, NODE_ID_MAX, "node");
  const address = reader.takeNil()
    ? undefined
    : reader.textUnder(ADDRESS_BYTES_MAX, isValidAddress, "address");
  if (action === "add" && address === undefined) reader.refuse("add without an address");
  if (action !== "add" && address !== undefined) reader.refuse(`${action} with an address`);
  return { op: OP.changeMember, id, action, node, address };
}

function readTransfer(reader: RequestReader): Request {
  const id = reader.uint();
  return { op: OP.transfer, id, node: reader.uintWithin(0, NODE_ID_MAX, "node") };
}
