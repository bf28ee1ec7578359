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
