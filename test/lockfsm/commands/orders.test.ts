/** Orders of operators that belong to no session, for when no session can be had. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type Command,
  END_REASON,
  MESSAGE,
  OP,
  type OrderCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, shared } from "../plans/cluster-log.js";

const head = { sequence: 77, mark: 0, acknowledged: [] };
const force = { graceMs: 0, now: true, reason: "" };

/** Gives the order, and returns what it was answered. */
function give(log: ClusterLog, command: OrderCommand) {
  log.apply({ session: 0, epoch: 0, command });
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
    ).toEqual(answered({ status: STATUS.revoked, count: 1, remaining: 0, opened: 0 }));
    const { session } = victim;
    expect(give(log, { op: OP.endSession, ...head, session, ...force })).toEqual(
      answered({ status: STATUS.ok }),
    );
    expect(give(log, { op: OP.endSession, ...head, session, ...force })).toEqual(
      answered({ status: ERROR_NUMBERS.NOT_HELD }),
    );
    const wanted = { op: OP.changeSetting, ...head, name: "sessionsMax", value: 2 } as const;
    expect(give(log, wanted)).toEqual(answered({ status: STATUS.ok }));
    expect(give(log, { ...wanted, value: 0 })).toEqual(
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
    const acquire = { op: OP.acquire, ...head, owner: 1, items, waitMs: 0 } as const;
    const others: Command[] = [acquire, { op: OP.close, ...head }];
    for (const command of others) {
      log.apply({ session: 0, epoch: 0, command });
      const message = { kind: MESSAGE.ended, session: 0, reason: END_REASON.unknown };
      expect(log.said.at(-1)).toMatchObject({ session: 0, message });
    }
    expect(log.table.counts()).toMatchObject({ sessions: 1, holds: 1, waiters: 0 });
  });
});
