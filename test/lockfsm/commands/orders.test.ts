/** Orders of operators that belong to no session, for when no session can be had. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { refound } from "../../../src/lockfsm/snapshot/refound.js";
import {
  ANONYMOUS,
  type Command,
  END_REASON,
  MESSAGE,
  OP,
  type OrderCommand,
  type Result,
  STATUS,
  type StateOrder,
} from "../../../src/protocol/index.js";
import { AccessLog } from "../plans/access-log.js";
import { ClusterLog, exclusive, shared, unattached } from "../plans/cluster-log.js";
import { restored } from "../plans/snapshots.js";

const head = { sequence: 77, mark: 0, acknowledged: [] };
const OK: Result = { status: STATUS.ok };
const force = { graceMs: 0, now: true, reason: "" };
const left = { endsInMs: 0, leasesLeft: 0 };

/** Gives the order at that order count, and returns what it was answered. */
function give(log: ClusterLog, command: OrderCommand, mark = 0) {
  log.apply({ session: 0, epoch: 0, command: { ...command, mark } });
  return log.said.findLast(({ session }) => session === 0)?.message;
}

describe("an order without a session", () => {
  test("is carried out and answered by its number, when there is no room for a session", () => {
    const log = new ClusterLog({ sessionsMax: 1 });
    const victim = log.open("victim");
    const hold = victim.take(exclusive("k"));
    const answered = (result: object) => ({ kind: 3, sequence: 77, stamp: log.stamp, result });
    expect(give(log, { op: OP.setLimit, ...head, key: "s", limit: 3 })).toEqual(
      answered({ status: STATUS.ok }),
    );
    expect(
      give(log, { op: OP.revoke, ...head, key: undefined, token: hold.token, ...force }),
    ).toEqual(answered({ status: STATUS.revoked, count: 1, remaining: 0, opened: 0, ...left }));
    const { session } = victim;
    expect(give(log, { op: OP.endSession, ...head, session, ...force })).toEqual(
      answered({ status: STATUS.ok }),
    );
    expect(give(log, { op: OP.endSession, ...head, session, ...force })).toEqual(
      answered({ status: ERROR_NUMBERS.NOT_HELD }),
    );
    const wanted = { op: OP.changeSetting, ...head, name: "sessionsMax", value: 2 } as const;
    expect(give(log, wanted)).toEqual(answered({ status: STATUS.ok }));
    expect(give(log, { ...wanted, value: 0 }, 1)).toEqual(
      answered({ status: ERROR_NUMBERS.INVALID_ARGUMENT }),
    );
    expect(log.table.counts()).toMatchObject({ sessions: 0, holds: 0 });
    expect(log.table.settings().find(({ name }) => name === "sessionsMax")?.value).toBe(2);
  });

  test("does no harm when it is carried out twice: a revoke of a key names the newest token that it means", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const first = a.take(shared("k"));
    const newest = b.take(shared("k"));
    c.acquire(exclusive("k"), 60_000);
    const order = { op: OP.revoke, ...head, key: "k", token: newest.token, ...force } as const;
    expect(newest.token).toBeGreaterThan(first.token);
    expect(give(log, order)).toMatchObject({ result: { count: 2, remaining: 0 } });
    expect(log.line("k")).toEqual(["c", "|"]);
    expect(give(log, order)).toMatchObject({ result: { count: 0, remaining: 0 } });
    expect(log.line("k")).toEqual(["c", "|"]);
  });

  test("is all that nobody's session may say", () => {
    const log = new ClusterLog();
    log.open("a").take(exclusive("k"));
    const items = exclusive("x");
    const acquire = { op: OP.acquire, ...head, task: 1, items, waitMs: 0 } as const;
    const others: Command[] = [acquire, { op: OP.close, ...head }];
    for (const command of others) {
      log.apply({ session: 0, epoch: 0, command });
      const message = { kind: MESSAGE.ended, session: 0, reason: END_REASON.unknown };
      expect(log.said.at(-1)).toMatchObject({ session: 0, message });
    }
    expect(log.table.counts()).toMatchObject({ sessions: 1, holds: 1, waiters: 0 });
  });
});

/** Orders that contradict each other, of the two that are counted together and the one that is not. */
const grant = { op: OP.setGrant, ...head, name: ANONYMOUS, key: "k", isPrefix: false } as const;
const pairs: readonly (readonly [StateOrder, StateOrder])[] = [
  [
    { ...grant, level: "operate" },
    { ...grant, level: "none" },
  ],
  [
    { op: OP.putIdentity, ...head, name: "amber" },
    { op: OP.removeIdentity, ...head, name: "amber" },
  ],
  [
    { op: OP.changeSetting, ...head, name: "sessionsMax", value: 2 },
    { op: OP.changeSetting, ...head, name: "sessionsMax", value: undefined },
  ],
  [
    { op: OP.setLimit, ...head, key: "s", limit: 3 },
    { op: OP.setLimit, ...head, key: "s", limit: undefined },
  ],
];

describe("a state order without a session", () => {
  test.each(pairs)(
    "has no effect after a later one, however late a copy is (%#)",
    (order, later) => {
      const log = new ClusterLog();
      expect(give(log, order, 0)).toMatchObject({ result: OK });
      expect(give(log, order, 0)).toMatchObject({ result: outdated(1) });
      expect(give(log, later, 1)).toMatchObject({ result: OK });
      const { index, adminOrderCount, limitOrderCount } = log.state;
      const shown = () => [
        log.table.listIdentities(undefined, 9),
        log.table.settings(),
        limitOf(log),
      ];
      const before = shown();
      for (const count of [0, 1, 3, 2 ** 53 - 1]) {
        expect(give(log, order, count)).toMatchObject({ result: outdated(2) });
      }
      expect(shown()).toEqual(before);
      expect(log.state).toMatchObject({ index: index + 4, adminOrderCount, limitOrderCount });
      expect(give(log, order, 2)).toMatchObject({ result: OK });
      expect(shown()).not.toEqual(before);
    },
  );

  test("is shut out by a later one that found all as it wished, was refused, or was of a session", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const [order, nothing] = pairs[0] as (typeof pairs)[0];
    expect(give(log, nothing, 0)).toMatchObject({ result: OK });
    expect(give(log, order, 0)).toMatchObject({ result: outdated(1) });
    const wrong = { op: OP.changeSetting, ...head, name: "sessionsMax", value: 0 } as const;
    const refused = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
    expect(give(log, wrong, 1)).toMatchObject({ result: refused });
    expect(give(log, order, 1)).toMatchObject({ result: outdated(2) });
    a.send({ ...nothing, sequence: 1, mark: 1 });
    expect(give(log, order, 2)).toMatchObject({ result: outdated(3) });
    expect(log.state.access.anonymous.findGrant("k", false)).toBeUndefined();
  });

  test("that was refused stays refused, though it could be carried out by now", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const { sequence } = a.take(exclusive("s"));
    const order = { op: OP.setLimit, ...head, key: "s", limit: 3 } as const;
    const refused = { status: ERROR_NUMBERS.WRONG_KIND };
    expect(give(log, order, 0)).toMatchObject({ result: refused });
    a.end(sequence);
    expect(give(log, order, 0)).toMatchObject({ result: outdated(1) });
    expect(limitOf(log)).toBe(0);
  });

  test("cannot be kept outdated by those who may only set limits", () => {
    const log = new ClusterLog();
    const [order] = pairs[0] as (typeof pairs)[0];
    for (const limit of [1, 2, 3]) {
      const set = { op: OP.setLimit, ...head, key: "s", limit } as const;
      expect(give(log, set, limit - 1)).toMatchObject({ result: OK });
    }
    expect(give(log, order, 0)).toMatchObject({ result: OK });
    expect(log.state).toMatchObject({ adminOrderCount: 1, limitOrderCount: 3 });
  });

  test("does not reveal the count to anyone who may not give it", () => {
    const log = new AccessLog();
    const worker = log.identity("worker", ["w", true, "acquire"]);
    log.identity("root", ["", true, "admin"]);
    log.grant(ANONYMOUS, ["", true, "none"]);
    const { adminOrderCount } = log.state;
    const [order] = pairs[0] as (typeof pairs)[0];
    for (const mark of [0, adminOrderCount]) {
      for (const [credential, status] of [
        [worker, ERROR_NUMBERS.FORBIDDEN],
        [0, ERROR_NUMBERS.UNAUTHENTICATED],
      ] as const) {
        expect(log.apply(unattached({ ...order, mark }, credential))).toMatchObject([
          { result: { status } },
        ]);
      }
    }
    expect(log.state).toMatchObject({ adminOrderCount });
  });

  test("is outdated in a restored cluster and after a snapshot as well", () => {
    const log = new ClusterLog();
    const [order, later] = pairs[0] as (typeof pairs)[0];
    const [limit] = pairs[3] as (typeof pairs)[3];
    for (const [count, one] of [order, later].entries()) give(log, one, count);
    give(log, limit, 0);
    const { state } = log;
    const counts = { adminOrderCount: 2, limitOrderCount: 1 };
    expect(state).toMatchObject(counts);
    const options = { index: 100, quietMs: 0, tokenFloor: 0, savedWallMs: 1 };
    expect(refound(state, options)).toMatchObject(counts);
    expect(restored([...log.table.snapshot()]).hash()).toBe(log.table.hash());
    const before = log.table.hash();
    state.limitOrderCount += 1;
    const between = log.table.hash();
    state.limitOrderCount -= 1;
    state.adminOrderCount += 1;
    expect(new Set([before, between, log.table.hash()]).size).toBe(3);
  });
});

function outdated(orderCount: number): Result {
  return { status: ERROR_NUMBERS.OUTDATED_ORDER, orderCount };
}

function limitOf({ table }: ClusterLog): number {
  return table.inspect("s").limit;
}
