/** How a hold ends by itself, and how long its keys stay closed after that. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { BLOCKED_BY, END_REASON, MESSAGE, STATUS } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
} from "../plans/cluster-log.js";

interface Ending {
  readonly log: ClusterLog;
  readonly a: Client;
  readonly operator: Client;
  readonly token: number;
}

/** When each end comes after the grant, and how. */
const ENDS = {
  "a release": ({ a }: Ending) => a.end(1),
  "the close of its session": ({ a }: Ending) => a.close(),
  "the end of its lease": ({ log }: Ending) => log.apply(),
  "its maxHoldMs": ({ log }: Ending) => log.apply(),
  "a revoke": ({ operator, token }: Ending) => operator.revokeToken(token, { now: true }),
  "an operator's end of its session": ({ operator, a }: Ending) =>
    operator.endSession(a.session, { now: true }),
  "a steal": ({ log, operator }: Ending) =>
    log.apply(operator.acquiring(exclusive("k"), 0, { options: { steal: true } })),
} as const;
type EndName = keyof typeof ENDS;

const AFTER_MS = 2_000;
const { maxHold, revoked, stolen } = END_REASON;

/** The document's table: the reason told, and for how long the keys stay closed. */
const LINES: readonly (readonly [EndName, number | undefined, "rest" | "larger" | "nothing"])[] = [
  ["a release", undefined, "rest"],
  ["the close of its session", undefined, "rest"],
  ["the end of its lease", undefined, "larger"],
  ["its maxHoldMs", maxHold, "larger"],
  ["a revoke", revoked, "larger"],
  ["an operator's end of its session", undefined, "larger"],
  ["a steal", stolen, "nothing"],
];

/** A hold that ends 2 s after its grant; says for how long its key is closed from then on. */
function closedMsAfter(name: EndName, minHoldMs: number, lockDelayMs: number) {
  const log = new ClusterLog();
  const a = log.open("a", name === "the end of its lease" ? AFTER_MS : 60_000);
  const operator = log.open("operator", 60_000);
  const maxHoldMs = name === "its maxHoldMs" ? AFTER_MS : 0;
  const { token } = a.take(exclusive("k"), { options: { minHoldMs, lockDelayMs, maxHoldMs } });
  log.stamp += AFTER_MS;
  const said = ENDS[name]({ log, a, operator, token });
  const { cooldowns, holds } = log.table.inspect("k");
  expect(holds.filter((hold) => hold.token === token)).toEqual([]);
  return { log, token, said, closedMs: cooldowns[0]?.endsInMs ?? 0 };
}

describe("a hold that ends by", () => {
  test.each(LINES)(
    "%s reports its reason, and keeps its key closed for as long as that says",
    (...line) => {
      const [name, reason, closes] = line;
      for (const [minHoldMs, lockDelayMs] of [
        [9_000, 3_000],
        [4_000, 3_000],
        [1_000, 3_000],
        [9_000, 0],
        [1_000, 0],
        [0, 3_000],
        [0, 0],
      ] as const) {
        const { said, token, closedMs, log } = closedMsAfter(name, minHoldMs, lockDelayMs);
        const restMs = Math.max(0, minHoldMs - AFTER_MS);
        const largerMs = Math.max(restMs, lockDelayMs);
        expect(closedMs).toBe({ rest: restMs, larger: largerMs, nothing: 0 }[closes]);
        expect(log.table.counts().cooldowns).toBe(closedMs > 0 ? 1 : 0);
        const lost = said.filter(({ kind }) => kind === MESSAGE.lost);
        const told = { kind: MESSAGE.lost, sequence: 1, token, stamp: log.stamp, reason };
        expect(lost).toEqual(reason === undefined ? [] : [told]);
      }
    },
  );

  test("the end of its session says why the session ended, not what it held", () => {
    const reasons = (["the close of its session", "the end of its lease"] as const).map((name) => {
      const { said } = closedMsAfter(name, 0, 0);
      return said.map((message) => "reason" in message && message.reason).filter(Number);
    });
    expect(reasons).toEqual([[END_REASON.closed], [END_REASON.expired]]);
  });
});

describe("a key that is kept closed", () => {
  test("opens at its time, not before, and the first that waits is granted then", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    log.stamp += 1_000;
    b.acquire();
    expect(a.end(hold)).toHaveLength(1);
    expect(log.table.nextDueAt).toBe(15_000);
    log.pass(3_999);
    expect(log.line("k")).toEqual(["|", "b"]);
    const result = { status: STATUS.granted, token: hold.token + 1 };
    expect(log.pass(1)).toMatchObject([{ kind: MESSAGE.outcome, result }]);
  });

  test("lets a job run once in a window, however early it is done", () => {
    const log = new ClusterLog();
    const machines = [log.open("a", 600_000), log.open("b", 600_000), log.open("c", 600_000)];
    const options = { minHoldMs: 60_000 };
    let runs = 0;
    for (let second = 0; second < 120; second += 1) {
      for (const machine of machines) {
        const result = machine.acquire(exclusive("job"), 0, { options });
        if (result === undefined || !("token" in result)) continue;
        runs += 1;
        machine.end(machine.sequence);
      }
      log.pass(1_000);
    }
    expect(runs).toBe(2);
  });

  test("is said to be closed to who may not wait", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    a.end(hold);
    expect(b.acquire(exclusive("k"), 0)).toEqual({
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy: BLOCKED_BY.cooldown,
      blockers: [
        {
          ...{ sessionName: "", key: "k", mode: "exclusive", token: 0, identity: "" },
          ...{ session: 0, holder: null },
        },
      ],
    });
    expect(b.acquire(shared("k"), 0)).toMatchObject({ blockedBy: BLOCKED_BY.cooldown });
  });

  test("stays what it is, lock or semaphore, with its limit and its newest token", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(permits("s", 1, 1), { options: { minHoldMs: 5_000 } });
    a.end(hold);
    expect(b.acquire(exclusive("s"))).toEqual({ status: ERROR_NUMBERS.WRONG_KIND });
    const mismatch = { status: ERROR_NUMBERS.LIMIT_MISMATCH, limit: 1 };
    expect(b.acquire(permits("s", 1, 2))).toEqual(mismatch);
    expect(log.table.verify("s", hold.token)).toEqual({
      isCurrent: false,
      newestToken: hold.token,
    });
    log.pass(5_000);
    expect(b.acquire(exclusive("s"))).toMatchObject({ status: STATUS.granted });
  });

  test("is closed in every key of the hold, in each by what the hold was there", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const items = [...exclusive("x"), ...shared("y"), ...permits("s", 2, 3)];
    a.end(a.take(items, { options: { minHoldMs: 5_000 } }));
    const tries = [exclusive("x"), exclusive("y"), shared("y"), permits("s", 2), permits("s", 1)];
    const granted = tries.map((wanted) => b.acquire(wanted, 0)?.status === STATUS.granted);
    expect(granted).toEqual([false, false, true, false, true]);
    expect(log.table.inspect("s").holds).toMatchObject([{ slots: [2] }]);
    log.pass(5_000);
    expect(log.table.counts()).toMatchObject({ cooldowns: 0, holds: 2 });
  });

  test("is closed by what a downgrade made of the hold", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    a.downgrade(token);
    a.end(token);
    expect(b.acquire(shared("k"), 0)).toMatchObject({ status: STATUS.granted });
  });
});

describe("a cap", () => {
  test("ends the hold and not the session, and a release comes too late", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const token = a.take(exclusive("k"), { options: { maxHoldMs: 1_000 } });
    expect(log.pass(999)).toEqual([]);
    expect(log.table.inspect("k").holds).toMatchObject([{ endsInMs: 1 }]);
    expect(log.pass(1)).toHaveLength(1);
    const reason = END_REASON.maxHold;
    expect(resultOf(a.end(token))).toEqual({ status: STATUS.notReleased, reason });
    expect(a.acquire()).toMatchObject({ status: STATUS.granted });
  });

  test("is counted from the grant, not from when the request came", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    b.acquire(exclusive("k"), 60_000, { options: { maxHoldMs: 1_000, value: "capped" } });
    log.stamp += 5_000;
    a.end(hold);
    expect(log.table.inspect("k").holds).toMatchObject([{ endsInMs: 1_000, value: "capped" }]);
  });
});
