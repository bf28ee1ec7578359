import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { END_REASON, MESSAGE, STATUS } from "../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, resultOf, shared } from "./cluster-log.js";

const { granted, released, notReleased } = STATUS;

/** Once more what the client has, without a wait. */
function again(client: Client, items = exclusive("k")) {
  return client.acquire(items, 0, { options: { reentrant: true } });
}

describe("a reentrant acquire of what its owner holds", () => {
  test("counts the hold up, under the same token, past all who wait", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take();
    b.acquire();
    expect(again(a)).toEqual({ status: granted, token, count: 2 });
    expect(again(a)).toEqual({ status: granted, token, count: 3 });
    expect(log.table.inspect("k").holds).toMatchObject([{ token, count: 3 }]);
    expect(log.table.counts().holds).toBe(1);
  });

  test("needs as many releases as there were grants", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take();
    again(a);
    b.acquire();
    expect(resultOf(a.release(token))).toEqual({ status: released, remaining: 1 });
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    expect(resultOf(a.release(token))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is granted where each key is held at least as strongly", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take([...exclusive("x"), ...shared("y")]);
    expect(again(a, shared("y", "x"))).toEqual({ status: granted, token, count: 2 });
    expect(again(a, exclusive("x", "y"))).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
  });

  test("is another request where the keys are not exactly the same", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take(exclusive("x", "y"));
    expect(again(a, exclusive("x"))).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(again(a, exclusive("x", "y", "z"))).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(again(a, exclusive("z"))).toMatchObject({ status: granted });
  });

  test("of no more permits than are held gives the same slots", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(permits("s", 2, 3));
    const options = { reentrant: true };
    const slots = [[0, 1]];
    const fewer = { status: granted, token, count: 2, slots };
    expect(a.acquire(permits("s", 1), 0, { options })).toEqual(fewer);
    // Of more it is a request of its own: one is left.
    expect(a.acquire(permits("s", 3), 0, { options })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
  });

  test("is no such thing to another owner, or to one who holds nothing", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    const options = { reentrant: true };
    const held = { status: ERROR_NUMBERS.LOCK_HELD };
    expect(a.acquire(exclusive("k"), 0, { owner: 2, options })).toMatchObject(held);
    expect(again(b)).toMatchObject(held);
    expect(again(b, exclusive("free"))).toMatchObject({ status: granted });
  });
});

describe("a hold that is held several times", () => {
  test("has its cap counted from the first grant", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(exclusive("k"), { options: { maxHoldMs: 10_000 } });
    log.stamp += 9_000;
    again(a);
    expect(log.pass(999)).toEqual([]);
    const reason = END_REASON.maxHold;
    expect(log.pass(1)).toEqual([{ kind: MESSAGE.lost, token, stamp: log.stamp, reason }]);
  });

  test("has its minHoldMs counted from the first grant", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    log.stamp += 3_000;
    again(a);
    a.release(token);
    a.release(token);
    b.acquire();
    log.pass(1_999);
    expect(log.line("k")).toEqual(["|", "b"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is given up once by a cancel of one of its grants, and not twice by the same", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    again(a);
    again(a);
    expect(resultOf(a.cancel(3))).toEqual({ status: released, remaining: 2 });
    const reason = END_REASON.cancelled;
    expect(resultOf(a.cancel(3))).toEqual({ status: notReleased, reason });
    expect(resultOf(a.cancel(1))).toEqual({ status: released, remaining: 1 });
    expect(resultOf(a.cancel(2))).toEqual({ status: released });
    expect(resultOf(a.release(token))).toEqual({ status: notReleased, reason });
    expect(log.table.counts().keys).toBe(0);
  });

  test("ends at once with its session", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    again(a);
    b.acquire();
    a.close();
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("says on recall how often it is held", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take();
    again(a);
    expect(a.recall([], [token])).toMatchObject([{ tokens: [{ token, held: true, count: 2 }] }]);
  });
});

/**
 * One task asked for what another one holds, and left before it heard the answer; meanwhile the hold
 * got a newer token, and the session said that it knows that one.
 */
describe("a grant that was counted and not read, of a hold that was upgraded and that was read", () => {
  /** Sequences: 1 brought the hold, 2 counted it, 3 upgraded it; `read` of them are acknowledged. */
  function upgradedBetween(...read: number[]) {
    const log = new ClusterLog();
    const a = log.open("a");
    const old = a.take(shared("k"));
    again(a, shared("k"));
    a.upgrade(old);
    a.keepalive({ acknowledged: read });
    return { log, a, old, token: old + 1 };
  }

  test("is counted down by its cancel", () => {
    const { log, a, token } = upgradedBetween(1, 3);
    expect(resultOf(a.cancel(2))).toEqual({ status: released, remaining: 1 });
    expect(resultOf(a.release(token))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is what a cancel ends when the others were released", () => {
    const { log, a, token } = upgradedBetween(1, 3);
    const b = log.open("b");
    b.acquire();
    expect(resultOf(a.release(token))).toEqual({ status: released, remaining: 1 });
    expect(resultOf(a.cancel(2))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is counted down by its cancel where it was the first one that was not read", () => {
    const { log, a, token } = upgradedBetween(2, 3);
    expect(resultOf(a.cancel(1))).toEqual({ status: released, remaining: 1 });
    expect(resultOf(a.release(token))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is told on recall without the word that it has ended", () => {
    const { a, old, token } = upgradedBetween(1, 3);
    expect(a.recall([2])).toMatchObject([
      { sequences: [{ sequence: 2, result: { status: granted, token: old } }], tokens: [] },
    ]);
    expect(a.recall([], [old])).toMatchObject([
      { tokens: [{ token: old, held: true, current: token, count: 2 }] },
    ]);
  });

  test("is found by its token until the last such grant was read, and not for longer", () => {
    const { a, old, token } = upgradedBetween(3);
    again(a, shared("k"));
    const isHeld = () => {
      const [message] = a.recall([], [old]);
      return message?.kind === MESSAGE.recalled && message.tokens[0]?.held;
    };
    a.keepalive({ acknowledged: [1] });
    expect(isHeld()).toBe(true);
    // That one names the newer token.
    a.keepalive({ acknowledged: [4] });
    expect(isHeld()).toBe(true);
    a.keepalive({ acknowledged: [2] });
    expect(isHeld()).toBe(false);
    for (let remaining = 2; remaining > 0; remaining -= 1) {
      expect(resultOf(a.release(token))).toEqual({ status: released, remaining });
    }
    expect(resultOf(a.release(token))).toEqual({ status: released });
  });

  test("is counted down after several upgrades, whichever of them were read", () => {
    for (const read of [[5], [4], [4, 5], [5, 4], [1, 3, 5]]) {
      const log = new ClusterLog();
      const a = log.open("a");
      const first = a.take(shared("x", "y"));
      again(a, shared("x", "y"));
      again(a, shared("x", "y"));
      a.upgrade(first, "x");
      a.upgrade(first, "y");
      a.keepalive({ acknowledged: read });
      expect(resultOf(a.cancel(2)), `${read}`).toEqual({ status: released, remaining: 2 });
      expect(resultOf(a.release(first + 2))).toEqual({ status: released, remaining: 1 });
      expect(resultOf(a.release(first + 2))).toEqual({ status: released });
      expect(log.line("x")).toEqual(["|"]);
    }
  });

  test("is counted down after as many takeovers as there may be", () => {
    const { a, token } = upgradedBetween(1, 3);
    const counted = again(a, shared("k"));
    expect(counted).toEqual({ status: granted, token, count: 3 });
    for (let attempt = 2; attempt <= 9; attempt += 1) a.takeOver(attempt);
    expect(resultOf(a.cancel(4))).toEqual({ status: released, remaining: 2 });
    expect(resultOf(a.cancel(2))).toEqual({ status: released, remaining: 1 });
  });

  test("has nothing to give back once the hold was detached, and claimed by the same session", () => {
    const { log, a, token } = upgradedBetween(1, 3);
    a.detach(token, "11".repeat(16));
    const nothing = { status: notReleased, reason: END_REASON.unknown };
    expect(resultOf(a.cancel(2))).toEqual(nothing);
    a.claim(token, "11".repeat(16));
    expect(resultOf(a.cancel(2))).toEqual(nothing);
    a.keepalive({ acknowledged: [2] });
    expect(resultOf(a.release(token + 1))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("has nothing to give back once the hold has ended, and may be read then", () => {
    const { log, a, token } = upgradedBetween(1, 3);
    a.release(token);
    a.release(token);
    const nothing = { status: notReleased, reason: END_REASON.unknown };
    expect(resultOf(a.cancel(2))).toEqual(nothing);
    a.keepalive({ acknowledged: [2] });
    expect(a.take()).toBeGreaterThan(token);
    expect(log.line("k")).toEqual(["a", "|"]);
  });
});
