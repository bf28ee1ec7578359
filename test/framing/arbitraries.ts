/** Random messages of a node: every kind, every result, numbers at the edge of every width. */
import fc from "fast-check";
import { ERROR_NUMBERS } from "../../src/errors.js";
import {
  type EndReason,
  MESSAGE,
  RECALL_STATE,
  type Result,
  type ServerMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { anyKey, anyName, anyNumber } from "../protocol/arbitraries.js";

const number = anyNumber();
const reason = fc.constantFrom<EndReason>(0, 1, 2, 3, 4, 5, 6, 7);
const mode = fc.constantFrom("exclusive" as const, "shared" as const);
const { LOCK_HELD, ...OTHER_ERRORS } = ERROR_NUMBERS;
const error = fc.constantFrom(...Object.values(OTHER_ERRORS));
const blocker = fc.record({ sessionName: anyName, key: anyKey, mode, token: number });

const result: fc.Arbitrary<Result> = fc.oneof(
  fc
    .constantFrom(STATUS.ok, STATUS.queued, STATUS.released, LOCK_HELD)
    .map((status) => ({ status })),
  error.map((status) => ({ status })),
  fc.record({ status: fc.constant(STATUS.granted), token: number }),
  fc.record({ status: fc.constant(STATUS.notReleased), reason }),
  fc.record({
    status: fc.constant(LOCK_HELD),
    blockedBy: fc.constantFrom(0, 1, 2),
    blockers: fc.array(blocker, { maxLength: 4 }),
  }),
);

const endpoints = fc.array(fc.record({ id: number, endpoint: anyName }), { maxLength: 5 });

const recalledSequence = fc.oneof(
  fc.record({
    sequence: number,
    state: fc.constantFrom(RECALL_STATE.unseen, RECALL_STATE.queued, RECALL_STATE.dropped),
  }),
  fc.record({ sequence: number, state: fc.constant(RECALL_STATE.done), stamp: number, result }),
);

/** Plain data without negative zero, which is no value of JSON either. */
const payload = fc.jsonValue({ maxDepth: 4 }).filter((value) => !hasNegativeZero(value));

function hasNegativeZero(value: unknown): boolean {
  if (typeof value === "object" && value !== null)
    return Object.values(value).some(hasNegativeZero);
  return Object.is(value, -0);
}

export const anyMessage: fc.Arbitrary<ServerMessage> = fc.oneof(
  fc.record({
    kind: fc.constant(MESSAGE.hello),
    version: number,
    clusterId: anyName,
    nodeId: number,
    leaderId: number,
    endpoints,
    frameBytesMax: number,
  }),
  fc.record({
    kind: fc.constant(MESSAGE.attached),
    nonce: fc.constant(""),
    attempt: number,
    status: fc.constant(STATUS.ok),
    session: number,
    epoch: number,
    highestSequence: number,
    stamp: number,
    ttlMs: number,
  }),
  fc.record({ kind: fc.constant(MESSAGE.reply), sequence: number, stamp: number, result }),
  fc.record({ kind: fc.constant(MESSAGE.outcome), sequence: number, stamp: number, result }),
  fc.record({ kind: fc.constant(MESSAGE.pulse), number, stamp: number }),
  fc.record({
    kind: fc.constant(MESSAGE.recalled),
    number,
    stamp: number,
    sequences: fc.array(recalledSequence, { maxLength: 10 }),
    tokens: fc.array(fc.record({ token: number, held: fc.boolean(), reason }), { maxLength: 10 }),
  }),
  fc.record({ kind: fc.constant(MESSAGE.ended), session: number, reason }),
  fc.record({
    kind: fc.constant(MESSAGE.answer),
    id: number,
    status: fc.constant(STATUS.ok),
    payload,
  }),
  fc.record({
    kind: fc.constant(MESSAGE.answer),
    id: number,
    status: error,
    payload: fc.constantFrom(null, { indeterminate: false }),
  }),
  fc.record({ kind: fc.constant(MESSAGE.leader), leaderId: number, endpoints }),
  fc.constant({ kind: MESSAGE.move }),
);
