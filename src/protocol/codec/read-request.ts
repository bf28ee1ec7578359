/**
 * Reads one request of any kind. A value of the wrong form throws `ProtocolError`, and so does an
 * unknown operation. A value that is not allowed is recorded in `reader.problem`; of the request
 * that is then returned, only `op` and the number are meaningful.
 *
 * Nearly all requests are acquires, ends and keepalives. These are read by hand, which is faster,
 * exactly as `schema.ts` declares them; the others are read by the schema.
 */
import { OP, WAIT_FOREVER } from "../commands.js";
import { SEQUENCE_MAX, WAIT_MS_MAX } from "../limits.js";
import type { Request } from "../questions.js";
import type { RequestReader } from "./request-reader.js";
import { OPERATIONS, optionsProblem } from "./schema.js";
import { operationOf, readFields } from "./schema-codec.js";

/**
 * The number of values of each request, by the number of its operation; 0 if there is no such
 * operation.
 */
const ARITY_BY_OP = new Uint8Array(Math.max(...Object.values(OP)) + 1);
for (const { op, arity } of OPERATIONS) ARITY_BY_OP[op] = arity;

export function readRequest(reader: RequestReader): Request {
  const op = readOperation(reader);
  switch (op) {
    case OP.keepalive:
      return readKeepalive(reader);
    case OP.acquire:
    case OP.end:
      return readSequenced(reader, op);
    default:
      return readFields(reader, operationOf(op));
  }
}

/**
 * Reads the header of a request and its operation, which must be known and have the right number of
 * values.
 */
export function readOperation(reader: RequestReader): number {
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

function readSequenced(reader: RequestReader, op: number): Request {
  const sequence = reader.uintWithin(1, SEQUENCE_MAX, "sequence");
  const mark = reader.uint();
  if (mark > sequence) reader.refuse(`mark ${mark} above sequence ${sequence}`);
  const acknowledged = reader.acknowledged();
  if (op === OP.end) {
    const target = reader.uint();
    if (target === 0 || target >= sequence) reader.refuse(`target ${target} not below sequence`);
    return { op: OP.end, sequence, mark, acknowledged, target };
  }
  const owner = reader.uint();
  const items = reader.items();
  const waitMs = reader.takeNil() ? WAIT_FOREVER : reader.uintWithin(0, WAIT_MS_MAX, "waitMs");
  const options = reader.options();
  const problem = optionsProblem(options, items);
  if (problem !== undefined) reader.refuse(problem);
  return { op: OP.acquire, sequence, mark, acknowledged, owner, items, waitMs, options };
}

function readKeepalive(reader: RequestReader): Request {
  const number = reader.uint();
  const mark = reader.uint();
  const acknowledged = reader.acknowledged();
  return { op: OP.keepalive, number, mark, acknowledged };
}
