/** Leases of named owners (semantics.md, 8): how they are taken, repeated, extended and given back. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { TOKENS_END, TokenCounter } from "../../../src/lockfsm/token-counter.js";
import {
  END_REASON,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Result,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { AccessLog } from "../plans/access-log.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  OTHER_OWNER,
  OTHER_REQUEST,
  OWNER,
  permits,
  REQUEST,
  resultOf,
  shared,
} from "../plans/cluster-log.js";

const { leased, extended, givenBack, queued } = STATUS;
const { unknown, released, expired, maxHold, revoked, stolen } = END_REASON;
const cancelled = { status: ERROR_NUMBERS.CANCELLED };
const invalid = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
const sameOwner = { status: ERROR_NUMBERS.LOCK_HELD, isSameOwner: true };
const LONG = 600_000;
const waiting = { waitMs: WAIT_FOREVER };
const other = { owner: OTHER_OWNER, name: "other" };

function pair(): { log: ClusterLog; a: Client; b: Client } {
  const log = new ClusterLog();
  return { log, a: log.open("a", LONG), b: log.open("b", LONG) };
}

const notHeld = (reason: number) => ({ status: ERROR_NUMBERS.NOT_HELD, reason });
const gaveBack = (count: number, waits = 0, reason: number = unknown) => {
  return { status: givenBack, count, waits, reason };
};

/** The one token of a take that got something. */
function tokenOf(result: Result | undefined): number {
  const [token] = result !== undefined && "tokens" in result ? result.tokens : [];
  if (token === undefined) throw new Error(`no lease: ${JSON.stringify(result)}`);
  return token;
}

/** How the owner's lease of the key ended, as the table remembers it. */
const reasonIn = (client: Client, key = "k", owner = OWNER): number | undefined => {
  const result = client.extend([key], 1_000, "atLeast", owner);
  return result !== undefined && "reason" in result ? result.reason : undefined;
};

describe("a lease", () => {
  test("is a hold of no session, which conflicts like any other", () => {
    const { log, a, b } = pair();
    const result = a.lease();
    const token = tokenOf(result);
    expect(result).toEqual({ status: leased, tokens: [token], endsAt: 15_000, slots: [] });
    expect(log.table.inspect("k").holds).toMatchObject([
      { token, session: 0, task: 0, holder: "owner", heldMs: 0, leaseMs: 5_000, ttlMs: 5_000 },
    ]);
    expect(b.acquire()).toEqual({ status: queued });
    expect(log.line("k")).toEqual(["owner", "|", "b"]);
  });

  test("outlives the session that took it, and the next session can give it back", () => {
    const { log, a, b } = pair();
    a.lease();
    a.close();
    expect(log.line("k")).toEqual(["owner", "|"]);
    expect(resultOf(b.giveBack(["k"]))).toEqual(gaveBack(1));
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is not found by the number of its take, which only has the answer", () => {
    const { log, a } = pair();
    a.lease();
    const { sequence } = a;
    expect(a.recallOne(sequence)).toMatchObject({
      state: RECALL_STATE.replied,
      result: { status: leased },
    });
    expect(resultOf(a.end(sequence))).toEqual({ status: STATUS.notReleased, reason: unknown });
    expect(resultOf(a.downgrade(sequence))).toEqual({ status: ERROR_NUMBERS.NOT_HELD });
    expect(log.line("k")).toEqual(["owner", "|"]);
    expect(log.table.listSessions(0, 9).sessions[0]).toMatchObject({ holds: 0, waits: 0 });
  });

  test("of permits has slots, in the order in which its take names the keys", () => {
    const { a } = pair();
    a.lease(permits("t", 1, 9), other);
    const items = [...permits("s", 2, 3), ...shared("k"), ...permits("t", 1)];
    expect(a.lease(items)).toMatchObject({ status: leased, slots: [[0, 1], [1]] });
    expect(a.lease([...items].reverse())).toMatchObject({ status: leased, slots: [[1], [0, 1]] });
  });

  test("ends by itself when its time is over, and nobody is notified", () => {
    const { log, a, b } = pair();
    a.lease();
    expect(log.pass(4_999)).toEqual([]);
    b.acquire();
    expect(log.pass(1)).toMatchObject([
      { kind: MESSAGE.outcome, result: { status: STATUS.granted } },
    ]);
    expect(reasonIn(a)).toBe(expired);
  });

  test("keeps its keys closed as its take said, at the expense of nobody's session", () => {
    const { log, a, b } = pair();
    a.lease(exclusive("k"), { options: { minHoldMs: 9_000, lockDelayMs: 2_000 } });
    a.giveBack(["k"]);
    b.acquire();
    log.pass(8_999);
    expect(log.table.inspect("k").cooldowns).toMatchObject([{ endsInMs: 1 }]);
    expect(log.line("k")).toEqual(["|", "b"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("ends by maxHoldMs, by a revoke and by a steal, however long it was to last", () => {
    const { log, a, b } = pair();
    a.lease(exclusive("x"), { ttlMs: 60_000, options: { maxHoldMs: 2_000 } });
    a.lease(exclusive("y"), { ttlMs: 60_000 });
    const token = tokenOf(a.lease(exclusive("z"), { ttlMs: 60_000 }));
    expect(a.extend(["x"], 90_000)).toMatchObject({ leases: [{ endsAt: 12_000 }] });
    log.pass(2_000);
    b.acquire(exclusive("y"), 0, { options: { steal: true } });
    expect(resultOf(b.revokeToken(token, { now: true }))).toMatchObject({ count: 1 });
    expect(["x", "y", "z"].map((key) => reasonIn(a, key))).toEqual([maxHold, stolen, revoked]);
  });

  test("that is revoked with a grace ends no earlier than it would have then", () => {
    const { log, a, b } = pair();
    a.lease();
    b.revokeKey("k", { graceMs: 1_000 });
    expect(log.table.inspect("k").holds).toMatchObject([{ isRevoked: true, endsInMs: 5_000 }]);
    a.extend(["k"], 60_000);
    log.pass(5_000);
    expect(log.line("k")).toEqual(["|"]);
    expect(reasonIn(a)).toBe(revoked);
  });

  test("that only its maximum duration ends is not ended earlier by a revoke with a grace", () => {
    const { log, a, b } = pair();
    b.changeSetting("endlessLeases", 1);
    const options = { maxHoldMs: 5_000 };
    expect(a.lease(exclusive("k"), { ttlMs: 0, options })).toMatchObject({ endsAt: 15_000 });
    b.revokeKey("k", { graceMs: 1_000 });
    log.pass(4_999);
    expect(log.line("k")).toEqual(["owner", "|"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("without end needs a setting, and a time above another setting is refused", () => {
    const { log, a, b } = pair();
    expect(a.lease(exclusive("k"), { ttlMs: 0 })).toEqual(invalid);
    b.changeSetting("endlessLeases", 1);
    expect(a.lease(exclusive("k"), { ttlMs: 0 })).toMatchObject({ status: leased, endsAt: 0 });
    expect(log.table.inspect("k").holds).toMatchObject([{ leaseMs: 0, ttlMs: 0, endsInMs: null }]);
    expect(log.table.counts()).toMatchObject({ leases: 1, endlessLeases: 1 });
    log.pass(300_000);
    expect(log.line("k")).toEqual(["owner", "|"]);
    b.revokeKey("k", { graceMs: 1_000 });
    log.pass(1_000);
    expect(log.line("k")).toEqual(["|"]);
    b.changeSetting("leaseTtlMsMax", 4_900);
    const tooLong = { ...invalid, limit: 4_900 };
    expect(a.lease()).toEqual(tooLong);
    expect(a.extend(["k"], 5_000)).toEqual(tooLong);
    // The hundredth that doors add does not count.
    expect(a.lease(exclusive("k"), { ttlMs: 4_950 })).toEqual(tooLong);
    expect(a.lease(exclusive("k"), { ttlMs: 4_949 })).toMatchObject({ status: leased });
  });

  test("is shown to its owner and identity only, until it ends", () => {
    const log = new AccessLog();
    const [a, b] = [log.open("a", LONG), log.open("b", LONG)];
    const stranger = log.identity("p", ["", true, "acquire"]);
    const mine = (owner: string = OWNER, credential = 0) => {
      const viewer = log.table.viewerOf(credential);
      return viewer && log.table.leaseIn("k", owner, viewer);
    };
    expect(mine()).toBeNull();
    const token = tokenOf(a.lease(exclusive("k"), { ttlMs: 4_000 }));
    b.lease(exclusive("k"), { ...other, waitMs: 9_000 });
    expect(mine()).toEqual({ token, endsInMs: 4_000 });
    expect([mine(other.owner), mine(OWNER, stranger)]).toEqual([null, null]);
    log.pass(3_999);
    expect(mine()).toEqual({ token, endsInMs: 1 });
    log.pass(1);
    expect(mine()).toBeNull();
    expect(mine(other.owner)).toMatchObject({ endsInMs: expect.any(Number) });
  });

  test("cannot be had by a take that steals", () => {
    const { a } = pair();
    expect(a.lease(exclusive("k"), { options: { steal: true } })).toEqual(invalid);
  });

  test("is shown by its name, its identity and a few digits that do not prove the owner", () => {
    const { log, a } = pair();
    a.lease(exclusive("k"), { name: "cron", options: { value: "here" } });
    const [hold] = log.table.inspect("k").holds;
    expect(hold).toMatchObject({ sessionName: "cron", identity: "anonymous", value: "here" });
    expect(hold?.leaseOwner).toMatch(/^[0-9a-f]{8}$/);
    expect(OWNER).not.toContain(hold?.leaseOwner);
    a.lease(exclusive("l"));
    a.lease(exclusive("m"), other);
    const shownIn = (key: string) => log.table.inspect(key).holds[0]?.leaseOwner;
    expect(shownIn("l")).toBe(hold?.leaseOwner);
    expect(shownIn("m")).not.toBe(hold?.leaseOwner);
    a.acquire(exclusive("n"));
    expect(shownIn("n")).toBe("");
  });
});

describe("a take that waits", () => {
  test("is answered once more when it is granted, until that is acknowledged", () => {
    const { log, a, b } = pair();
    const hold = b.take();
    expect(a.lease(exclusive("k"), waiting)).toEqual({ status: queued });
    const { sequence } = a;
    expect(a.recallOne(sequence)).toMatchObject({ state: RECALL_STATE.waiting });
    log.stamp += 3_000;
    const outcome = { kind: MESSAGE.outcome, sequence, result: { status: leased, endsAt: 18_000 } };
    expect(b.end(hold)).toMatchObject([{ kind: MESSAGE.reply }, outcome]);
    expect(log.table.inspect("k").holds).toMatchObject([{ heldMs: 0, waitedMs: 3_000 }]);
    expect(a.recallOne(sequence)).toMatchObject({ result: { status: leased, endsAt: 18_000 } });
    a.keepalive({ mark: a.sequence + 1, acknowledged: [sequence] });
    expect(a.recallOne(sequence)).toMatchObject({ state: RECALL_STATE.forgotten });
    expect(log.line("k")).toEqual(["owner", "|"]);
  });

  test("ends with its session, with its deadline, or by end, like any wait", () => {
    const { log, a, b } = pair();
    const c = log.open("c", LONG);
    b.take();
    c.lease(exclusive("k"), waiting);
    a.lease(exclusive("k"), { ...other, waitMs: 700 });
    expect(log.line("k")).toEqual(["b", "|", "owner", "other"]);
    c.close();
    expect(log.line("k")).toEqual(["b", "|", "other"]);
    expect(log.pass(700)).toMatchObject([{ result: { status: ERROR_NUMBERS.LOCK_TIMEOUT } }]);
    a.lease(exclusive("k"), waiting);
    expect(resultOf(a.end(a.sequence))).toEqual({ status: STATUS.ok });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is of its session until it is granted, and takes nothing of its limits after that", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 1, waitsPerSessionMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    for (const key of ["x", "y", "z"]) {
      expect(a.lease(exclusive(key))).toMatchObject({ status: leased });
    }
    b.take();
    expect(a.lease(exclusive("k"), waiting)).toEqual({ status: queued });
    const more = { ...other, ...waiting };
    expect(a.lease(exclusive("k"), more)).toEqual({ status: ERROR_NUMBERS.QUOTA });
  });

  test("is refused like an acquire", () => {
    const log = new ClusterLog({ waitersMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    const { token } = b.take();
    b.take(permits("s", 1, 3));
    const refusals = [
      a.lease(),
      a.lease(permits("k", 1, 2)),
      a.lease(permits("s", 1, 2)),
      a.lease([...exclusive("k"), ...shared("k")]),
      a.lease(exclusive("k"), { ...other, options: { lockDelayMs: 60_001 } }),
    ];
    const blocker = {
      ...{ sessionName: "b", key: "k", mode: "exclusive", token, identity: "anonymous" },
      ...{ session: 2, holder: "session" },
    };
    expect(refusals).toEqual([
      { status: ERROR_NUMBERS.LOCK_HELD, blockedBy: 0, blockers: [blocker] },
      { status: ERROR_NUMBERS.WRONG_KIND },
      { status: ERROR_NUMBERS.LIMIT_MISMATCH, limit: 3 },
      invalid,
      invalid,
    ]);
    a.lease(exclusive("k"), waiting);
    const full = { status: ERROR_NUMBERS.QUEUE_FULL };
    expect(a.lease(exclusive("k"), { ...other, ...waiting })).toEqual(full);
  });

  test("names itself where it, or its lease, is in the way of others", () => {
    const { a, b } = pair();
    const token = tokenOf(a.lease());
    a.lease(exclusive("k"), { ...other, ...waiting });
    const blocker = { key: "k", mode: "exclusive", identity: "anonymous" };
    expect(b.acquire(exclusive("k"), 0)).toMatchObject({
      blockers: [
        { ...blocker, sessionName: "owner", token, session: 0, holder: "owner" },
        { ...blocker, sessionName: "other", token: 0, session: 1, holder: null },
      ],
    });
  });
});

describe("a take that repeats", () => {
  test("a lease gets the same token from any session, and at least its own time", () => {
    const { log, a, b } = pair();
    const token = tokenOf(a.lease());
    a.close();
    log.stamp += 1_000;
    const again = { status: leased, tokens: [token], slots: [] };
    expect(b.lease()).toEqual({ ...again, endsAt: 16_000 });
    expect(b.lease(exclusive("k"), { ttlMs: 10 })).toEqual({ ...again, endsAt: 16_000 });
    expect(log.table.inspect("k").holds).toMatchObject([{ heldMs: 1_000, ttlMs: 5_000 }]);
  });

  test("a wait keeps its place and its age, while the earlier take ends", () => {
    const { log, a, b } = pair();
    const c = log.open("c", LONG);
    c.take();
    a.lease(exclusive("k"), waiting);
    const { sequence } = a;
    c.acquire(exclusive("k"), WAIT_FOREVER, { task: 2 });
    log.stamp += 2_000;
    expect(b.send(b.leasing(exclusive("k"), { waitMs: 9_000 }).command)).toEqual([
      { kind: MESSAGE.outcome, sequence, stamp: 12_000, result: cancelled },
      { kind: MESSAGE.reply, sequence: 1, stamp: 12_000, result: { status: queued } },
    ]);
    expect(log.line("k")).toEqual(["c", "|", "owner", "c"]);
    const wait = { session: b.session, sequence: 1, waitingMs: 2_000, endsInMs: 9_000 };
    expect(log.table.inspect("k").waiters[0]).toMatchObject(wait);
    a.close();
    expect(log.line("k")).toEqual(["c", "|", "owner", "c"]);
    b.close();
    expect(log.line("k")).toEqual(["c", "|", "c"]);
  });

  test("a wait within its session moves it to the new number", () => {
    const { a, b } = pair();
    const hold = b.take();
    a.lease(exclusive("k"), waiting);
    a.lease(exclusive("k"), waiting);
    expect(a.recallOne(1)).toMatchObject({ state: RECALL_STATE.replied, result: cancelled });
    expect(b.end(hold)).toMatchObject([{}, { sequence: 2, result: { status: leased } }]);
  });

  test("a wait without wanting to wait ends it", () => {
    const { log, a, b } = pair();
    b.take();
    a.lease(exclusive("k"), waiting);
    expect(log.apply(b.leasing())).toMatchObject([
      { kind: MESSAGE.outcome, sequence: 1, result: cancelled },
      { kind: MESSAGE.reply, result: { status: ERROR_NUMBERS.LOCK_HELD, blockedBy: 0 } },
    ]);
    expect(a.recallOne(1)).toMatchObject({ result: cancelled });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("keeps the name and the value of the first, and takes the time of the last", () => {
    const { log, a, b } = pair();
    const hold = b.take();
    const first = { ...waiting, name: "first", options: { value: "1", maxHoldMs: 60_000 } };
    a.lease(exclusive("k"), first);
    a.lease(exclusive("k"), { ...waiting, name: "last", ttlMs: 7_000, options: { value: "2" } });
    b.end(hold);
    a.lease(exclusive("k"), { name: "later", ttlMs: 7_000, options: { value: "3" } });
    const shown = { sessionName: "first", value: "1", leaseMs: 7_000 };
    expect(log.table.inspect("k").holds).toMatchObject([shown]);
  });

  test("asks for the same keys, modes and permits, in any order", () => {
    const { a } = pair();
    const items = [...exclusive("k"), ...shared("l"), ...permits("s", 2, 3)];
    const token = tokenOf(a.lease(items));
    expect(tokenOf(a.lease([...items].reverse()))).toBe(token);
    const others = [
      items.slice(0, 2),
      [...items, ...exclusive("m")],
      [...shared("k", "l"), ...permits("s", 2, 3)],
      [...exclusive("k"), ...shared("l"), ...permits("s", 1, 3)],
    ];
    for (const some of others) expect(a.lease(some)).toEqual(sameOwner);
  });

  test("does not count against any limit", () => {
    const log = new AccessLog();
    const ci = log.identity("ci", ["", true, "acquire"]);
    log.change({ op: OP.setGrant, name: "anonymous", key: "", isPrefix: true, level: "admin" });
    const [a, b] = [log.openAs(ci, "a", LONG), log.openAs(ci, "b", LONG)];
    const token = tokenOf(a.lease());
    log.open("operator").changeSetting("claimsPerIdentityMax", 1);
    expect(b.lease(exclusive("l"))).toEqual({ status: ERROR_NUMBERS.QUOTA });
    expect(tokenOf(b.lease())).toBe(token);
  });
});

describe("an owner that asks by another request", () => {
  test("is told that it has the lock itself, or waits for it", () => {
    const { a, b } = pair();
    a.lease();
    expect(b.lease(exclusive("k"), { request: OTHER_REQUEST })).toEqual(sameOwner);
    b.lease(exclusive("k"), { ...other, ...waiting });
    const twice = { ...other, ...waiting, request: OTHER_REQUEST };
    expect(a.lease(exclusive("k"), twice)).toEqual(sameOwner);
  });

  test("learns so although it shares the key, or has more permits to get", () => {
    const { a } = pair();
    a.lease([...shared("k"), ...permits("s", 1, 3)]);
    const another = { request: OTHER_REQUEST };
    expect(a.lease(shared("k"), another)).toEqual(sameOwner);
    expect(a.lease([...exclusive("free"), ...permits("s", 1, 3)], another)).toEqual(sameOwner);
    expect(a.lease(shared("k"), { ...other, ...another })).toMatchObject({ status: leased });
  });

  test("is not told so of another key, nor of what another identity has by its name", () => {
    const log = new AccessLog();
    const [p, q] = ["p", "q"].map((name) => {
      return log.openAs(log.identity(name, ["", true, "acquire"]), name, LONG);
    }) as [Client, Client];
    p.lease(shared("k"));
    expect(p.lease(shared("l"), { request: OTHER_REQUEST })).toMatchObject({ status: leased });
    expect(q.lease(shared("k"), { request: OTHER_REQUEST })).toMatchObject({ status: leased });
    expect(resultOf(q.giveBack(["k", "l"]))).toEqual(gaveBack(1));
    expect(log.table.inspect("k").holds).toMatchObject([{ identity: "p" }]);
    expect(q.extend(["l"], 1_000)).toEqual(notHeld(unknown));
  });
});

describe("a split take", () => {
  test("makes a lease of each item, which are extended and end one by one", () => {
    const { log, a } = pair();
    const items = [...exclusive("k"), ...permits("s", 2, 3)];
    const result = a.lease(items, { isSplit: true });
    const token = tokenOf(result);
    expect(result).toEqual({
      ...{ status: leased, tokens: [token, token + 1], endsAt: 15_000, slots: [[0, 1]] },
    });
    a.extend(["s"], 9_000);
    log.pass(5_000);
    expect(log.line("k")).toEqual(["|"]);
    expect(log.line("s")).toEqual(["owner", "|"]);
    expect(log.table.counts()).toMatchObject({ leases: 1, holds: 1 });
  });

  test("gets all or nothing, and does not wait", () => {
    const { log, a, b } = pair();
    b.take();
    const asked = { isSplit: true };
    expect(a.lease(exclusive("l", "k"), asked)).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockers: [{ sessionName: "b" }],
    });
    expect(log.table.counts()).toMatchObject({ leases: 0, waiters: 0 });
  });

  test("repeats the leases that there are, gets the others, and reports the first end", () => {
    const { a, log } = pair();
    const first = tokenOf(a.lease(exclusive("k")));
    log.stamp += 1_000;
    const result = a.lease(exclusive("l", "k"), { isSplit: true, ttlMs: 2_000 });
    expect(result).toEqual({
      ...{ status: leased, tokens: [first + 1, first], endsAt: 13_000, slots: [] },
    });
    expect(a.lease(exclusive("k", "l"), { isSplit: true })).toMatchObject({
      ...{ tokens: [first, first + 1], endsAt: 16_000 },
    });
  });

  test("is refused where a lease of several keys, or a wait, is its owner's", () => {
    const { a, b } = pair();
    b.take(exclusive("m"));
    a.lease(exclusive("k", "l"));
    a.lease(exclusive("m"), waiting);
    for (const keys of [["k"], ["k", "l"], ["m"], ["free", "l"]]) {
      expect(a.lease(exclusive(...keys), { isSplit: true })).toEqual(sameOwner);
    }
    expect(b.acquire(exclusive("free"), 0)).toMatchObject({ status: STATUS.granted });
  });
});

describe("an extension", () => {
  test("moves the end forward, exactly, or by a time, as it says", () => {
    const { log, a } = pair();
    const token = tokenOf(a.lease());
    const to = (endsAt: number) => ({ status: extended, leases: [{ token, endsAt }] });
    log.stamp += 1_000;
    expect(a.extend(["k"], 1_000)).toEqual(to(15_000));
    expect(a.extend(["k"], 6_000)).toEqual(to(17_000));
    expect(a.extend(["k"], 2_000, "exactly")).toEqual(to(13_000));
    expect(a.extend(["k"], 2_000, "add")).toEqual(to(15_000));
    log.pass(4_000);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("by a time reaches no further than a lease may last, but takes nothing away", () => {
    const { a, b } = pair();
    b.changeSetting("leaseTtlMsMax", 600_000);
    const token = tokenOf(a.lease(exclusive("k"), { ttlMs: 60_000 }));
    expect(a.extend(["k"], LONG, "add")).toMatchObject({ leases: [{ endsAt: 616_000 }] });
    b.changeSetting("leaseTtlMsMax", 1_000);
    expect(a.extend(["k"], 1_000, "add")).toEqual({
      ...{ status: extended, leases: [{ token, endsAt: 616_000 }] },
    });
  });

  test("leaves what is without end so, unless it says exactly when", () => {
    const { log, a, b } = pair();
    b.changeSetting("endlessLeases", 1);
    a.lease(exclusive("k"), { ttlMs: 0 });
    expect(a.extend(["k"], 1_000)).toMatchObject({ leases: [{ endsAt: 0 }] });
    expect(a.extend(["k"], 1_000, "add")).toMatchObject({ leases: [{ endsAt: 0 }] });
    expect(a.extend(["k"], 1_000, "exactly")).toMatchObject({ leases: [{ endsAt: 11_000 }] });
    expect(log.table.counts()).toMatchObject({ leases: 1, endlessLeases: 0 });
    expect(a.lease(exclusive("k"), { ttlMs: 0 })).toMatchObject({ endsAt: 0 });
  });

  test("takes the end of a lease away where a setting allows it, and never adds that", () => {
    const { log, a, b } = pair();
    const token = tokenOf(a.lease());
    expect(a.extend(["k"], 0, "exactly")).toEqual(invalid);
    b.changeSetting("endlessLeases", 1);
    expect(a.extend(["k"], 0, "add")).toEqual(invalid);
    for (const mode of ["exactly", "atLeast"] as const) {
      expect(a.extend(["k"], 5_000, "exactly")).toMatchObject({ leases: [{ endsAt: 15_000 }] });
      expect(a.extend(["k"], 0, mode)).toEqual({
        ...{ status: extended, leases: [{ token, endsAt: 0 }] },
      });
      expect(log.table.counts()).toMatchObject({ leases: 1, endlessLeases: 1 });
    }
    log.pass(1_000_000);
    expect(log.line("k")).not.toEqual(["|"]);
  });

  test("is of all keys or of none, and of a lease of two keys once", () => {
    const { a } = pair();
    const token = tokenOf(a.lease(exclusive("k", "l")));
    expect(a.extend(["l", "k"], 1_000, "add")).toEqual({
      status: extended,
      leases: [
        { token, endsAt: 16_000 },
        { token, endsAt: 16_000 },
      ],
    });
    expect(a.extend(["k", "m"], 60_000)).toEqual(notHeld(unknown));
    expect(a.extend(["k"], 1)).toMatchObject({ leases: [{ endsAt: 16_000 }] });
  });

  test("is refused to other owners, and to one that only waits", () => {
    const { a, b } = pair();
    a.lease();
    b.lease(exclusive("k"), { ...other, ...waiting });
    expect(b.extend(["k"], 1_000, "atLeast", OTHER_OWNER)).toEqual(notHeld(unknown));
    expect(b.extend(["k"], 1_000, "atLeast", "0e".repeat(16))).toEqual(notHeld(unknown));
  });

  test("never revives a lease that is due and was not swept, and says why it ends", () => {
    const { log, a } = pair();
    a.lease(exclusive("k"), { ttlMs: 1_000 });
    a.lease(exclusive("l"), { ttlMs: 1_000, options: { maxHoldMs: 1_000 } });
    a.changeSetting("unitsPerEntryMax", 1);
    for (const key of ["x", "y"]) a.lease(exclusive(key), { ...other, ttlMs: 999 });
    log.stamp += 1_000;
    expect(a.extend(["k"], 5_000)).toEqual(notHeld(expired));
    expect(log.table.inspect("l").holds).toMatchObject([{ leaseMs: 0 }]);
    expect(a.extend(["l"], 5_000)).toEqual(notHeld(maxHold));
    log.pass(1);
    log.pass(1);
    expect([log.line("k"), log.line("l")]).toEqual([["|"], ["|"]]);
  });
});

describe("a lease or wait that is given back", () => {
  test("ends at once, as a whole, and the next is granted after the answer", () => {
    const { log, a, b } = pair();
    a.lease(exclusive("k", "l"));
    b.acquire(exclusive("l"));
    expect(a.giveBack(["k"])).toMatchObject([
      { kind: MESSAGE.reply, result: gaveBack(1) },
      { kind: MESSAGE.outcome, sequence: 1, result: { status: STATUS.granted } },
    ]);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is told to its take, if it waited, and counted in each of the keys", () => {
    const { a, b } = pair();
    b.take(exclusive("m"));
    a.lease(exclusive("k", "l"));
    a.lease(exclusive("m"), waiting);
    const { sequence } = a;
    expect(b.giveBack(["k", "l", "m", "n"])).toMatchObject([
      { kind: MESSAGE.reply, result: gaveBack(2, 1) },
      { kind: MESSAGE.outcome, sequence, result: cancelled },
    ]);
    expect(resultOf(b.giveBack(["m", "k"]))).toEqual(gaveBack(0, 0, released));
    expect(resultOf(b.giveBack(["k", "m"]))).toEqual(gaveBack(0, 0, released));
  });

  test("stays for the caller of a repeat, though the take that was left is executed behind it", () => {
    const { log, a, b } = pair();
    b.lease();
    a.lease();
    expect(resultOf(a.giveBack(["k"], OWNER, a.sequence))).toEqual(gaveBack(0));
    expect(resultOf(b.giveBack(["k"], OWNER, 1))).toEqual(gaveBack(0));
    expect(log.line("k")).toEqual(["owner", "|"]);
    expect(resultOf(b.giveBack(["k"]))).toEqual(gaveBack(1));
  });

  test("stays for the caller of its first take, when the caller of a repeat leaves", () => {
    const { log, a } = pair();
    a.lease();
    const { sequence } = a;
    a.lease();
    expect(resultOf(a.giveBack(["k"], OWNER, sequence))).toEqual(gaveBack(0));
    expect(resultOf(a.giveBack(["k"], OWNER, sequence + 1))).toEqual(gaveBack(0));
    expect(log.line("k")).toEqual(["owner", "|"]);
    expect(resultOf(a.giveBack(["k"]))).toEqual(gaveBack(1));
  });

  test("stays when a later take has named the wait than the one whose share is given back", () => {
    const { log, a, b } = pair();
    const hold = b.take();
    a.lease(exclusive("k"), waiting);
    const first = a.sequence;
    a.lease(exclusive("k"), waiting);
    const second = a.sequence;
    expect(resultOf(a.giveBack(["k"], OWNER, first))).toEqual(gaveBack(0));
    expect(log.line("k")).toEqual(["b", "|", "owner"]);
    b.end(hold);
    expect(resultOf(a.giveBack(["k"], OWNER, second))).toEqual(gaveBack(1));
  });
});

describe("the reason why a lease ended", () => {
  test("is reported for a minute, to its owner alone, and then forgotten", () => {
    const { log, a, b } = pair();
    a.lease();
    b.revokeKey("k", { now: true });
    expect(reasonIn(b, "k", OTHER_OWNER)).toBe(unknown);
    log.pass(59_999);
    expect(reasonIn(b)).toBe(revoked);
    expect(resultOf(b.giveBack(["k"]))).toEqual(gaveBack(0, 0, revoked));
    log.pass(1);
    expect(reasonIn(b)).toBe(unknown);
  });

  test("is about the last lease of the owner in the key, and none while it has one", () => {
    const { log, a, b } = pair();
    a.lease();
    b.revokeKey("k", { now: true });
    a.lease(exclusive("k"), { request: OTHER_REQUEST });
    log.pass(5_000);
    expect(reasonIn(a)).toBe(expired);
    a.lease();
    // What this take did not get it cannot give back, and nothing has ended since.
    expect(resultOf(b.giveBack(["k"], OWNER, 1))).toEqual(gaveBack(0));
  });

  test("is kept while the owner waits for the key again", () => {
    const { a, b } = pair();
    a.lease();
    b.acquire(exclusive("k"), 0, { options: { steal: true } });
    a.lease(exclusive("k"), waiting);
    expect(reasonIn(a)).toBe(stolen);
  });

  test("is kept of the newest ten thousand", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 100_000 });
    const a = log.open("a", LONG);
    const nameOf = (at: number) => at.toString(16).padStart(32, "0");
    for (let at = 0; at < 5_001; at += 1) {
      a.lease(shared("k", "l"), { owner: nameOf(at), ttlMs: 10 + at });
    }
    log.pass(9_000);
    expect(log.table.counts().leases).toBe(0);
    expect([0, 1, 5_000].map((at) => reasonIn(a, "k", nameOf(at)))).toEqual([
      ...[unknown, expired, expired],
    ]);
  });
});

describe("waits of owners and of tasks together", () => {
  test("a lease is in no cycle, since it ends by itself", () => {
    const { a, b } = pair();
    a.lease();
    const hold = b.take(exclusive("l"));
    expect(a.lease(exclusive("l"), waiting)).toEqual({ status: queued });
    expect(b.acquire(exclusive("k"))).toEqual({ status: queued });
    expect(resultOf(b.end(hold))).toEqual({ status: STATUS.released });
  });

  test("takes of one session are tasks of their own", () => {
    const { log, a, b } = pair();
    const held = b.take(exclusive("k"));
    a.lease(exclusive("k"), waiting);
    a.take(exclusive("m"));
    a.lease(exclusive("m"), { ...other, ...waiting });
    // It waits for the lease of another owner, which has nothing to do with the first.
    expect(b.acquire(exclusive("m"))).toEqual({ status: queued });
    expect(log.table.counts().deadlocks).toBe(0);
    expect(b.end(held)).toMatchObject([{}, { result: { status: leased } }]);
  });

  test("a task that would wait forever for a take of several keys is refused, not the take", () => {
    const { a, b } = pair();
    b.take(exclusive("k"));
    expect(a.lease(exclusive("k", "l"), waiting)).toEqual({ status: queued });
    const refusal = b.acquire(exclusive("l"));
    const member = { identity: "anonymous", mode: "exclusive" };
    expect(refusal).toEqual({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [
        { ...member, session: b.session, sessionName: "b", task: 1, key: "l" },
        { ...member, session: a.session, sessionName: "owner", task: 0, key: "k" },
      ],
    });
  });

  test("a take is not refused although it closes a cycle", () => {
    const { a, b } = pair();
    b.take(exclusive("k"));
    const hold = a.take(exclusive("l"));
    b.acquire(exclusive("l"));
    const items = exclusive("k", "l");
    expect(a.lease(items, waiting)).toEqual({ status: queued });
    expect(resultOf(a.end(hold))).toEqual({ status: STATUS.released });
  });

  test("are shown by their own names where waits are shown", () => {
    const { log, a, b } = pair();
    b.take();
    a.lease(exclusive("k"), { name: "cron", waitMs: 9_000 });
    const wait = { session: a.session, sessionName: "cron", task: 0, identity: "anonymous" };
    expect(log.table.inspect("k").waiters).toMatchObject([wait]);
    expect(log.table.waitGraph(100).tasks).toMatchObject([wait, { sessionName: "b" }]);
  });
});

describe("rights of leases", () => {
  function closed(): { log: AccessLog; ci: number; a: Client; b: Client } {
    const log = new AccessLog();
    const ci = log.identity("ci", ["", true, "acquire"]);
    return { log, ci, a: log.openAs(ci, "a", LONG), b: log.openAs(ci, "b", LONG) };
  }

  test("a take needs acquire on every key, and nothing else needs anything", () => {
    const { log, a } = closed();
    a.lease(exclusive("k"));
    log.change({ op: OP.setGrant, name: "ci", key: "", isPrefix: true, level: "none" });
    log.grant("ci", ["l", false, "acquire"]);
    const forbidden = { status: ERROR_NUMBERS.FORBIDDEN };
    expect(a.lease(exclusive("l", "k"), { request: OTHER_REQUEST })).toEqual(forbidden);
    expect(a.lease(exclusive("k"))).toEqual(forbidden);
    expect(a.extend(["k"], 9_000)).toMatchObject({ status: extended });
    expect(resultOf(a.giveBack(["k"]))).toEqual(gaveBack(1));
  });

  test("a wait for one ends when it would be granted to an identity without rights", () => {
    const { log, a, b } = closed();
    const hold = b.take();
    a.lease(exclusive("k"), waiting);
    log.change({ op: OP.setGrant, name: "ci", key: "", isPrefix: true, level: "none" });
    expect(b.end(hold)).toMatchObject([{}, { result: { status: ERROR_NUMBERS.FORBIDDEN } }]);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("leases stay when their identity is removed, and belong to no other of its name", () => {
    const { log, a } = closed();
    a.lease();
    log.change({ op: OP.removeIdentity, name: "ci" });
    expect(log.line("k")).toEqual(["owner", "|"]);
    const again = log.openAs(log.identity("ci", ["", true, "acquire"]), "again", LONG);
    expect(resultOf(again.giveBack(["k"]))).toEqual(gaveBack(0));
    expect(again.lease()).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD, blockedBy: 0 });
    log.pass(5_000);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("leases and waits count against the identity, with their names", () => {
    const { log, a, b } = closed();
    const usage = () => log.table.listIdentities(undefined, 9).identities[1]?.usage;
    const before = usage();
    a.lease(exclusive("kk"), { name: "four", options: { value: "seven.." } });
    // One record for the key, and one for the owner.
    const bytes = 64 + 2 + 7 + 64 + 4;
    expect(usage()).toMatchObject({ holds: 1, bytes: (before?.bytes ?? 0) + bytes });
    b.lease(exclusive("kk"), { ...other, ...waiting });
    expect(usage()).toMatchObject({ holds: 1, waits: 1 });
    a.close();
    b.close();
    expect(usage()).toEqual({ sessions: 0, holds: 1, waits: 0, bytes });
    log.pass(5_000);
    expect(usage()).toEqual({ sessions: 0, holds: 0, waits: 0, bytes: 0 });
  });

  test("a wait whose session is adopted still belongs to the identity that took it", () => {
    const log = new AccessLog();
    const [ci, a, b] = [log.identity("ci", ["", true, "acquire"]), log.open("a"), log.open("b")];
    const hold = b.take();
    a.lease(exclusive("k"), waiting);
    expect(log.resumeAs(ci, a, 2)).toBe(STATUS.ok);
    b.end(hold);
    expect(log.table.inspect("k").holds).toMatchObject([{ identity: "anonymous" }]);
    expect(resultOf(b.giveBack(["k"]))).toEqual(gaveBack(1));
  });
});

test("no lease is granted, nor repeated, when no tokens are left", () => {
  const { log, a } = pair();
  a.lease();
  log.state.tokens = new TokenCounter(TOKENS_END, 0);
  const exhausted = { status: ERROR_NUMBERS.TOKENS_EXHAUSTED };
  expect(a.lease(exclusive("l"), { request: REQUEST })).toEqual(exhausted);
  expect(a.extend(["k"], 6_000)).toMatchObject({ status: extended });
});

describe("a take that comes again after its owner has given it back", () => {
  const copy = { request: REQUEST };

  test("takes nothing for a minute, by any session, and says why", () => {
    const { log, a, b } = pair();
    a.lease(exclusive("k"), copy);
    a.giveBack(["k"]);
    expect(b.lease(exclusive("k"), copy)).toEqual(notHeld(released));
    expect(b.lease(exclusive("k"), { ...copy, ...waiting })).toEqual(notHeld(released));
    expect(b.lease(exclusive("k"), { ...copy, isSplit: true })).toEqual(notHeld(released));
    expect(log.table.inspect("k").holds).toEqual([]);
    log.pass(59_999);
    expect(a.lease(exclusive("k"), copy)).toEqual(notHeld(released));
    log.pass(1);
    expect(a.lease(exclusive("k"), copy)).toMatchObject({ status: leased });
  });

  test("takes nothing where it waited, nor with any key of several", () => {
    const { log, a, b } = pair();
    a.lease(exclusive("k"), other);
    b.lease(exclusive("k", "l"), { ...copy, ...waiting });
    expect(resultOf(b.giveBack(["l"]))).toEqual(gaveBack(0, 1));
    a.giveBack(["k"], OTHER_OWNER);
    for (const key of ["k", "l"]) {
      expect(a.lease(exclusive(key, "m"), copy)).toEqual(notHeld(released));
    }
    expect(log.table.inspect("m").holds).toEqual([]);
  });

  test("is another request if it has another name, or another owner, and is taken", () => {
    const { a, b } = pair();
    a.lease(exclusive("k"), copy);
    a.giveBack(["k"]);
    expect(b.lease(exclusive("k"), { ...other, ...copy })).toMatchObject({ status: leased });
    b.giveBack(["k"], OTHER_OWNER);
    expect(a.lease(exclusive("k"), { request: OTHER_REQUEST })).toMatchObject({ status: leased });
  });

  test("takes it where nobody gave it back for the owner: it expired, or a caller left", () => {
    const { log, a } = pair();
    a.lease(exclusive("k"), { ...copy, ttlMs: 1_000 });
    log.pass(1_000);
    expect(a.lease(exclusive("k"), copy)).toMatchObject({ status: leased });
    a.giveBack(["k"]);
    a.lease(exclusive("l"), copy);
    a.giveBack(["l"], OWNER, a.sequence);
    expect(a.lease(exclusive("l"), copy)).toMatchObject({ status: leased });
  });

  test("takes it where the owner itself is the request, which is said each time", () => {
    const { a } = pair();
    const own = { request: OWNER };
    a.lease(exclusive("k"), own);
    a.giveBack(["k"]);
    expect(a.lease(exclusive("k"), own)).toMatchObject({ status: leased });
  });
});
