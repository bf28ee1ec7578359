/**
 * Reads what does not enter the log: questions to the node that is asked, and operators' requests
 * to the leader. As in `read-request.ts`, which comes here behind the operation's number, a value
 * that is not allowed is noted in `reader.problem`.
 */
import { assert } from "../../assert.js";
import { OP } from "../commands.js";
import {
  ADDRESS_BYTES_MAX,
  CHECKSUM_BYTES,
  CHUNK_MAX,
  HISTORY_PAGE_MAX,
  KEY_BYTES_MAX,
  NODE_ID_MAX,
  QUERY_PAGE_MAX,
  REVISION_NUMBER_MAX,
  WAIT_GRAPH_EDGES_MAX,
} from "../limits.js";
import { MEMBER_ACTION, type MemberAction, type Request } from "../questions.js";
import { isValidAddress, isValidPrefix, isValidTableKey } from "../text-rules.js";
import type { RequestReader } from "./request-reader.js";

/** By their numbers on the wire. */
const MEMBER_ACTIONS = Object.keys(MEMBER_ACTION) as readonly MemberAction[];

// Every literal below names its fields in one order, so that each operation has one shape.

export function readQuestion(reader: RequestReader, op: number): Request {
  const id = reader.uint();
  switch (op) {
    case OP.inspect:
      return { op: OP.inspect, id, key: reader.key() };
    case OP.query:
      return readQuery(reader, id);
    case OP.explain: {
      const key = reader.key();
      const session = reader.uint();
      const sequence = reader.uint();
      if ((session === 0) !== (sequence === 0))
        reader.refuse("a session and a sequence, or neither");
      return { op: OP.explain, id, key, session, sequence };
    }
    case OP.waitGraph:
      return { op: OP.waitGraph, id, limit: reader.uintWithin(1, WAIT_GRAPH_EDGES_MAX, "limit") };
    case OP.verify: {
      const key = reader.key();
      return { op: OP.verify, id, key, token: reader.uint() };
    }
    case OP.settings:
      return { op: OP.settings, id };
    case OP.history: {
      const key = reader.key();
      return { op: OP.history, id, key, limit: reader.uintWithin(1, HISTORY_PAGE_MAX, "limit") };
    }
    case OP.sessions: {
      const after = reader.uint();
      return { op: OP.sessions, id, after, limit: reader.uintWithin(1, QUERY_PAGE_MAX, "limit") };
    }
    case OP.watch:
      return readWatch(reader, id);
    case OP.unwatch:
      return { op: OP.unwatch, id, watch: reader.uint() };
    case OP.members:
      return { op: OP.members, id };
    case OP.changeMember:
      return readChangeMember(reader, id);
    case OP.saveSnapshot:
      return { op: OP.saveSnapshot, id, isStale: reader.bool() };
    case OP.readSnapshot: {
      const checksum = reader.digits(CHECKSUM_BYTES, "checksum");
      return { op: OP.readSnapshot, id, checksum, chunk: reader.uintWithin(0, CHUNK_MAX, "chunk") };
    }
    default:
      assert(op === OP.transfer, () => `operation ${op} has an arity and no reading`);
      return { op: OP.transfer, id, node: reader.uintWithin(0, NODE_ID_MAX, "node") };
  }
}

function readQuery(reader: RequestReader, id: number): Request {
  const prefix = reader.textUnder(KEY_BYTES_MAX, isValidPrefix, "prefix");
  const after = reader.takeNil()
    ? undefined
    : reader.textUnder(KEY_BYTES_MAX, isValidPrefix, "after");
  const limit = reader.uintWithin(1, QUERY_PAGE_MAX, "limit");
  return { op: OP.query, id, prefix, after, limit };
}

function readWatch(reader: RequestReader, id: number): Request {
  const key = reader.textUnder(KEY_BYTES_MAX, isValidPrefix, "key");
  const isPrefix = reader.bool();
  const reason = isPrefix ? undefined : isValidTableKey(key);
  if (reason !== undefined) reader.refuse(reason);
  const index = reader.uint();
  const number = reader.uintWithin(0, REVISION_NUMBER_MAX, "number");
  if (index === 0 && number > 0) reader.refuse("a number without an index");
  return { op: OP.watch, id, key, isPrefix, after: index === 0 ? undefined : { index, number } };
}

function readChangeMember(reader: RequestReader, id: number): Request {
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
