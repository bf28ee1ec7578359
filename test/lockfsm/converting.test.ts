import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { BLOCKED_BY, END_REASON, MESSAGE, STATUS } from "../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, resultOf, shared } from "./cluster-log.js";

const { ok, granted, queued, released, notReleased, upgraded } = STATUS;
const notHeld = { status: ERROR_NUMBERS.NOT_HELD };

const modes = (log: ClusterLog, key = "k") =>
  log.table.inspect(key).holds.map(({ sessionName, mode }) => `${sessionName} ${mode}`);

/** Two who share a key, and one who waits for it. */
function sharing(): { log: ClusterLog; a: Client; b: Client; c: Client; x: number; y: number } {
  const log = new ClusterLog();
  const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
  const [x, y] = [a.take(shared("k")), b.take(shared("k"))];
  c.acquire(exclusive("k"));
  return { log, a, b, c, x, y };
}

describe("a downgrade", () => {
  test("makes exclusive shared in place, at once and under the same token", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const token = a.take();
    b.acquire(shared("k"));
    c.acquire(exclusive("k"));
    expect(a.downgrade(token)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: ok } },
      { kind: MESSAGE.outcome, result: { status: granted, token: token + 1 } },
      { kind: MESSAGE.contended, token: token + 1 },
    ]);
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
    expect(log.table.verify("k", token).isCurrent).toBe(true);
  });

  test("is of one key or of all, permits left as they are", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take([...exclusive("x", "y"), ...permits("s", 1, 1)]);
    a.downgrade(token, "y");
    expect([modes(log, "x"), modes(log, "y")]).toEqual([["a exclusive"], ["a shared"]]);
    expect(resultOf(a.downgrade(token))).toEqual({ status: ok });
    expect([modes(log, "x"), modes(log, "s")]).toEqual([["a shared"], ["a permits"]]);
    expect(resultOf(a.downgrade(token))).toEqual({ status: ok });
  });
});

describe("an upgrade", () => {
  test("of the only one who holds the key is granted at once, past all who wait", () => {
    const { log, a, b, x, y } = sharing();
    b.release(y);
    expect(a.upgrade(x)).toEqual({ status: upgraded, token: y + 1, key: "k" });
    expect(log.line("k")).toEqual(["a", "|", "c"]);
    expect(modes(log)).toEqual(["a exclusive"]);
    expect(log.table.verify("k", x)).toEqual({ isCurrent: false, newestToken: y + 1 });
  });

  test("waits ahead of the queue for the others who hold it, and keeps what it has", () => {
    const { log, a, b, x, y } = sharing();
    expect(a.upgrade(x)).toEqual({ status: queued });
    expect(log.line("k")).toEqual(["a", "b", "|", "a", "c"]);
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    const result = { status: upgraded, token: y + 1, key: "k" };
    expect(b.release(y)[1]).toMatchObject({ kind: MESSAGE.outcome, sequence: 2, result });
    expect(log.line("k")).toEqual(["a", "|", "c"]);
  });

  test("lets no new one in who would share the key", () => {
    const { log, a, x, c } = sharing();
    c.cancel(1);
    a.upgrade(x);
    expect(log.open("d").acquire(shared("k"))).toEqual({ status: queued });
  });

  test("of a hold of several keys is of one of them", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(shared("x", "y"));
    expect(a.upgrade(token, "y")).toMatchObject({ status: upgraded, key: "y" });
    expect([modes(log, "x"), modes(log, "y")]).toEqual([["a shared"], ["a exclusive"]]);
    // The token is that of the hold, in all its keys.
    expect(log.table.verify("x", token + 1).isCurrent).toBe(true);
  });

  test("that may not wait is told who is in its way, which is not its own hold", () => {
    const { log, a, x, y } = sharing();
    expect(a.upgrade(x, "k", 0)).toEqual({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy: BLOCKED_BY.holds,
      blockers: [{ sessionName: "b", key: "k", mode: "shared", token: y }],
    });
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
  });

  test("beside another one is a deadlock, of which the second is told and keeps its hold", () => {
    const { log, a, b, x, y } = sharing();
    a.upgrade(x);
    const refused = b.upgrade(y);
    expect(refused).toMatchObject({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [{ sessionName: "b" }, { sessionName: "a" }],
    });
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    expect(resultOf(b.release(y))).toEqual({ status: released });
    expect(modes(log)).toEqual(["a exclusive"]);
  });

  test.each([
    ["a cancel", ({ a }: ReturnType<typeof sharing>) => a.cancel(2), ERROR_NUMBERS.CANCELLED],
    [
      "its deadline",
      ({ log }: ReturnType<typeof sharing>) => log.pass(500),
      ERROR_NUMBERS.LOCK_TIMEOUT,
    ],
  ] as const)("that ends by %s leaves the shared hold as it was", (_, end, status) => {
    const of = sharing();
    const { log, a, x } = of;
    const before = log.table.inspect("k").holds[0];
    a.upgrade(x, "k", 500);
    const said = end(of);
    expect(said.at(-1)).toMatchObject({ kind: MESSAGE.outcome, sequence: 2, result: { status } });
    expect(log.table.inspect("k").holds[0]).toMatchObject({ token: x, mode: before?.mode });
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
    expect(resultOf(a.release(x))).toEqual({ status: released });
  });

  test("that was granted is taken back by a cancel: a downgrade that keeps the newest token", () => {
    const { log, a, b, x, y } = sharing();
    b.release(y);
    a.upgrade(x);
    expect(resultOf(a.cancel(2))).toEqual({ status: released });
    expect(log.table.inspect("k").holds).toMatchObject([{ token: y + 1, mode: "shared" }]);
    const reason = END_REASON.cancelled;
    expect(resultOf(a.cancel(2))).toEqual({ status: notReleased, reason });
  });

  test.each([
    ["its release", ({ a, x }: ReturnType<typeof sharing>) => a.release(x)],
    ["a revoke", ({ b, x }: ReturnType<typeof sharing>) => b.revokeToken(x, { now: true })],
    ["its detachment", ({ a, x }: ReturnType<typeof sharing>) => a.detach(x, "11".repeat(16))],
  ] as const)("under which the hold ends by %s is told NOT_HELD", (_, end) => {
    const of = sharing();
    of.a.upgrade(of.x);
    const outcome = { kind: MESSAGE.outcome, sequence: 2, stamp: 10_000, result: notHeld };
    expect(end(of)).toContainEqual(outcome);
    expect(of.log.table.counts().waiters).toBe(1);
  });

  test("under which the hold meets its cap is told NOT_HELD", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take(shared("k"), { options: { maxHoldMs: 1_000 } });
    b.take(shared("k"));
    a.upgrade(token);
    const said = log.pass(1_000);
    expect(said).toContainEqual({
      kind: MESSAGE.outcome,
      sequence: 2,
      stamp: 11_000,
      result: notHeld,
    });
    expect(log.line("k")).toEqual(["b", "|"]);
  });
});

describe("the token that a hold had before an upgrade", () => {
  /** A hold that was upgraded, with both tokens. */
  function upgradedHold() {
    const log = new ClusterLog();
    const a = log.open("a");
    const old = a.take(shared("k"), { acknowledged: [] });
    a.upgrade(old);
    return { log, a, old, token: old + 1 };
  }

  test("finds it for recall, release and cancel until the outcome is acknowledged", () => {
    const { log, a, old, token } = upgradedHold();
    expect(a.recall([], [old])).toMatchObject([
      { tokens: [{ token: old, held: true, current: token }] },
    ]);
    expect(resultOf(a.release(old))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("finds it for the cancel of the acquire that brought it", () => {
    const { log, a } = upgradedHold();
    expect(resultOf(a.cancel(1))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is unknown as soon as the outcome was read, and all that name the old one", () => {
    const { log, a, old, token } = upgradedHold();
    const unknown = { status: notReleased, reason: END_REASON.unknown };
    a.keepalive({ acknowledged: [2] });
    expect(a.recall([1], [old])).toMatchObject([{ tokens: [{ token: old, held: true }] }]);
    expect(resultOf(a.release(old, { acknowledged: [1] }))).toEqual(unknown);
    expect(a.recall([], [old])).toMatchObject([{ tokens: [{ token: old, held: false }] }]);
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(resultOf(a.release(token))).toEqual({ status: released });
  });

  test("goes with the outcome of a later upgrade too, in whatever order they are read", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const first = a.take(shared("x", "y"));
    a.upgrade(first, "x");
    a.upgrade(first, "y", 0, { acknowledged: [1] });
    const found = () => {
      const [message] = a.recall([], [first, first + 1, first + 2]);
      return message?.kind === MESSAGE.recalled && message.tokens.map(({ held }) => held);
    };
    a.keepalive({ acknowledged: [3] });
    // The other one may still be cancelled, in the name of the token that it brought.
    expect(found()).toEqual([false, true, true]);
    a.keepalive({ acknowledged: [2] });
    expect(found()).toEqual([false, false, true]);
  });

  test("finds it for the cancel of the upgrade that brought it, when a later one was read", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const first = a.take(shared("x", "y"));
    a.upgrade(first, "x");
    a.upgrade(first, "y");
    expect(resultOf(a.cancel(2, { acknowledged: [1, 3] }))).toEqual({ status: released });
    expect([modes(log, "x"), modes(log, "y")]).toEqual([["a shared"], ["a exclusive"]]);
  });

  test("finds a hold that was claimed until that, too, was read", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const ticket = a.take(shared("k"));
    a.detach(ticket, "11".repeat(16));
    b.claim(ticket, "11".repeat(16));
    b.upgrade(ticket + 1);
    expect(resultOf(b.cancel(1, { acknowledged: [2] }))).toEqual({ status: released });
    expect(log.line("k")).toEqual(["|"]);
  });

  test("is told to have ended with the hold, like the newest one", () => {
    const { a, old, token } = upgradedHold();
    a.release(token);
    const reason = END_REASON.released;
    expect(a.recall([1, 2], [])).toMatchObject([
      {
        tokens: [
          { token: old, held: false, reason },
          { token, held: false, reason },
        ],
      },
    ]);
  });
});

describe("an update", () => {
  test("changes the value that others see, and nothing else", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(exclusive("k"), { options: { value: "one" } });
    const [before] = log.table.inspect("k").holds;
    expect(resultOf(a.update(token, "two"))).toEqual({ status: ok });
    expect(log.table.inspect("k").holds).toEqual([{ ...before, value: "two" }]);
  });

  test("is of a hold of one's own", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take();
    expect(resultOf(b.update(token, "mine"))).toEqual(notHeld);
    expect(log.table.inspect("k").holds).toMatchObject([{ value: "" }]);
  });
});
