/**
 * Each command is executed once and in order: which replies the table keeps, how long, and what
 * `recall` shows them to a client that missed them.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  END_REASON,
  MESSAGE,
  OP,
  RECALL_STATE,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, permits, resultOf, shared } from "../plans/cluster-log.js";
import { SECRET } from "../plans/everything.js";

const { notReleased, granted, queued, released, upgraded } = STATUS;
const { unseen, waiting, held, ended, replied, forgotten } = RECALL_STATE;
const unknown = { status: notReleased, reason: END_REASON.unknown };

describe("a command", () => {
  test("that was executed is not executed again, and renews no lease", () => {
    const log = new ClusterLog();
    const a = log.open("a", 1_000);
    const command = a.acquiring();
    log.apply(command);
    log.stamp += 500;
    const before = log.table.nextDueAt;
    expect(log.apply(command, command)).toEqual([]);
    expect(log.table.counts().holds).toBe(1);
    expect(log.table.nextDueAt).toBe(before);
  });

  test("that is not the next one has no effect and no answer, but what it says was read counts", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    expect(resultOf(a.end(5))).toEqual(unknown);
    a.sequence += 1;
    expect(a.send(a.acquiring(exclusive("k"), 0, { mark: 2 }).command)).toEqual([]);
    expect(log.line("k")).toEqual(["|"]);
    expect(a.recallOne(1)).toEqual({ sequence: 1, state: forgotten });
    a.sequence = 1;
    expect(a.acquire()).toMatchObject({ status: granted });
  });

  test("of an epoch before has no effect, even with the number that comes next", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const late = a.acquiring();
    a.resume(2);
    expect(log.apply(late)).toEqual([]);
    expect(a.acquire(exclusive("other"))).toMatchObject({ status: granted });
  });

  test("is executed after the one before it in the same entry, and gaps stay gaps", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const commands = [1, 2, 3, 4].map((at) => a.acquiring(exclusive(`k${at}`)));
    const [one, two, three, four] = commands as [
      (typeof commands)[number],
      (typeof commands)[number],
      (typeof commands)[number],
      (typeof commands)[number],
    ];
    const said = log.apply(two, one, one, four, two, three, two);
    expect(said.map((message) => "sequence" in message && message.sequence)).toEqual([1, 2, 3]);
    expect(log.apply(four)).toHaveLength(1);
  });
});

describe("a mark", () => {
  test("above what was executed counts as one above it", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.keepalive({ mark: 50 });
    a.end(7);
    expect(a.recallOne(1)).toMatchObject({ state: replied, result: unknown });
  });

  test("forgets replies, and neither waits nor outcomes", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    a.take(exclusive("x"));
    b.acquire();
    b.acquire(exclusive("x"), 100);
    b.end(99);
    log.pass(100);
    b.keepalive({ mark: 4 });
    const status = ERROR_NUMBERS.LOCK_TIMEOUT;
    expect(b.recall(1, 2, 3)).toMatchObject([
      {
        sequences: [
          { sequence: 1, state: waiting },
          { sequence: 2, state: replied, stamp: 10_100, result: { status } },
          { sequence: 3, state: forgotten },
        ],
      },
    ]);
  });
});

describe("what is acknowledged", () => {
  test("is forgotten if it is an outcome or a loss", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    b.acquire(exclusive("k"), 100);
    log.pass(100);
    b.revokeToken(hold.token, { now: true });
    const reason = END_REASON.revoked;
    expect(a.recallOne(hold)).toEqual({ sequence: 1, state: ended, token: hold.token, reason });
    expect(b.recallOne(1)).toMatchObject({ state: replied });
    a.keepalive({ acknowledged: [1] });
    b.keepalive({ acknowledged: [1] });
    expect(a.recallOne(hold)).toEqual({ sequence: 1, state: forgotten });
    expect(b.recallOne(1)).toEqual({ sequence: 1, state: forgotten });
  });

  test("stays if it is held, or waits, or is a reply that the mark has not passed", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    a.end(9);
    b.acquire();
    a.keepalive({ acknowledged: [1, 2, 3, 0, -1] });
    b.keepalive({ acknowledged: [1] });
    expect(a.recall(1, 2, 3)).toMatchObject([
      { sequences: [{ state: held }, { state: replied }, { state: unseen }] },
    ]);
    expect(b.recallOne(1)).toEqual({ sequence: 1, state: waiting });
  });
});

describe("the end of a number", () => {
  test("is the release of a hold: nothing of it is left", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    expect(resultOf(a.end(hold))).toEqual({ status: released });
    expect(a.recallOne(hold)).toEqual({ sequence: 1, state: forgotten });
    expect(resultOf(a.end(hold))).toEqual(unknown);
  });

  test("is the withdrawal of a wait, without an outcome", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    b.acquire();
    expect(b.end(1)).toMatchObject([
      { kind: MESSAGE.reply, sequence: 2, result: { status: STATUS.ok } },
    ]);
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(b.recallOne(1)).toEqual({ sequence: 1, state: forgotten });
  });

  test("is the withdrawal of an upgrade, and lets those in who waited after it", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take(shared("k"));
    b.take(shared("k"));
    a.upgrade(hold);
    c.acquire(shared("k"));
    expect(a.end(2)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: STATUS.ok } },
      { kind: MESSAGE.outcome, result: { status: granted } },
    ]);
    expect(log.line("k")).toEqual(["a", "b", "c", "|"]);
    expect(a.recallOne(hold)).toMatchObject({ state: held });
  });

  test("of what ended already drops what was not read, and reports why a hold was lost", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    b.acquire(exclusive("k"), 100);
    log.pass(100);
    expect(resultOf(b.end(1))).toEqual(unknown);
    expect(b.recallOne(1)).toEqual({ sequence: 1, state: forgotten });
    b.revokeToken(hold.token, { now: true });
    const reason = END_REASON.revoked;
    expect(resultOf(a.end(hold))).toEqual({ status: notReleased, reason });
    expect(a.recallOne(hold)).toEqual({ sequence: 1, state: forgotten });
    expect(resultOf(a.end(hold))).toEqual(unknown);
  });

  test("of a stored reply, of itself, or of what will be, ends nothing", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.end(77);
    expect(resultOf(a.end(1))).toEqual(unknown);
    expect(resultOf(a.end(3))).toEqual(unknown);
    expect(resultOf(a.end(5))).toEqual(unknown);
    expect(a.acquire()).toMatchObject({ status: granted });
  });

  test("is of numbers of one's own session", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    expect(resultOf(b.end(hold))).toEqual(unknown);
    expect(log.line("k")).toEqual(["a", "|"]);
  });
});

describe("a client that acknowledges nothing", () => {
  /** Two outcomes and losses are allowed; `a` has one of each. */
  function unread() {
    const log = new ClusterLog({ unacknowledgedMax: 2 });
    const [a, b] = [log.open("a"), log.open("b")];
    b.take();
    a.acquire(exclusive("k"), 100);
    const lost = a.take(exclusive("lost"));
    const hold = a.take(shared("x"));
    log.pass(100);
    b.revokeToken(lost.token, { now: true });
    return { log, a, b, hold };
  }

  test("gets nothing new that brings a token, and may still give back what it has", () => {
    const { a, b, hold } = unread();
    const tooMany = { status: ERROR_NUMBERS.TOO_MANY_IN_FLIGHT };
    b.handOver(b.take(exclusive("y")), SECRET);
    expect(a.acquire(exclusive("z"), 0)).toEqual(tooMany);
    expect(a.upgrade(hold, "x")).toEqual(tooMany);
    expect(a.adopt("y", SECRET)).toEqual(tooMany);
    expect(resultOf(a.update(hold, "v"))).toEqual({ status: STATUS.ok });
    expect(resultOf(a.end(hold))).toEqual({ status: released });
  });

  test("gets it again once it has read one of them", () => {
    for (const read of [1, 2]) {
      const { a } = unread();
      expect(a.acquire(exclusive("z"), 0, { acknowledged: [read] })).toMatchObject({
        status: granted,
      });
    }
  });

  test("may take and give back as often as it likes: that leaves nothing to be read", () => {
    const log = new ClusterLog({ unacknowledgedMax: 1 });
    const a = log.open("a");
    for (let at = 0; at < 10; at += 1) {
      const hold = a.take(shared("k"));
      expect(a.upgrade(hold)).toMatchObject({ status: upgraded });
      a.end(hold);
    }
  });
});

describe("recall", () => {
  test("reports what became of each number", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const x = a.take(exclusive("x"));
    const y = a.take(exclusive("y"));
    b.take(exclusive("z"));
    a.acquire(exclusive("z"));
    a.end(y);
    expect(a.recall(1, 2, 3, 4, 9)).toEqual([
      {
        kind: MESSAGE.recalled,
        number: 9,
        stamp: 10_000,
        sequences: [
          {
            sequence: 1,
            state: held,
            token: x.token,
            items: [{ key: "x", mode: "exclusive", permits: 0, slots: [] }],
            value: "",
            grantedAt: 10_000,
            endsAt: 0,
            isRevoked: false,
            isContended: false,
          },
          { sequence: 2, state: forgotten },
          { sequence: 3, state: waiting },
          { sequence: 4, state: replied, stamp: 10_000, result: { status: released } },
          { sequence: 9, state: unseen },
        ],
      },
    ]);
  });

  test("reports what a hold is now: newest token, modes, slots, ends, and who waits", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 60_000), log.open("b", 60_000)];
    const options = { value: "v", maxHoldMs: 90_000 };
    const items = [...shared("k"), ...exclusive("l"), ...permits("s", 2, 3)];
    const hold = a.take(items, { options });
    log.stamp += 100;
    a.upgrade(hold);
    a.downgrade(hold, "l");
    a.update(hold, "w");
    b.acquire();
    b.revokeToken(hold.token + 1, { graceMs: 70_000 });
    expect(a.recallOne(hold)).toEqual({
      sequence: 1,
      state: held,
      token: hold.token + 1,
      items: [
        { key: "k", mode: "exclusive", permits: 0, slots: [] },
        { key: "l", mode: "shared", permits: 0, slots: [] },
        { key: "s", mode: "permits", permits: 2, slots: [0, 1] },
      ],
      value: "w",
      grantedAt: 10_000,
      endsAt: log.stamp + 70_000,
      isRevoked: true,
      isContended: true,
    });
  });

  test("reports what an adoption brought, and nothing of what was left to others", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    a.handOver(hold, SECRET);
    expect(a.recallOne(hold)).toEqual({ sequence: 1, state: forgotten });
    b.end(7);
    b.adopt("k", SECRET);
    expect(b.recallOne(2)).toMatchObject({ state: held, token: hold.token + 2 });
    expect(b.recallOne(1)).toMatchObject({ state: replied });
  });

  test("reports how an upgrade went: a reply if it was granted at once, else an outcome", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const x = a.take(shared("x"));
    a.upgrade(x, "x");
    const k = a.take(shared("k"));
    const other = b.take(shared("k"));
    a.upgrade(k);
    b.end(other);
    a.keepalive({ mark: 4 });
    expect(a.recall(2, 4)).toMatchObject([
      {
        sequences: [
          { sequence: 2, state: forgotten },
          { sequence: 4, state: replied, result: { status: upgraded, token: other.token + 1 } },
        ],
      },
    ]);
    a.keepalive({ acknowledged: [4] });
    expect(a.recallOne(4)).toEqual({ sequence: 4, state: forgotten });
  });

  test("of too many numbers at once is not answered", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const sequences = Array.from({ length: 1_001 }, (_, at) => at + 1);
    const head = { op: OP.recall, number: 1, mark: 1, acknowledged: [] } as const;
    expect(a.send({ ...head, sequences })).toEqual([]);
    expect(a.send({ ...head, sequences: sequences.slice(1) })).toHaveLength(1);
  });
});

test("only the newest thousand losses are remembered; of older ones the reason is unknown", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  const holds = Array.from({ length: 1_001 }, (_, at) => a.take(exclusive(`k${at}`)));
  for (const { token } of holds) b.revokeToken(token, { now: true });
  expect(a.recallOne(1)).toEqual({ sequence: 1, state: forgotten });
  expect(a.recallOne(2)).toMatchObject({ state: ended, reason: END_REASON.revoked });
});

test("waits of one session take no part in what it may leave unread", () => {
  const log = new ClusterLog({ unacknowledgedMax: 1 });
  const [a, b] = [log.open("a"), log.open("b")];
  a.take();
  for (let task = 1; task <= 50; task += 1) {
    expect(b.acquire(exclusive("k"), WAIT_FOREVER, { task })).toEqual({ status: queued });
  }
});
