/**
 * Bad input gets a reply with a code of its own and never causes an exception. Each command is
 * encoded and decoded, as on its way from a client: what the gateway would refuse is refused
 * there.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS, type ErrorCode, errorCodeOf } from "../../../src/errors/index.js";
import type { TableEntry } from "../../../src/lockfsm/index.js";
import type { TableState } from "../../../src/lockfsm/records/state.js";
import { TOKENS_END, TokenCounter } from "../../../src/lockfsm/token-counter.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type Item,
  LEASE_TTL_MS_MAX,
  MESSAGE,
  OP,
  type SequencedCommand,
  STATUS,
  TOKEN_MIN,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { decodeCommand, encodeCommand } from "../../protocol/command-bytes.js";
import { runsOf } from "../../runs.js";
import { arbitraryEntries, entriesFor } from "../plans/arbitrary-commands.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  OWNER,
  permits,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";
import { type Everything, everything, SECRET } from "../plans/everything.js";
import { letEverythingEnd, Recording, type Said } from "../plans/recording.js";
import { copyOf } from "../plans/snapshots.js";

interface Scene {
  readonly log: ClusterLog;
  readonly a: Client;
  readonly b: Client;
  /** What `a` holds: the lock "lock", shared "shared", two of the three permits of "s". */
  readonly lock: Taken;
  readonly share: Taken;
  readonly two: Taken;
  /** It was the lock "left", which a bearer has now. */
  readonly left: Taken;
  /** The hold of `b`; under its number `a` has no hold. */
  readonly foreign: Taken;
}

/** A number of `a` that is executed and brought no hold. */
const NO_HOLD = 5;

function scene(): Scene {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  const lock = a.take(exclusive("lock"), { task: 2 });
  const share = a.take(shared("shared"), { task: 3 });
  const two = a.take(permits("s", 2, 3), { task: 4 });
  const left = a.take(exclusive("left"), { task: 5 });
  a.handOver(left, SECRET);
  a.lease(shared("shared"), { owner: OWNER });
  while (b.sequence < NO_HOLD - 1) b.end(1);
  return { log, a, b, lock, share, two, left, foreign: b.take(exclusive("foreign")) };
}

type Body<C> = C extends unknown ? Omit<C, "sequence" | "mark" | "acknowledged"> : never;

/** What a client gets to hear, from the gateway or the table. */
function codeOf({ log, a }: Scene, body: Body<SequencedCommand>): ErrorCode | undefined {
  a.sequence += 1;
  const whole = { ...body, sequence: a.sequence, mark: 1, acknowledged: [] } as SequencedCommand;
  const command = decodeCommand(encodeCommand(whole));
  if (command === undefined) return "INVALID_ARGUMENT";
  const result = resultOf(log.apply(a.make(command)));
  return result === undefined ? undefined : errorCodeOf(result.status);
}

const acquire = (items: readonly Item[], options: Partial<AcquireTerms> = {}, waitMs = 0) =>
  ({
    op: OP.acquire,
    task: 1,
    items,
    waitMs,
    options: { ...ACQUIRE_DEFAULTS, ...options },
  }) as const;
const of = (hold: Taken | number) => (typeof hold === "number" ? hold : hold.sequence);
const upgrade = (hold: Taken | number, key: string, waitMs = 0) =>
  ({ op: OP.upgrade, target: of(hold), key, waitMs, detect: true }) as const;
const downgrade = (hold: Taken | number, key?: string) =>
  ({ op: OP.downgrade, target: of(hold), key }) as const;
const force = { graceMs: 0, now: true, reason: "" };
const revoke = (of: { key?: string; token?: number; graceMs?: number; reason?: string }) =>
  ({ op: OP.revoke, key: undefined, token: 0, ...force, ...of }) as const;
const endSession = (session: number) => ({ op: OP.endSession, session, ...force }) as const;
const setLimit = (key: string, limit: number | undefined) =>
  ({ op: OP.setLimit, key, limit }) as const;
const handOver = (hold: Taken | number, ttlMs = 5_000, to = SECRET) =>
  ({ op: OP.handOver, target: of(hold), to, isBearer: true, ttlMs }) as const;
const handOn = (hold: Taken, ttlMs = 5_000) =>
  ({ ...handOver(hold, ttlMs, OWNER), isBearer: false }) as const;
const adopt = (key: string, secret = SECRET) => ({ op: OP.adopt, key, secret, task: 1 }) as const;
const changeSetting = (name: string, value: number | undefined) =>
  ({ op: OP.changeSetting, name, value }) as const;

type Case = readonly [what: string, code: ErrorCode, body: (of: Scene) => Body<SequencedCommand>];

const ITEMS: readonly Case[] = [
  ["no items", "INVALID_ARGUMENT", () => acquire([])],
  ["too many items", "INVALID_ARGUMENT", () => acquire(exclusive(..."abcdefghijklmnopq"))],
  ["a key twice", "INVALID_ARGUMENT", () => acquire(exclusive("x", "y", "x"))],
  [
    "a key as two kinds",
    "INVALID_ARGUMENT",
    () => acquire([...shared("x"), ...permits("x", 1, 1)]),
  ],
  ["an empty key", "INVALID_ARGUMENT", () => acquire(exclusive(""))],
  ["a reserved key", "INVALID_ARGUMENT", () => acquire(exclusive("~x"))],
  ["a key of 513 bytes", "INVALID_ARGUMENT", () => acquire(exclusive("k".repeat(513)))],
  ["a key with a control character", "INVALID_ARGUMENT", () => acquire(exclusive("a\nb"))],
  ["permits of a lock", "WRONG_KIND", () => acquire(permits("lock", 1, 1))],
  ["a lock of a semaphore", "WRONG_KIND", () => acquire(shared("s"))],
  ["permits of an unused key without a limit", "INVALID_ARGUMENT", () => acquire(permits("x", 1))],
  ["no permits", "INVALID_ARGUMENT", () => acquire(permits("s", 0))],
  ["too many permits", "INVALID_ARGUMENT", () => acquire(permits("x", 1_025, 2_000))],
  ["a limit of 0", "INVALID_ARGUMENT", () => acquire(permits("x", 1, 0))],
  ["a limit above a million", "INVALID_ARGUMENT", () => acquire(permits("x", 1, 1_000_001))],
  ["permits above the named limit", "INVALID_ARGUMENT", () => acquire(permits("x", 3, 2))],
  ["permits above the limit of the key", "INVALID_ARGUMENT", () => acquire(permits("s", 4))],
  ["another limit than the key's", "LIMIT_MISMATCH", () => acquire(permits("s", 1, 4))],
];

const OPTIONS: readonly Case[] = [
  ["a wait of two months", "INVALID_ARGUMENT", () => acquire(exclusive("x"), {}, 2 ** 32)],
  ["a priority above 60", "INVALID_ARGUMENT", () => acquire(exclusive("x"), { priority: 61 })],
  ["a cap below a second", "INVALID_ARGUMENT", () => acquire(exclusive("x"), { maxHoldMs: 999 })],
  [
    "a cap below minHoldMs",
    "INVALID_ARGUMENT",
    () => acquire(exclusive("x"), { maxHoldMs: 1_000, minHoldMs: 1_001 }),
  ],
  [
    "a lockDelayMs above a minute",
    "INVALID_ARGUMENT",
    () => acquire(exclusive("x"), { lockDelayMs: 60_001 }),
  ],
  [
    "a value too long",
    "INVALID_ARGUMENT",
    () => acquire(exclusive("x"), { value: "v".repeat(1_025) }),
  ],
  ["a steal of a share", "INVALID_ARGUMENT", () => acquire(shared("shared"), { steal: true })],
  ["a steal of permits", "INVALID_ARGUMENT", () => acquire(permits("s", 1), { steal: true })],
  ["a steal of a semaphore's key", "WRONG_KIND", () => acquire(exclusive("s"), { steal: true })],
];

const HOLDING: readonly Case[] = [
  ["an upgrade without a hold", "NOT_HELD", () => upgrade(NO_HOLD, "lock")],
  ["an upgrade of another's hold", "NOT_HELD", ({ foreign }) => upgrade(foreign, "foreign")],
  ["an upgrade in a key of another hold", "NOT_HELD", ({ share }) => upgrade(share, "lock")],
  ["an upgrade in an unused key", "NOT_HELD", ({ share }) => upgrade(share, "x")],
  ["an upgrade of permits", "WRONG_KIND", ({ two }) => upgrade(two, "s")],
  ["an upgrade of what was handed over", "NOT_HELD", ({ left }) => upgrade(left, "left")],
  [
    "a long wait for an upgrade",
    "INVALID_ARGUMENT",
    ({ share }) => upgrade(share, "shared", 2 ** 32),
  ],
  ["a downgrade without a hold", "NOT_HELD", () => downgrade(NO_HOLD)],
  ["a downgrade of another's hold", "NOT_HELD", ({ foreign }) => downgrade(foreign)],
  ["a downgrade in a key of another hold", "NOT_HELD", ({ lock }) => downgrade(lock, "shared")],
  ["a downgrade of permits", "WRONG_KIND", ({ two }) => downgrade(two)],
  ["a downgrade of permits by key", "WRONG_KIND", ({ two }) => downgrade(two, "s")],
  ["an update without a hold", "NOT_HELD", () => ({ op: OP.update, target: NO_HOLD, value: "" })],
  [
    "an update by a value too long",
    "INVALID_ARGUMENT",
    ({ lock }) => ({ op: OP.update, target: lock.sequence, value: "v".repeat(1_025) }),
  ],
  ["a hand-over of no hold", "NOT_HELD", () => handOver(NO_HOLD)],
  ["a hand-over of another's hold", "NOT_HELD", ({ foreign }) => handOver(foreign)],
  ["a hand-over of what was handed over", "NOT_HELD", ({ left }) => handOver(left)],
  ["a hand-over for too short", "INVALID_ARGUMENT", ({ lock }) => handOver(lock, 999)],
  ["a hand-over for too long", "INVALID_ARGUMENT", ({ lock }) => handOver(lock, 600_001)],
  ["a hand-over without an end", "INVALID_ARGUMENT", ({ lock }) => handOver(lock, 0)],
  [
    "a hand-over to an owner for too long",
    "INVALID_ARGUMENT",
    ({ lock }) => handOn(lock, LEASE_TTL_MS_MAX),
  ],
  ["a hand-over to an owner without an end", "INVALID_ARGUMENT", ({ lock }) => handOn(lock, 0)],
  ["a hand-over to an owner that has the key", "LOCK_HELD", ({ share }) => handOn(share)],
  ["an adoption of what a session has", "NOT_HELD", () => adopt("lock")],
  ["an adoption of what an owner has", "NOT_HELD", () => adopt("shared", OWNER)],
  ["an adoption in an unused key", "NOT_HELD", () => adopt("x")],
  ["an adoption with a wrong secret", "NOT_HELD", () => adopt("left", "00".repeat(16))],
  ["an end of nothing", "INVALID_ARGUMENT", () => ({ op: OP.end, target: 0 })],
  ["an end of itself", "INVALID_ARGUMENT", ({ a }) => ({ op: OP.end, target: a.sequence + 1 })],
  ["an end of what comes later", "INVALID_ARGUMENT", () => ({ op: OP.end, target: 999 })],
];

const OPERATING: readonly Case[] = [
  ["a revoke of no hold", "NOT_HELD", () => revoke({ token: TOKEN_MIN + 99 })],
  ["a revoke of nothing", "INVALID_ARGUMENT", () => revoke({})],
  ["a grace above an hour", "INVALID_ARGUMENT", () => revoke({ key: "lock", graceMs: 3_600_001 })],
  ["a reason of two lines", "INVALID_ARGUMENT", () => revoke({ key: "lock", reason: "a\nb" })],
  ["a reason too long", "INVALID_ARGUMENT", () => revoke({ key: "lock", reason: "r".repeat(257) })],
  ["the end of no session", "NOT_HELD", () => endSession(999)],
  ["the end of session 0", "INVALID_ARGUMENT", () => endSession(0)],
  ["a limit of a lock", "WRONG_KIND", () => setLimit("lock", 3)],
  ["a limit of 0 for good", "INVALID_ARGUMENT", () => setLimit("s", 0)],
  ["a limit above a million for good", "INVALID_ARGUMENT", () => setLimit("s", 1_000_001)],
  ["to forget the limit of a lock", "WRONG_KIND", () => setLimit("lock", undefined)],
  ["an unknown setting", "INVALID_ARGUMENT", () => changeSetting("noSuchSetting", 1)],
  ["a setting with a name of digits", "INVALID_ARGUMENT", () => changeSetting("waiters2", 1)],
  ["a setting out of its range", "INVALID_ARGUMENT", () => changeSetting("waitersMax", 0)],
];

describe("is refused with its own code, and changes nothing:", () => {
  test.each([...ITEMS, ...OPTIONS, ...HOLDING, ...OPERATING])("%s is %s", (_, code, body) => {
    const of = scene();
    const before = [of.log.table.counts(), of.log.table.query("", undefined, 99)];
    expect(codeOf(of, body(of))).toBe(code);
    expect([of.log.table.counts(), of.log.table.query("", undefined, 99)]).toEqual(before);
  });
});

test("a limit that differs from the key's is answered with the key's", () => {
  const { log, b } = scene();
  const result = { status: ERROR_NUMBERS.LIMIT_MISMATCH, limit: 3 };
  expect(b.acquire(permits("s", 1, 7))).toEqual(result);
  expect(log.line("s")).toEqual(["a", "|"]);
});

test("what was adopted cannot be adopted again, not even with its secret", () => {
  const there = scene();
  expect(codeOf(there, adopt("left"))).toBeUndefined();
  expect(codeOf(there, adopt("left"))).toBe("NOT_HELD");
});

test("to revoke a key that nobody holds is done without anybody", () => {
  const { a } = scene();
  expect(resultOf(a.revokeKey("x"))).toEqual({
    status: STATUS.revoked,
    count: 0,
    remaining: 0,
    opened: 0,
    endsInMs: 0,
    leasesLeft: 0,
  });
});

test("to forget a limit that was never set is done", () => {
  const { log, a } = scene();
  expect(resultOf(a.setLimit("x", undefined))).toEqual({ status: STATUS.ok });
  expect(resultOf(a.setLimit("s", undefined))).toEqual({ status: STATUS.ok });
  expect(log.table.inspect("s").limit).toBe(3);
  expect(log.table.inspect("x").kind).toBeNull();
});

/** For each session that was not ended: what is executed next, and for whom. */
function nextOf({ sessions }: TableState): Map<number, { epoch: number; sequence: number }> {
  const next = new Map<number, { epoch: number; sequence: number }>();
  sessions.forEach(({ id, attachEpoch, highestSequence }) => {
    next.set(id, { epoch: attachEpoch, sequence: highestSequence + 1 });
  });
  return next;
}

/**
 * Whatever is executed has an answer in its entry, and nothing else has one: `next` is as it was before
 * the entry. Where an end was reported, or somebody attached, anything may be.
 */
function checkAnswers(
  { commands }: TableEntry,
  said: readonly Said[],
  next: ReturnType<typeof nextOf>,
): void {
  const excused = new Set<number>();
  const answered: string[] = [];
  for (const one of said) {
    if ("attached" in one) excused.add(one.attached.session);
    else if (one.message.kind === MESSAGE.ended) excused.add(one.session);
    else if (one.message.kind === MESSAGE.reply && one.session > 0) {
      answered.push(`${one.session}/${one.message.sequence}`);
    }
  }
  const expected: string[] = [];
  for (const { session, epoch, command } of commands) {
    const one = next.get(session);
    if (command === undefined || !("sequence" in command) || one?.epoch !== epoch) continue;
    if (command.sequence !== one.sequence) continue;
    expected.push(`${session}/${command.sequence}`);
    one.sequence += 1;
  }
  const counts = (name: string) => !excused.has(Number(name.split("/")[0]));
  expect(answered.filter(counts)).toEqual(expected.filter(counts));
}

/** With a token counter that is as many tokens before its end as `left` says. */
function everythingNearTheEnd(left: number): Everything {
  const before = everything();
  before.log.state.tokens = new TokenCounter(TOKENS_END - left);
  return before;
}

test("when tokens run out, what would bring one is refused, and nothing else changes", () => {
  const { log, a, b, hold } = everythingNearTheEnd(20);
  log.finishWork();
  while (log.table.nextToken < TOKENS_END - 2) a.take(exclusive(`${log.table.nextToken}`));
  const held = a.take(exclusive("waited for"));
  b.acquire(exclusive("waited for"), WAIT_FOREVER);
  expect(a.take(exclusive("last")).token).toBe(TOKENS_END - 1);
  const exhausted = { status: ERROR_NUMBERS.TOKENS_EXHAUSTED };
  expect(a.acquire(exclusive("one more"), 0)).toEqual(exhausted);
  expect(a.upgrade(hold("up"), "up")).toEqual(exhausted);
  expect(resultOf(a.handOver(hold("up"), SECRET))).toEqual(exhausted);
  expect(a.adopt("left", SECRET)).toEqual(exhausted);
  // Those that wait already are served from the rest.
  expect(resultOf(a.end(held))).toEqual({ status: STATUS.released });
  expect(log.table.inspect("waited for").holds).toMatchObject([
    { sessionName: "b", token: TOKENS_END },
  ]);
});

/** Runs anything after the log of `begin`; returns the statuses of all answers. */
function answerAnything(begin: () => Everything, numRuns: number): Set<number> {
  const statuses = new Set<number>();
  fc.assert(
    fc.property(arbitraryEntries, (wanted) => {
      const before = begin();
      const { log } = before;
      const { table } = log;
      const entries = entriesFor(before, wanted);
      for (const entry of entries) {
        const outbox = new Recording();
        const next = nextOf(log.state);
        table.apply(entry, outbox);
        checkAnswers(entry, outbox.said, next);
        for (const one of outbox.said) {
          if (!("attached" in one) && "result" in one.message) {
            statuses.add(one.message.result.status);
          }
        }
      }
      expect(copyOf(table).hash()).toBe(table.hash());
      letEverythingEnd(table, log.index + entries.length);
      const { endlessLeases: holds } = table.counts();
      expect(table.counts()).toMatchObject({ sessions: 0, holds, waiters: 0, cooldowns: 0 });
    }),
    { numRuns },
  );
  return statuses;
}

/** The rarest of them is the answer in one run of 140. */
const RUNS_FOR_RARE_ANSWERS = 2_000;

test("whatever a client sends, the table answers it, and goes on", () => {
  const runs = runsOf(200);
  const statuses = answerAnything(everything, runs);
  // It was not all of one kind. Each of these is the answer in one run of eight or more.
  const { ok, granted, queued, notReleased, revoked, givenBack } = STATUS;
  const { LOCK_HELD, WRONG_KIND, NOT_HELD, FORBIDDEN, INVALID_ARGUMENT } = ERROR_NUMBERS;
  const usual = [ok, granted, queued, notReleased, revoked, givenBack, LOCK_HELD, WRONG_KIND];
  const rest = [NOT_HELD, FORBIDDEN, INVALID_ARGUMENT];
  expect([...statuses]).toEqual(expect.arrayContaining([...usual, ...rest]));
  if (runs < RUNS_FOR_RARE_ANSWERS) return;
  const { released, adopted, leased, acted } = STATUS;
  const { LOCK_TIMEOUT, LIMIT_MISMATCH, DEADLOCK } = ERROR_NUMBERS;
  const rare = [released, adopted, leased, acted, LOCK_TIMEOUT, LIMIT_MISMATCH, DEADLOCK];
  expect([...statuses]).toEqual(expect.arrayContaining(rare));
});

test.each([
  ["run out meanwhile", 3],
  ["have run out", -20],
])("whatever a client sends, the table answers it, and goes on when tokens %s", (_, left) => {
  const statuses = answerAnything(() => everythingNearTheEnd(left), runsOf(50));
  expect(statuses).toContain(ERROR_NUMBERS.TOKENS_EXHAUSTED);
});
