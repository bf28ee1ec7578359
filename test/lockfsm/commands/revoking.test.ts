/** Revokes of holds and ends of sessions by an operator, with a grace or at once. */
import { describe, expect, test } from "vitest";
import { END_REASON, MESSAGE, RECALL_STATE, STATUS } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";
import { SECRET } from "../plans/everything.js";

const { ok, released, revoked } = STATUS;
const reason = "maintenance";

/** Somebody who holds a key under a lease of 15 s, somebody who waits, and an operator. */
function held(): { log: ClusterLog; a: Client; b: Client; operator: Client; hold: Taken } {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b", 600_000)];
  const operator = log.open("operator", 600_000);
  const hold = a.take();
  b.acquire();
  return { log, a, b, operator, hold };
}

describe("a revoke with a grace", () => {
  test("informs the holder when it will end, and why, and leaves it until then", () => {
    const { log, operator, hold } = held();
    const said = operator.revokeToken(hold.token, { graceMs: 20_000, reason });
    expect(said).toEqual([
      {
        kind: MESSAGE.reply,
        sequence: 1,
        stamp: 10_000,
        result: {
          ...{ status: revoked, count: 1, remaining: 0, opened: 0 },
          ...{ endsInMs: 20_000, leasesLeft: 0 },
        },
      },
      { kind: MESSAGE.revoking, sequence: 1, stamp: 10_000, endsAt: 30_000, reason },
    ]);
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    expect(log.table.inspect("k").holds).toMatchObject([{ isRevoked: true, endsInMs: 20_000 }]);
  });

  test("lets the holder release in peace", () => {
    const { log, a, operator, hold } = held();
    operator.revokeToken(hold.token, { graceMs: 20_000 });
    expect(resultOf(a.end(hold))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });

  test("ends it by force at the deadline, however often the lease was renewed meanwhile", () => {
    const { log, a, operator, hold } = held();
    operator.revokeToken(hold.token, { graceMs: 20_000 });
    log.stamp += 10_000;
    a.keepalive();
    expect(log.pass(9_999)).toEqual([]);
    const told = { ...hold, stamp: 30_000, reason: END_REASON.revoked };
    const lost = { kind: MESSAGE.lost, ...told };
    expect(log.pass(1)[0]).toEqual(lost);
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(log.table.counts().sessions).toBe(3);
  });

  test("that is shorter than the lease ends it with the lease that it had by then", () => {
    const { log, a, operator, hold } = held();
    log.stamp += 1_000;
    const [, notice] = operator.revokeToken(hold.token, { graceMs: 500, reason });
    expect(notice).toMatchObject({ kind: MESSAGE.revoking, endsAt: 25_000 });
    a.keepalive();
    log.pass(13_999);
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is answered with the time by which all holds have ended, and how many are leases", () => {
    const log = new ClusterLog();
    const [a, b, operator] = [log.open("a"), log.open("b", 60_000), log.open("operator")];
    a.take(shared("k"));
    b.lease(shared("k"), { ttlMs: 600_000 });
    log.pass(1_000);
    const revoke = (force = {}) => resultOf(operator.revokeKey("k", force));
    const left = { status: revoked, remaining: 0, opened: 0, endsInMs: 599_000, leasesLeft: 1 };
    expect(revoke()).toEqual({ ...left, count: 2 });
    // It changes nothing for those that were revoked, and says when they end.
    log.pass(4_000);
    expect(revoke()).toEqual({ ...left, count: 0, endsInMs: 595_000 });
    expect(revoke({ now: true })).toMatchObject({ count: 2, endsInMs: 0, leasesLeft: 0 });
  });

  test("is reported on recall", () => {
    const { a, operator, hold } = held();
    operator.revokeToken(hold.token, { graceMs: 20_000 });
    expect(a.recallOne(hold)).toMatchObject({ endsAt: 30_000, isRevoked: true });
  });

  test("is not put off by a later one, and brought forward by an earlier one", () => {
    const { operator, hold } = held();
    operator.revokeToken(hold.token, { graceMs: 30_000 });
    expect(operator.revokeToken(hold.token, { graceMs: 40_000 })).toHaveLength(1);
    const [, notice] = operator.revokeToken(hold.token, { graceMs: 20_000, reason });
    expect(notice).toMatchObject({ kind: MESSAGE.revoking, endsAt: 30_000, reason });
  });

  test("does not put off the cap of the hold", () => {
    const log = new ClusterLog();
    const [a, operator] = [log.open("a"), log.open("operator")];
    const token = a.take(exclusive("k"), { options: { maxHoldMs: 2_000 } });
    operator.revokeToken(token.token, { graceMs: 60_000 });
    expect(log.pass(2_000)).toMatchObject([{ token: token.token, reason: END_REASON.maxHold }]);
  });

  test("of what a bearer has comes at its deadline, as nobody uses it, unless it ends before", () => {
    const { log, a, operator, hold } = held();
    a.handOver(hold, SECRET, 9_000);
    expect(operator.revokeToken(hold.token + 1, { graceMs: 2_000 })).toHaveLength(1);
    log.pass(1_999);
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["b", "|"]);
  });
});

describe("a revoke at once", () => {
  test("ends the hold in its own step, and the next one is granted", () => {
    const { log, operator, hold } = held();
    expect(operator.revokeToken(hold.token, { now: true })).toMatchObject([
      { kind: MESSAGE.reply, result: { status: revoked, count: 1, remaining: 0 } },
      { kind: MESSAGE.lost, ...hold, reason: END_REASON.revoked },
      { kind: MESSAGE.outcome, result: { status: STATUS.granted } },
    ]);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("ends one that was to end later", () => {
    const { log, operator, hold } = held();
    operator.revokeToken(hold.token, { graceMs: 1_000_000 });
    operator.revokeKey("k", { now: true });
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(log.table.inspect("k").holds).toMatchObject([{ isRevoked: false, endsInMs: null }]);
  });
});

describe("a revoke of a key", () => {
  test("is one of everybody who holds it, and of nobody who waits", () => {
    const log = new ClusterLog();
    const [a, b, operator] = [log.open("a"), log.open("b"), log.open("operator")];
    b.end(1);
    const holds = [a.take(shared("k")), b.take(shared("k"))];
    log.open("c").acquire(exclusive("k"));
    const [reply, ...notices] = operator.revokeKey("k", { graceMs: 5_000 });
    expect(reply).toMatchObject({ result: { status: revoked, count: 2, remaining: 0, opened: 0 } });
    const told = notices.map((notice) => "sequence" in notice && notice.sequence);
    expect(told).toEqual(holds.map(({ sequence }) => sequence));
  });

  test("deals with few holds at a time, and says how many are left", () => {
    const log = new ClusterLog({ holdsPerStepMax: 2 });
    const operator = log.open("operator");
    for (const name of ["a", "b", "c"]) log.open(name).take(shared("k"));
    const force = { graceMs: 60_000 };
    const counted = (count: number, remaining: number, endsInMs = 60_000) => {
      return { status: revoked, count, remaining, opened: 0, endsInMs, leasesLeft: 0 };
    };
    expect(resultOf(operator.revokeKey("k", force))).toEqual(counted(2, 1));
    expect(resultOf(operator.revokeKey("k", force))).toEqual(counted(1, 0));
    expect(resultOf(operator.revokeKey("k", force))).toEqual(counted(0, 0));
    expect(resultOf(operator.revokeKey("k", { now: true }))).toEqual(counted(2, 1, 0));
    expect(log.line("k")).toEqual(["c", "|"]);
  });
});

describe("the end of a session by an operator", () => {
  test("is told to it and comes when its grace and the lease that it had are over", () => {
    const { log, a, operator, hold } = held();
    expect(operator.endSession(a.session, { graceMs: 20_000, reason })).toEqual([
      { kind: MESSAGE.reply, sequence: 1, stamp: 10_000, result: { status: ok } },
      { kind: MESSAGE.revoking, sequence: 0, stamp: 10_000, endsAt: 30_000, reason },
    ]);
    log.stamp += 10_000;
    a.keepalive();
    expect(log.pass(9_999)).toEqual([]);
    expect(log.pass(1)).toMatchObject([
      { kind: MESSAGE.ended, session: a.session, reason: END_REASON.revoked },
      { kind: MESSAGE.outcome, result: { token: hold.token + 1 } },
    ]);
  });

  test("comes no earlier than the lease that it had", () => {
    const { a, operator } = held();
    const [, notice] = operator.endSession(a.session);
    expect(notice).toMatchObject({ kind: MESSAGE.revoking, endsAt: 25_000 });
  });

  test("is reported again to a client that attaches again, and not for a smaller attempt", () => {
    const { log, a, operator } = held();
    a.resume(3);
    expect(a.epoch).toBe(2);
    operator.endSession(a.session, { graceMs: 20_000, reason });
    const told = () => {
      return log.said.filter(({ message }) => message.kind === MESSAGE.revoking);
    };
    a.resume(4);
    expect(told().at(-1)).toEqual({
      session: a.session,
      epoch: 3,
      message: { kind: MESSAGE.revoking, sequence: 0, stamp: 10_000, endsAt: 30_000, reason },
    });
    a.resume(4);
    expect(told()).toHaveLength(3);
    a.resume(2);
    expect(told()).toHaveLength(3);
  });

  test("is not put off by a later one, and brought forward by an earlier one", () => {
    const { a, operator } = held();
    operator.endSession(a.session, { graceMs: 30_000 });
    expect(operator.endSession(a.session, { graceMs: 40_000 })).toHaveLength(1);
    const [, notice] = operator.endSession(a.session, { graceMs: 20_000 });
    expect(notice).toMatchObject({ endsAt: 30_000 });
  });

  test("may be at once, and is of all that it has", () => {
    const { log, a, operator, hold } = held();
    a.acquire(exclusive("k"), 900, { task: 2 });
    expect(operator.endSession(a.session, { now: true })).toMatchObject([
      { kind: MESSAGE.reply, result: { status: ok } },
      { kind: MESSAGE.ended, session: a.session, reason: END_REASON.revoked },
      { kind: MESSAGE.outcome, result: { token: hold.token + 1 } },
    ]);
    expect(log.table.counts()).toMatchObject({ sessions: 2, holds: 1, waiters: 0 });
    expect(a.end(hold)).toMatchObject([{ kind: MESSAGE.ended, reason: END_REASON.unknown }]);
  });

  test("may be the operator's own", () => {
    const { log, operator } = held();
    expect(operator.endSession(operator.session, { now: true })).toMatchObject([
      { kind: MESSAGE.reply, result: { status: ok } },
      { kind: MESSAGE.ended, session: operator.session },
    ]);
    expect(log.table.counts().sessions).toBe(2);
  });

  test("that was to come makes it dead at that time, swept or not", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [first, a] = [log.open("first", 1_000), log.open("a", 1_000)];
    const operator = log.open("operator", 60_000);
    operator.endSession(a.session);
    log.stamp += 500;
    a.keepalive();
    log.stamp += 500;
    expect(a.end(1)).toMatchObject([
      { kind: MESSAGE.ended, session: first.session },
      { kind: MESSAGE.ended, session: a.session, reason: END_REASON.revoked },
    ]);
    expect(log.table.counts().sessions).toBe(2);
  });
});

describe("who ordered an end", () => {
  /** The ends that a listener hears: key, reason, who ordered it, and how long was waited for it. */
  function scene() {
    const log = new ClusterLog();
    const ends: unknown[] = [];
    log.table.listen(({ type, key, reason, orderedBy, waitedMs }) => {
      if (type === "ended") ends.push([key, reason, orderedBy, waitedMs]);
    });
    const [a, b, operator] = [log.open("a"), log.open("b"), log.open("operator")];
    return { log, ends, a, b, operator };
  }

  test("hears of a revoke at once, and of one at its time", () => {
    const { log, ends, a, operator } = scene();
    a.take(exclusive("k"));
    operator.revokeKey("k", { now: true });
    a.take(exclusive("l"));
    operator.revokeKey("l");
    expect(log.table.inspect("l").holds).toMatchObject([{ orderedBy: "anonymous" }]);
    log.pass(600_000);
    expect(ends).toContainEqual(["k", END_REASON.revoked, "anonymous", 0]);
    expect(ends.filter((end) => (end as unknown[])[0] === "l")).toHaveLength(1);
  });

  test("hears when the holder gives back in time, and not of any other end", () => {
    const { ends, a, operator } = scene();
    const hold = a.take(exclusive("k"));
    operator.revokeKey("k", { graceMs: 60_000 });
    a.end(hold);
    a.end(a.take(exclusive("l")));
    expect(ends).toEqual([
      ["k", END_REASON.released, "anonymous", 0],
      ["l", END_REASON.released, "", 0],
    ]);
  });

  test("hears of each claim of a session that is ended, and the wait of each", () => {
    const { log, ends, a, b, operator } = scene();
    const first = a.take(exclusive("k"));
    b.acquire(exclusive("k"));
    log.pass(700);
    a.end(first);
    b.take(exclusive("l"), { task: 2 });
    ends.length = 0;
    expect(log.table.inspect("k").holds).toMatchObject([{ waitedMs: 700 }]);
    operator.endSession(b.session, { now: true });
    expect(ends).toEqual([
      ["k", END_REASON.revoked, "anonymous", 700],
      ["l", END_REASON.revoked, "anonymous", 0],
    ]);
  });

  test("hears of a steal", () => {
    const { ends, a, b } = scene();
    a.take(exclusive("k"));
    b.take(exclusive("k"), { options: { steal: true } });
    expect(ends).toEqual([["k", END_REASON.stolen, "anonymous", 0]]);
  });
});
