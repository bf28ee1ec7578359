/** Commands that change a hold: downgrades, upgrades and updates of its value. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { BLOCKED_BY, MESSAGE, STATUS } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";

const { ok, granted, queued, released, upgraded } = STATUS;
const notHeld = { status: ERROR_NUMBERS.NOT_HELD };

const modes = (log: ClusterLog, key = "k") =>
  log.table.inspect(key).holds.map(({ sessionName, mode }) => `${sessionName} ${mode}`);

/** Two who share a key, and one who waits for it. */
function sharing(): { log: ClusterLog; a: Client; b: Client; c: Client; x: Taken; y: Taken } {
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
    const hold = a.take();
    b.acquire(shared("k"));
    c.acquire(exclusive("k"));
    expect(a.downgrade(hold)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: ok } },
      { kind: MESSAGE.outcome, result: { status: granted, token: hold.token + 1 } },
      { kind: MESSAGE.contended, sequence: 1 },
    ]);
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
    expect(log.table.verify("k", hold.token).isCurrent).toBe(true);
  });

  test("is of one key or of all, permits left as they are", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take([...exclusive("x", "y"), ...permits("s", 1, 1)]);
    a.downgrade(hold, "y");
    expect([modes(log, "x"), modes(log, "y")]).toEqual([["a exclusive"], ["a shared"]]);
    expect(resultOf(a.downgrade(hold))).toEqual({ status: ok });
    expect([modes(log, "x"), modes(log, "s")]).toEqual([["a shared"], ["a permits"]]);
    expect(resultOf(a.downgrade(hold))).toEqual({ status: ok });
  });
});

describe("an upgrade", () => {
  test("of the only one who holds the key is granted at once, past all who wait", () => {
    const { log, a, b, x, y } = sharing();
    b.end(y);
    expect(a.upgrade(x)).toEqual({ status: upgraded, token: y.token + 1 });
    expect(log.line("k")).toEqual(["a", "|", "c"]);
    expect(modes(log)).toEqual(["a exclusive"]);
    expect(log.table.verify("k", x.token)).toEqual({ isCurrent: false, newestToken: y.token + 1 });
  });

  test("waits ahead of the queue for the others who hold it, and keeps what it has", () => {
    const { log, a, b, x, y } = sharing();
    expect(a.upgrade(x)).toEqual({ status: queued });
    expect(log.line("k")).toEqual(["a", "b", "|", "a", "c"]);
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    const result = { status: upgraded, token: y.token + 1 };
    expect(b.end(y)[1]).toMatchObject({ kind: MESSAGE.outcome, sequence: 2, result });
    expect(log.line("k")).toEqual(["a", "|", "c"]);
  });

  test("lets no new one in who would share the key", () => {
    const { log, a, x, c } = sharing();
    c.end(1);
    a.upgrade(x);
    expect(log.open("d").acquire(shared("k"))).toEqual({ status: queued });
  });

  test("of a hold of several keys is of one of them", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(shared("x", "y"));
    expect(a.upgrade(token, "y")).toMatchObject({ status: upgraded });
    expect([modes(log, "x"), modes(log, "y")]).toEqual([["a shared"], ["a exclusive"]]);
    // The token is the hold's, in all its keys.
    expect(log.table.verify("x", token.token + 1).isCurrent).toBe(true);
  });

  test("that may not wait learns who is in its way, which is not its own hold", () => {
    const { log, a, x, y } = sharing();
    expect(a.upgrade(x, "k", 0)).toEqual({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy: BLOCKED_BY.holds,
      blockers: [
        {
          ...{ sessionName: "b", key: "k", mode: "shared", token: y.token, identity: "anonymous" },
          ...{ session: 2, holder: "session" },
        },
      ],
    });
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
  });

  test("next to another one is a deadlock, which the second learns and keeps its hold", () => {
    const { log, a, b, x, y } = sharing();
    a.upgrade(x);
    const refused = b.upgrade(y);
    expect(refused).toMatchObject({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [{ sessionName: "b" }, { sessionName: "a" }],
    });
    expect(modes(log)).toEqual(["a shared", "b shared"]);
    expect(resultOf(b.end(y))).toEqual({ status: released });
    expect(modes(log)).toEqual(["a exclusive"]);
  });

  test.each([
    [
      "a downgrade",
      ({ a, x }: ReturnType<typeof sharing>) => a.downgrade(x, "k"),
      ERROR_NUMBERS.CANCELLED,
    ],
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
    expect(log.table.inspect("k").holds[0]).toMatchObject({ token: x.token, mode: before?.mode });
    expect(log.line("k")).toEqual(["a", "b", "|", "c"]);
    expect(resultOf(a.end(x))).toEqual({ status: released });
  });

  test("that was granted is taken back by a downgrade, which keeps the newest token", () => {
    const { log, a, b, x, y } = sharing();
    b.end(y);
    a.upgrade(x);
    expect(resultOf(a.downgrade(x, "k"))).toEqual({ status: ok });
    const [hold] = log.table.inspect("k").holds;
    expect(hold).toMatchObject({ sequence: x.sequence, token: y.token + 1, mode: "shared" });
  });

  test("of a key that is held exclusively already is answered with the current token", () => {
    const { log, a, b, x, y } = sharing();
    b.end(y);
    a.upgrade(x);
    expect(a.upgrade(x)).toEqual({ status: upgraded, token: y.token + 1 });
    expect(log.table.inspect("k").holds).toMatchObject([{ token: y.token + 1 }]);
  });

  test("is refused while another one of its hold waits, in whatever key", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take([...shared("k", "l"), ...exclusive("x")]);
    b.take(shared("k"));
    a.upgrade(hold);
    const invalid = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
    expect(a.upgrade(hold)).toEqual(invalid);
    expect(a.upgrade(hold, "l")).toEqual(invalid);
    expect(a.upgrade(hold, "x")).toEqual({ status: upgraded, token: hold.token });
    expect(a.upgrade(hold, "y")).toEqual(notHeld);
    a.end(2);
    expect(a.upgrade(hold, "l")).toMatchObject({ status: upgraded });
  });

  test.each([
    ["its release", ({ a, x }: ReturnType<typeof sharing>) => a.end(x)],
    ["a revoke", ({ b, x }: ReturnType<typeof sharing>) => b.revokeToken(x.token, { now: true })],
    ["its hand-over", ({ a, x }: ReturnType<typeof sharing>) => a.handOver(x, "11".repeat(16))],
  ] as const)("under which the hold ends by %s gets NOT_HELD", (_, end) => {
    const of = sharing();
    of.a.upgrade(of.x);
    const outcome = { kind: MESSAGE.outcome, sequence: 2, stamp: 10_000, result: notHeld };
    expect(end(of)).toContainEqual(outcome);
    expect(of.log.table.counts().waiters).toBe(1);
  });

  test("under which the hold reaches its cap gets NOT_HELD", () => {
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

describe("an update", () => {
  test("changes the value that others see, and nothing else", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take(exclusive("k"), { options: { value: "one" } });
    const [before] = log.table.inspect("k").holds;
    expect(resultOf(a.update(hold, "two"))).toEqual({ status: ok });
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
