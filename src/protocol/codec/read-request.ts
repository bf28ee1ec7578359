/**
 * Reads one request, value by value, whatever it is: the one place that knows what stands where in
 * each operation. What breaks the form throws `ProtocolError`; a value that is not allowed is noted
 * in `reader.problem`, and what is returned then is of no use but for its `op` and number.
 *
 * An unknown operation breaks the protocol. Reads and operators' requests are read in
 * `read-question.ts`.
 */
import { assert } from "../../assert.js";
import { type AcquireOptions, type Item, isCommandOp, OP, WAIT_FOREVER } from "../commands.js";
import {
  ATTEMPT_MAX,
  GENERATION_MAX,
  GRACE_MS_MAX,
  LIMIT_MAX,
  METADATA_BYTES_MAX,
  REASON_BYTES_MAX,
  RECALL_MAX,
  SECRET_BYTES,
  SEQUENCE_MAX,
  SESSION_NAME_BYTES_MAX,
  SETTING_NAME_BYTES_MAX,
  TAKER_BYTES,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_MS_MAX,
} from "../limits.js";
import type { Request } from "../questions.js";
import {
  isValidMetadata,
  isValidReason,
  isValidSessionName,
  isValidSettingName,
} from "../text-rules.js";
import { readQuestion } from "./read-question.js";
import type { RequestReader } from "./request-reader.js";

/** How many values each request has, its operation included. */
const ARITY: Readonly<Record<(typeof OP)[keyof typeof OP], number>> = {
  [OP.open]: 6,
  [OP.resume]: 5,
  [OP.keepalive]: 4,
  [OP.acquire]: 8,
  [OP.end]: 5,
  [OP.takeOver]: 6,
  [OP.recall]: 5,
  [OP.close]: 4,
  [OP.downgrade]: 6,
  [OP.upgrade]: 8,
  [OP.update]: 6,
  [OP.revoke]: 9,
  [OP.endSession]: 8,
  [OP.setLimit]: 6,
  [OP.detach]: 7,
  [OP.claim]: 7,
  [OP.changeSetting]: 6,
  [OP.inspect]: 3,
  [OP.query]: 5,
  [OP.explain]: 5,
  [OP.waitGraph]: 3,
  [OP.verify]: 4,
  [OP.settings]: 2,
  [OP.members]: 2,
  [OP.changeMember]: 5,
  [OP.transfer]: 3,
  [OP.saveSnapshot]: 3,
  [OP.readSnapshot]: 4,
  [OP.history]: 4,
  [OP.sessions]: 4,
  [OP.watch]: 6,
  [OP.unwatch]: 3,
};
/** The same by number, 0 where there is no such operation. */
const ARITY_BY_OP = new Uint8Array(Math.max(...Object.values(OP)) + 1);
for (const [op, arity] of Object.entries(ARITY)) ARITY_BY_OP[Number(op)] = arity;

export function readRequest(reader: RequestReader): Request {
  const start = reader.at;
  const arity = reader.arrayHeader();
  if (arity === 0) reader.fail("an empty request", start);
  const op = reader.uint();
  const expected = op < ARITY_BY_OP.length ? (ARITY_BY_OP[op] as number) : 0;
  if (expected === 0) reader.fail(`unknown operation ${op}`, start);
  if (arity !== expected) reader.fail(`operation ${op} with ${arity} values`, start);
  switch (op) {
    case OP.open:
      return readOpen(reader);
    case OP.resume:
      return readResume(reader);
    case OP.takeOver:
      return readTakeOver(reader);
    case OP.keepalive:
      return readKeepalive(reader);
    case OP.recall:
      return readRecall(reader);
    default:
      return isCommandOp(op) ? readSequenced(reader, op) : readQuestion(reader, op);
  }
}

// Every literal below names its fields in one order, so that each operation has one shape.

function readSequenced(reader: RequestReader, op: number): Request {
  const sequence = reader.uintWithin(1, SEQUENCE_MAX, "sequence");
  const mark = reader.uint();
  if (mark > sequence) reader.refuse(`mark ${mark} above sequence ${sequence}`);
  const acknowledged = reader.acknowledged();
  switch (op) {
    case OP.acquire: {
      const owner = reader.uint();
      const items = reader.items();
      const waitMs = readWait(reader);
      const options = reader.options();
      if (options !== undefined) checkOptions(reader, options, items);
      return { op: OP.acquire, sequence, mark, acknowledged, owner, items, waitMs, options };
    }
    case OP.end:
      return { op: OP.end, sequence, mark, acknowledged, target: readTarget(reader, sequence) };
    case OP.close:
      return { op: OP.close, sequence, mark, acknowledged };
    case OP.upgrade: {
      const target = readTarget(reader, sequence);
      const key = reader.key();
      const waitMs = readWait(reader);
      const detect = reader.bool();
      return { op: OP.upgrade, sequence, mark, acknowledged, target, key, waitMs, detect };
    }
    case OP.downgrade: {
      const target = readTarget(reader, sequence);
      const key = reader.takeNil() ? undefined : reader.key();
      return { op: OP.downgrade, sequence, mark, acknowledged, target, key };
    }
    case OP.update: {
      const target = readTarget(reader, sequence);
      return { op: OP.update, sequence, mark, acknowledged, target, value: reader.value() };
    }
    default:
      return readRare(reader, op, { sequence, mark, acknowledged });
  }
}

/** What operators say, and hand-overs. */
function readRare(
  reader: RequestReader,
  op: number,
  head: { sequence: number; mark: number; acknowledged: readonly number[] },
): Request {
  switch (op) {
    case OP.revoke: {
      const key = reader.takeNil() ? undefined : reader.key();
      const token = reader.uint();
      if (key === undefined && token === 0) reader.refuse("neither a key nor a token");
      return { op: OP.revoke, ...head, key, token, ...readForce(reader) };
    }
    case OP.endSession: {
      const session = reader.uint();
      if (session === 0) reader.refuse("session 0");
      return { op: OP.endSession, ...head, session, ...readForce(reader) };
    }
    case OP.setLimit: {
      const key = reader.key();
      const limit = reader.optionalUintWithin(1, LIMIT_MAX, "limit");
      return { op: OP.setLimit, ...head, key, limit };
    }
    case OP.detach: {
      const target = readTarget(reader, head.sequence);
      const secret = reader.digits(SECRET_BYTES, "secret");
      const ticketTtlMs = reader.uintWithin(TTL_MS_MIN, TTL_MS_MAX, "ticketTtlMs");
      return { op: OP.detach, ...head, target, secret, ticketTtlMs };
    }
    case OP.claim: {
      const token = reader.uint();
      const secret = reader.digits(SECRET_BYTES, "secret");
      return { op: OP.claim, ...head, token, secret, owner: reader.uint() };
    }
    default: {
      assert(op === OP.changeSetting, () => `operation ${op} has an arity and no reading`);
      const name = reader.textUnder(SETTING_NAME_BYTES_MAX, isValidSettingName, "name");
      const value = reader.takeNil() ? undefined : reader.uint();
      return { op: OP.changeSetting, ...head, name, value };
    }
  }
}

/** An earlier command of the session. */
function readTarget(reader: RequestReader, sequence: number): number {
  const target = reader.uint();
  if (target === 0 || target >= sequence) reader.refuse(`target ${target} not below sequence`);
  return target;
}

function readForce(reader: RequestReader): { graceMs: number; now: boolean; reason: string } {
  const graceMs = reader.uintWithin(0, GRACE_MS_MAX, "graceMs");
  const now = reader.bool();
  const reason = reader.textUnder(REASON_BYTES_MAX, isValidReason, "reason");
  return { graceMs, now, reason };
}

function readWait(reader: RequestReader): number {
  return reader.takeNil() ? WAIT_FOREVER : reader.uintWithin(0, WAIT_MS_MAX, "waitMs");
}

/** What is wrong only together. */
function checkOptions(
  reader: RequestReader,
  options: AcquireOptions,
  items: readonly Item[],
): void {
  const { steal, maxHoldMs, minHoldMs } = options;
  if (steal && items.some(({ mode }) => mode !== "exclusive")) {
    reader.refuse("only exclusive items can be stolen");
  }
  if (maxHoldMs > 0 && minHoldMs > maxHoldMs) reader.refuse("minHoldMs above maxHoldMs");
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
  const generation = reader.uintWithin(0, GENERATION_MAX, "generation");
  const attempt = reader.uintWithin(1, ATTEMPT_MAX, "attempt");
  return { op: OP.resume, session, nonce, generation, attempt };
}

function readTakeOver(reader: RequestReader): Request {
  const session = reader.uint();
  if (session === 0) reader.refuse("session 0");
  const nonce = reader.nonce();
  const generation = reader.uintWithin(0, GENERATION_MAX - 1, "generation");
  const taker = reader.digits(TAKER_BYTES, "taker");
  const attempt = reader.uintWithin(1, ATTEMPT_MAX, "attempt");
  return { op: OP.takeOver, session, nonce, generation, taker, attempt };
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
  return { op: OP.recall, number, mark, acknowledged, sequences };
}
