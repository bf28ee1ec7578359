/** Random messages of a node: every kind, every result, numbers at the edge of every width. */
import fc from "fast-check";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import {
  CLAIM_MODES,
  END_REASON,
  HOLDERS,
  MESSAGE,
  PROTOCOL_VERSION,
  RECALL_STATE,
  type Result,
  type ServerMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { anyKey, anyName, anyNumber } from "../protocol/arbitraries.js";

const number = anyNumber();
const reason = fc.constantFrom(...Object.values(END_REASON));
const mode = fc.constantFrom(...CLAIM_MODES);
const { LOCK_HELD, DEADLOCK, LIMIT_MISMATCH, NOT_HELD, OUTDATED_ORDER } = ERROR_NUMBERS;
const error = fc.constantFrom(...Object.values(ERROR_NUMBERS));
const numbers = (maxLength: number) => fc.array(number, { maxLength });
const identity = fc.constantFrom("", "anonymous", "billing@site-1/a:b");
const holder = fc.constantFrom(...HOLDERS, null);
const blocker = fc.record({
  ...{ sessionName: anyName, key: anyKey, mode, token: number, identity, session: number, holder },
});
const cycleMember = fc.record({
  ...{ session: number, sessionName: anyName, task: number, key: anyKey, mode, identity },
});
const heldItem = fc.record({ key: anyKey, mode, permits: number, slots: numbers(20) });

const result: fc.Arbitrary<Result> = fc.oneof(
  fc.constantFrom(STATUS.ok, STATUS.queued, STATUS.released).map((status) => ({ status })),
  error.map((status) => ({ status })),
  fc.record({ status: fc.constant(STATUS.granted), token: number }),
  fc.record({
    status: fc.constant(STATUS.granted),
    token: number,
    slots: fc.array(numbers(20), { minLength: 1, maxLength: 16 }),
  }),
  fc.record({ status: fc.constant(STATUS.upgraded), token: number }),
  fc.record({
    status: fc.constant(STATUS.adopted),
    token: number,
    items: fc.array(heldItem, { maxLength: 16 }),
    value: fc.string({ unit: "binary", maxLength: 40 }),
    grantedAt: number,
    endsAt: number,
  }),
  fc.record({
    ...{ status: fc.constant(STATUS.revoked), count: number, remaining: number, opened: number },
    ...{ endsInMs: number, leasesLeft: number },
  }),
  fc.record({ status: fc.constant(STATUS.notReleased), reason }),
  fc.record({
    status: fc.constant(LOCK_HELD),
    blockedBy: fc.constantFrom(0, 1, 2),
    blockers: fc.array(blocker, { maxLength: 4 }),
  }),
  fc.record({
    status: fc.constant(DEADLOCK),
    cycle: fc.array(cycleMember, { maxLength: 20 }),
  }),
  fc.record({
    status: fc.constant(STATUS.leased),
    tokens: fc.array(number, { minLength: 1, maxLength: 16 }),
    endsAt: number,
    slots: fc.array(numbers(20), { maxLength: 16 }),
  }),
  fc.record({
    status: fc.constant(STATUS.extended),
    leases: fc.array(fc.record({ token: number, endsAt: number }), { maxLength: 16 }),
  }),
  fc.record({ status: fc.constant(STATUS.givenBack), count: number, waits: number, reason }),
  fc.record({ status: fc.constant(STATUS.acted), tokens: fc.array(number, { maxLength: 4 }) }),
  fc.record({ status: fc.constant(LOCK_HELD), isSameOwner: fc.constant(true as const) }),
  fc.record({ status: fc.constant(NOT_HELD), reason }),
  fc.record({ status: fc.constant(LIMIT_MISMATCH), limit: number }),
  fc.record({ status: fc.constant(OUTDATED_ORDER), orderCount: number }),
);

const endpoints = fc.array(fc.record({ id: number, endpoint: anyName }), { maxLength: 5 });

const recalledSequence = fc.oneof(
  fc.record({
    sequence: number,
    state: fc.constantFrom(RECALL_STATE.unseen, RECALL_STATE.waiting, RECALL_STATE.forgotten),
  }),
  fc.record({
    sequence: number,
    state: fc.constant(RECALL_STATE.held),
    token: number,
    items: fc.array(heldItem, { maxLength: 16 }),
    value: fc.string({ unit: "binary", maxLength: 40 }),
    grantedAt: number,
    endsAt: number,
    isRevoked: fc.boolean(),
    isContended: fc.boolean(),
  }),
  fc.record({ sequence: number, state: fc.constant(RECALL_STATE.ended), token: number, reason }),
  fc.record({ sequence: number, state: fc.constant(RECALL_STATE.replied), stamp: number, result }),
);

/** Plain data without negative zero, which is not a value of JSON either. */
const payload = fc.jsonValue({ maxDepth: 4 }).filter((value) => !hasNegativeZero(value));

function hasNegativeZero(value: unknown): boolean {
  if (typeof value === "object" && value !== null)
    return Object.values(value).some(hasNegativeZero);
  return Object.is(value, -0);
}

/** The failure of a request, or of a watch. */
const failure = {
  id: number,
  status: error,
  payload: fc.constantFrom(null, { indeterminate: false }),
};

export const anyMessage: fc.Arbitrary<ServerMessage> = fc.oneof(
  fc.record({
    kind: fc.constant(MESSAGE.hello),
    version: fc.constant(PROTOCOL_VERSION),
    clusterId: anyName,
    nodeId: number,
    leaderId: number,
    endpoints,
    frameBytesMax: number,
    voters: fc.array(number, { maxLength: 7 }),
  }),
  fc.record({
    kind: fc.constant(MESSAGE.attached),
    key: fc.constant(""),
    attempt: number,
    status: fc.constant(STATUS.ok),
    session: number,
    epoch: number,
    highestSequence: number,
    stamp: number,
    ttlMs: number,
    index: number,
  }),
  fc.record({ status: error, attempt: number }).map(
    (refusal): ServerMessage => ({
      ...{ kind: MESSAGE.attached, key: "", session: 0, epoch: 0, highestSequence: 0 },
      ...{ stamp: 0, ttlMs: 0, index: 0, ...refusal },
    }),
  ),
  fc.record({ kind: fc.constant(MESSAGE.reply), sequence: number, stamp: number, result }),
  fc.record({ kind: fc.constant(MESSAGE.outcome), sequence: number, stamp: number, result }),
  fc.record({ kind: fc.constant(MESSAGE.renewed), number, stamp: number }),
  fc.record({
    kind: fc.constant(MESSAGE.recalled),
    number,
    stamp: number,
    sequences: fc.array(recalledSequence, { maxLength: 10 }),
  }),
  fc.record({ kind: fc.constant(MESSAGE.ended), session: number, reason }),
  fc.record({ kind: fc.constant(MESSAGE.refused), sequence: number, status: error }),
  fc.record({
    kind: fc.constantFrom(MESSAGE.answer, MESSAGE.changes),
    id: number,
    status: fc.constant(STATUS.ok),
    payload,
  }),
  fc.record({ kind: fc.constant(MESSAGE.answer), ...failure }),
  fc.record({ kind: fc.constant(MESSAGE.changes), ...failure }),
  fc.record({ kind: fc.constant(MESSAGE.leader), leaderId: number, endpoints }),
  fc.constant({ kind: MESSAGE.move }),
  fc.record({ kind: fc.constant(MESSAGE.contended), sequence: number }),
  fc.record({
    kind: fc.constant(MESSAGE.revoking),
    sequence: number,
    stamp: number,
    endsAt: number,
    reason: anyName,
  }),
  fc.record({
    kind: fc.constant(MESSAGE.lost),
    sequence: number,
    token: number,
    stamp: number,
    reason,
  }),
);
