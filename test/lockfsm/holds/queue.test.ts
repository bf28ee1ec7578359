/** Acquire and release: when a request is granted, waits or is refused. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  BLOCKED_BY,
  END_REASON,
  MESSAGE,
  STATUS,
  TOKEN_MIN,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, permits, resultOf, shared } from "../plans/cluster-log.js";

describe("an acquire", () => {
  test("of a free key is granted in its own entry", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    expect(a.acquire()).toEqual({ status: STATUS.granted, token: TOKEN_MIN });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("waits behind a conflicting hold and is granted by the entry that releases it", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take();
    expect(b.acquire()).toEqual({ status: STATUS.queued });
    const messages = a.end(token);
    expect(messages).toMatchObject([
      { kind: MESSAGE.reply, sequence: 2, result: { status: STATUS.released } },
      {
        kind: MESSAGE.outcome,
        sequence: 1,
        result: { status: STATUS.granted, token: token.token + 1 },
      },
    ]);
    expect(log.said.at(-1)).toMatchObject({ session: b.session, epoch: 1 });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("in shared mode joins other shared holds, but does not pass a waiting exclusive one", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name));
    const first = a?.take(shared("k")) ?? 0;
    const second = b?.take(shared("k")) ?? 0;
    expect(c?.acquire(exclusive("k"))).toEqual({ status: STATUS.queued });
    expect(d?.acquire(shared("k"))).toEqual({ status: STATUS.queued });
    a?.end(first);
    expect(log.line("k")).toEqual(["b", "|", "c", "d"]);
    b?.end(second);
    expect(log.line("k")).toEqual(["c", "|", "d"]);
  });

  test("behind an exclusive hold lets a whole run of shared ones in at once", () => {
    const log = new ClusterLog();
    const names = ["w", "r1", "r2", "x", "r3"];
    const [w, ...rest] = names.map((name) => log.open(name));
    const token = w?.take() ?? 0;
    for (const [at, client] of rest.entries()) {
      client.acquire(at === 2 ? exclusive("k") : shared("k"));
    }
    w?.end(token);
    expect(log.line("k")).toEqual(["r1", "r2", "|", "x", "r3"]);
  });

  test("of several keys gets all of them or none, and holds its place in each", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take(exclusive("y"));
    expect(b.acquire(exclusive("x", "y"))).toEqual({ status: STATUS.queued });
    expect(c.acquire(exclusive("x"))).toEqual({ status: STATUS.queued });
    expect(log.line("x")).toEqual(["|", "b", "c"]);
    a.end(hold);
    expect([log.line("x"), log.line("y")]).toEqual([
      ["b", "|", "c"],
      ["b", "|"],
    ]);
    b.end(1);
    expect([log.line("x"), log.line("y")]).toEqual([["c", "|"], ["|"]]);
  });

  test("that may not wait learns what is in its way", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take(shared("k"));
    b.acquire(exclusive("k"));
    const blockedBy = BLOCKED_BY.holds;
    const told = { key: "k", identity: "anonymous" };
    const waiting = {
      ...told,
      ...{ sessionName: "b", session: 2, mode: "exclusive", token: 0, holder: null },
    };
    const holding = {
      ...told,
      ...{ sessionName: "a", session: 1, mode: "shared", token: hold.token, holder: "session" },
    };
    expect(c.acquire(exclusive("k"), 0)).toEqual({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy,
      blockers: [holding, waiting],
    });
    expect(c.acquire(shared("k"), 0)).toEqual({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy: BLOCKED_BY.waiters,
      blockers: [waiting],
    });
    expect(log.line("k")).toEqual(["a", "|", "b"]);
  });

  test("that may not wait is named nobody behind the sixteenth it looked at", () => {
    const log = new ClusterLog();
    const holder = log.open("holder");
    holder.take(exclusive("k"));
    const others = Array.from({ length: 20 }, (_, i) => log.open(`waiter ${i + 1}`));
    // Exclusive are the first two and everybody from the sixteenth on.
    others.forEach((other, i) => {
      other.acquire(i < 2 || i >= 15 ? exclusive("k") : shared("k"));
    });
    const refused = log.open("refused").acquire(shared("k"), 0);
    expect(refused).toMatchObject({
      blockers: ["holder", "waiter 1", "waiter 2", "waiter 16"].map((sessionName) => {
        return { sessionName };
      }),
    });
    others[1]?.close();
    expect(log.open("later").acquire(shared("k"), 0)).toMatchObject({
      blockers: ["holder", "waiter 1", "waiter 16", "waiter 17"].map((sessionName) => {
        return { sessionName };
      }),
    });
  });

  test("is refused when the queue of a key is full", () => {
    const log = new ClusterLog({ waitersMax: 1 });
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take();
    b.acquire();
    expect(c.acquire(exclusive("other", "k"))).toEqual({ status: ERROR_NUMBERS.QUEUE_FULL });
    expect(log.line("other")).toEqual(["|"]);
  });

  test("with no items, too many, one twice, or an impossible wait is invalid", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const invalid = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
    const names = Array.from({ length: 17 }, (_, at) => `k${at}`);
    expect(a.acquire([])).toEqual(invalid);
    expect(a.acquire(exclusive(...names))).toEqual(invalid);
    expect(a.acquire([...exclusive("x", "y"), ...shared("x")])).toEqual(invalid);
    expect(a.acquire(exclusive("k"), -2)).toEqual(invalid);
    expect(a.acquire(exclusive("k"), 2 ** 32)).toEqual(invalid);
    expect(a.acquire(exclusive(...names.slice(1)))).toMatchObject({ status: STATUS.granted });
  });

  test("of what its task's own hold excludes would wait for itself, and learns so", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take();
    const who = { session: a.session, sessionName: "a", task: 1, identity: "anonymous" };
    const self = { ...who, key: "k", mode: "exclusive" };
    const status = ERROR_NUMBERS.DEADLOCK;
    expect(a.acquire()).toEqual({ status, cycle: [self] });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("of another task of the same session waits like anyone's", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    expect(a.acquire(exclusive("k"), WAIT_FOREVER, { task: 2 })).toEqual({
      status: STATUS.queued,
    });
    a.end(hold);
    expect(log.table.inspect("k").holds).toMatchObject([{ task: 2, session: a.session }]);
  });

  test("that nobody may look for cycles through waits for itself forever", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take();
    const options = { detect: false };
    expect(a.acquire(exclusive("k"), 500, { options })).toEqual({ status: STATUS.queued });
    log.pass(499);
    expect(log.line("k")).toEqual(["a", "|", "a"]);
    expect(resultOf(log.pass(1))).toEqual({ status: ERROR_NUMBERS.LOCK_TIMEOUT });
  });

  test("of a lock and permits lets those behind it in as soon as it is granted", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = [log.open("a"), log.open("b"), log.open("c"), log.open("d")];
    a.take(permits("s", 1, 4));
    const hold = a.take(exclusive("k"), { task: 2 });
    b.acquire([...exclusive("k"), ...permits("s", 1)]);
    // Behind a waiting request for permits everybody queues, though there are some left.
    c.acquire(permits("s", 1));
    d.acquire(permits("s", 2));
    expect(log.line("s")).toEqual(["a", "|", "b", "c", "d"]);
    a.end(hold);
    expect(log.line("s")).toEqual(["a", "b", "c", "|", "d"]);
    expect(log.table.hasQueuedWork).toBe(false);
  });

  test("times out at its deadline, not before, and lets those behind it in", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(shared("k"));
    b.acquire(exclusive("k"), 100);
    c.acquire(shared("k"));
    expect(log.table.nextDueAt).toBe(10_100);
    expect(log.pass(99)).toEqual([]);
    const [timeout, grant] = log.pass(1);
    expect(timeout).toEqual({
      kind: MESSAGE.outcome,
      sequence: 1,
      stamp: 10_100,
      result: { status: ERROR_NUMBERS.LOCK_TIMEOUT },
    });
    expect(grant).toMatchObject({ kind: MESSAGE.outcome, result: { status: STATUS.granted } });
    expect(log.line("k")).toEqual(["a", "c", "|"]);
  });
});

describe("a release", () => {
  test("of another session's number changes nothing and reveals nothing", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    expect(resultOf(b.end(hold))).toEqual({
      status: STATUS.notReleased,
      reason: END_REASON.unknown,
    });
    expect(log.line("k")).toEqual(["a", "|"]);
  });
});

test("a key that nobody holds or waits for takes no memory", () => {
  const log = new ClusterLog();
  const a = log.open("a");
  for (let round = 0; round < 50; round += 1) {
    const hold = a.take(exclusive(`x${round}`, `y${round}`));
    expect(log.table.counts()).toMatchObject({ keys: 2, holds: 1 });
    a.end(hold);
  }
  expect(log.table.counts()).toMatchObject({ sessions: 1, keys: 0, holds: 0, waiters: 0 });
});
