/** Stored results that no table stores: refused before anything is made of them. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { FieldReader } from "../../../src/lockfsm/snapshot/field-reader.js";
import {
  BLOCKERS_MAX,
  CYCLE_MEMBERS_MAX,
  ITEMS_MAX,
  LEASE_SETTING_MS_MAX,
  LIMIT_MAX,
  PERMITS_MAX,
  type Result,
  resultCodec,
  STATUS,
  Writer,
} from "../../../src/protocol/index.js";

const moment = { stamp: 100, nextToken: 50, nextNumber: 9, nextIdentity: 9, nextCredential: 9 };

function read(result: Result): Result {
  const writer = new Writer();
  resultCodec.write(writer, result);
  return resultCodec.read(new FieldReader(writer.take(), moment));
}

const times = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);

const leased = (tokens: number, slots: readonly (readonly number[])[]): Result => ({
  ...{ status: STATUS.leased, tokens: times(tokens, 1), endsAt: 0, slots },
});
const extended = (count: number): Result => ({
  status: STATUS.extended,
  leases: times(count, { token: 49, endsAt: 0 }),
});
const givenBack = (count: number, waits: number): Result => ({
  ...{ status: STATUS.givenBack, count, waits, reason: 0 },
});
const one = {
  ...({ sessionName: "", key: "k", mode: "shared", token: 0, identity: "" } as const),
  ...{ session: 0, holder: null },
};
const held = (count: number, of: object = {}): Result => ({
  ...{ status: ERROR_NUMBERS.LOCK_HELD, blockedBy: 0 },
  blockers: times(count, { ...one, ...of }),
});
const member = { session: 1, sessionName: "", task: 1, key: "k", mode: "shared" } as const;
const deadlock = (count: number, of: object = {}): Result => ({
  status: ERROR_NUMBERS.DEADLOCK,
  cycle: times(count, { ...member, identity: "ops", ...of }),
});
const limited = (status: "LIMIT_MISMATCH" | "INVALID_ARGUMENT", limit: number): Result => ({
  status: ERROR_NUMBERS[status],
  limit,
});

/** What is just allowed, what is not any more, and how it is refused. */
const EDGES: readonly (readonly [string, Result, Result, RegExp])[] = [
  ["tokens", leased(ITEMS_MAX, []), leased(ITEMS_MAX + 1, []), /17 items, at most 16/],
  [
    "items with slots",
    ...([leased(1, times(ITEMS_MAX, [])), leased(1, times(ITEMS_MAX + 1, []))] as const),
    /17 items, at most 16/,
  ],
  [
    "slots of an item",
    leased(1, [times(PERMITS_MAX, 0)]),
    leased(1, [times(PERMITS_MAX + 1, 0)]),
    /1025 items, at most 1024/,
  ],
  ["a slot", leased(1, [[LIMIT_MAX - 1]]), leased(1, [[LIMIT_MAX]]), /1000000 is not in 0/],
  ["extended leases", extended(ITEMS_MAX), extended(ITEMS_MAX + 1), /17 items, at most 16/],
  [
    "tokens of an act",
    { status: STATUS.acted, tokens: Array<number>(ITEMS_MAX).fill(0) },
    { status: STATUS.acted, tokens: Array<number>(ITEMS_MAX + 1).fill(0) },
    /17 items, at most 16/,
  ],
  ["ended holds", givenBack(ITEMS_MAX, 0), givenBack(ITEMS_MAX + 1, 0), /count 17 is not in 0/],
  ["ended waits", givenBack(0, ITEMS_MAX), givenBack(0, ITEMS_MAX + 1), /waits 17 is not in 0/],
  ["blockers", held(BLOCKERS_MAX), held(BLOCKERS_MAX + 1), /5 items, at most 4/],
  ["the token of one", held(1, { token: 49 }), held(1, { token: 50 }), /token 50 is not in 0/],
  [
    "the key of one",
    held(1, { key: "k".repeat(512) }),
    held(1, { key: "k".repeat(513) }),
    /key is longer|512/,
  ],
  [
    "the session of one",
    held(1, { sessionName: "n".repeat(256) }),
    held(1, { sessionName: "n".repeat(257) }),
    /256/,
  ],
  [
    "the identity of one",
    held(1, { identity: "i".repeat(128) }),
    held(1, { identity: "no name" }),
    /identity/,
  ],
  [
    "members of a cycle",
    deadlock(CYCLE_MEMBERS_MAX),
    deadlock(CYCLE_MEMBERS_MAX + 1),
    /65 items, at most 64/,
  ],
  ["the key of a member", deadlock(1), deadlock(1, { key: "" }), /key is empty/],
  [
    "the limit of a key",
    limited("LIMIT_MISMATCH", LIMIT_MAX),
    limited("LIMIT_MISMATCH", LIMIT_MAX + 1),
    /limit 1000001 is not in 1/,
  ],
  [
    "the longest lease",
    limited("INVALID_ARGUMENT", LEASE_SETTING_MS_MAX),
    limited("INVALID_ARGUMENT", LEASE_SETTING_MS_MAX + 1),
    /limit 604800001 is not in 0/,
  ],
];

describe("a stored result is read within the bounds of the protocol", () => {
  test.each(EDGES)("%s", (_, allowed, tooMuch, reason) => {
    expect(read(allowed)).toEqual(allowed);
    expect(() => read(tooMuch)).toThrowError(reason);
  });
});
