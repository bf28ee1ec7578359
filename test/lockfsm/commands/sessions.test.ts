/** Sessions from their opening to their end: attaching, leases, closing, and tokens. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS, InvariantError } from "../../../src/errors/index.js";
import { END_REASON, MESSAGE, OP, STATUS, TOKEN_MIN } from "../../../src/protocol/index.js";
import { ClusterLog, exclusive, shared } from "../plans/cluster-log.js";

describe("opening", () => {
  const command = {
    op: OP.open,
    nonce: "n",
    attempt: 1,
    ttlMs: 5_000,
    name: "a",
    metadata: "",
  } as const;
  const openWith = (log: ClusterLog, change: Partial<typeof command> | { attempt: number }) => {
    const before = log.attached.length;
    log.apply({ session: 0, epoch: 0, command: { ...command, ...change } });
    return log.attached[before];
  };

  test("twice with one nonce gives one session", () => {
    const log = new ClusterLog();
    const first = openWith(log, {});
    log.stamp += 10;
    const second = openWith(log, { attempt: 2 });
    expect(first).toMatchObject({ status: STATUS.ok, session: 1, epoch: 1, stamp: 10_000 });
    expect(second).toMatchObject({ status: STATUS.ok, session: 1, epoch: 2, stamp: 10_010 });
    expect(log.table.counts().sessions).toBe(1);
  });

  test("with a lease out of range or an impossible attempt is invalid", () => {
    const log = new ClusterLog();
    const status = ERROR_NUMBERS.INVALID_ARGUMENT;
    for (const change of [
      { ttlMs: 999 },
      { ttlMs: 600_001 },
      { attempt: 0 },
      { attempt: 2 ** 32 },
    ]) {
      expect(openWith(log, change as { attempt: number })).toMatchObject({ status, session: 0 });
    }
    expect(log.table.counts().sessions).toBe(0);
  });

  test("after the session of that nonce ended gives a new one", () => {
    const log = new ClusterLog();
    openWith(log, {});
    log.pass(5_000);
    expect(openWith(log, {})).toMatchObject({ status: STATUS.ok, session: 2 });
  });

  test("with the nonce of a session that is due but not swept gives a new one", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    log.open("first", 5_000);
    openWith(log, {});
    log.stamp += 5_000;
    expect(openWith(log, {})).toMatchObject({ status: STATUS.ok, session: 3 });
    expect(log.table.counts().sessions).toBe(2);
    log.pass(0);
    expect(openWith(log, { attempt: 2 })).toMatchObject({ session: 3, epoch: 2 });
  });
});

describe("resuming", () => {
  test("adopts a larger attempt, repeats its answer to an equal one, ignores a smaller one", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.take();
    const adopted = a.resume(5);
    expect(adopted).toMatchObject({ status: STATUS.ok, epoch: 2, attempt: 5, highestSequence: 1 });
    expect(adopted?.index).toBe(log.index);
    log.stamp += 100;
    expect(a.resume(5)).toEqual({ ...adopted, index: log.index });
    expect(a.resume(4)).toBeUndefined();
    a.take(exclusive("other"));
    // A client that heard that number 2 is next would send it again, and wait forever.
    expect(a.resume(5)).toBeUndefined();
    expect(a.resume(6)).toMatchObject({ epoch: 3, highestSequence: 2 });
  });

  test("takes the say from the earlier connection", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const old = a.acquiring();
    a.resume(2);
    expect(log.apply(old)).toEqual([]);
    expect(a.acquire()).toMatchObject({ status: STATUS.granted });
  });

  test("moves later messages to the new connection", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    b.acquire();
    b.resume(7);
    a.end(hold);
    expect(log.said.at(-1)).toMatchObject({ session: b.session, epoch: 2 });
  });

  test("is forbidden with a wrong nonce, and no use for a session that ended", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    expect(a.resume(2, "wrong")).toMatchObject({ status: ERROR_NUMBERS.FORBIDDEN, epoch: 0 });
    a.close();
    expect(a.resume(3)).toMatchObject({ status: ERROR_NUMBERS.SESSION_EXPIRED });
  });
});

describe("a lease", () => {
  test("is renewed by executed commands and keepalives", () => {
    const log = new ClusterLog();
    const a = log.open("a", 1_000);
    log.stamp += 600;
    a.take();
    expect(log.table.nextDueAt).toBe(11_600);
    log.stamp += 600;
    expect(a.keepalive()).toEqual([{ kind: MESSAGE.renewed, number: 1, stamp: 11_200 }]);
    expect(log.table.nextDueAt).toBe(12_200);
  });

  test("ends at its time, not before: holds pass on, waits are gone, the client learns it", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a", 1_000), log.open("b"), log.open("c", 1_000)];
    a.take();
    c.acquire();
    b.acquire();
    expect(log.pass(999)).toEqual([]);
    expect(log.line("k")).toEqual(["a", "|", "c", "b"]);
    const messages = log.pass(1);
    expect(messages).toMatchObject([
      { kind: MESSAGE.ended, session: a.session, reason: END_REASON.expired },
      { kind: MESSAGE.ended, session: c.session, reason: END_REASON.expired },
      { kind: MESSAGE.outcome, sequence: 1, result: { status: STATUS.granted } },
    ]);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("once over is not revived by a keepalive", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    log.open("first", 1_000);
    const a = log.open("a", 1_000);
    log.stamp += 1_000;
    const reason = END_REASON.expired;
    expect(a.keepalive()).toMatchObject([
      { kind: MESSAGE.ended, session: 1, reason },
      { kind: MESSAGE.ended, session: 2, reason },
    ]);
    expect(a.end(1)).toMatchObject([
      { kind: MESSAGE.ended, session: 2, reason },
      { kind: MESSAGE.ended, session: 2, reason: END_REASON.unknown },
    ]);
    expect(log.table.counts().sessions).toBe(0);
  });

  test("that is due keeps its waiter from being granted, though it still stands in the way", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [early, a, b, c] = [
      log.open("early", 1_000),
      log.open("a"),
      log.open("b", 1_000),
      log.open("c"),
    ];
    const hold = a.take();
    b.acquire();
    c.acquire();
    expect(early.session).toBe(1);
    log.stamp += 1_000;
    a.end(hold);
    expect(log.line("k")).toEqual(["|", "b", "c"]);
    log.pass(0);
    expect(log.line("k")).toEqual(["c", "|"]);
  });
});

describe("closing", () => {
  test("releases everything, ends the session and says so", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(exclusive("x"));
    a.take(shared("k"));
    b.acquire();
    const session = a.session;
    expect(a.close()).toMatchObject([
      { kind: MESSAGE.reply, sequence: 3, result: { status: STATUS.ok } },
      { kind: MESSAGE.ended, session, reason: END_REASON.closed },
      { kind: MESSAGE.outcome, sequence: 1, result: { status: STATUS.granted } },
    ]);
    expect(log.table.counts()).toMatchObject({ sessions: 1, keys: 1, holds: 1, waiters: 0 });
  });

  test("lets later commands know that it is unknown", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.close();
    a.epoch = 77;
    const unknown = [{ kind: MESSAGE.ended, session: a.session, reason: END_REASON.unknown }];
    expect(a.end(5)).toMatchObject(unknown);
    expect(log.said.at(-1)).toMatchObject({ session: a.session, epoch: 77 });
    expect(a.keepalive()).toMatchObject(unknown);
    expect(log.table.counts().sessions).toBe(0);
  });

  test("with many holds and waits is done in steps, and each key is handed on in its turn", () => {
    const log = new ClusterLog({ grantsPerStepMax: 4, unitsPerEntryMax: 8 });
    const [a, b] = [log.open("a"), log.open("b")];
    for (let at = 0; at < 30; at += 1) {
      a.take(exclusive(`k${at}`));
      b.acquire(exclusive(`k${at}`));
    }
    a.close();
    expect(log.table.counts()).toMatchObject({ holds: 30, waiters: 28 });
    expect(log.table.hasQueuedWork).toBe(true);
    const entries = log.finishWork();
    expect(entries).toBeGreaterThan(3);
    expect(log.table.counts()).toMatchObject({ sessions: 1, keys: 30, holds: 30, waiters: 0 });
    expect(log.line("k29")).toEqual(["b", "|"]);
  });
});

describe("the limit of a step", () => {
  test("leaves the rest of a long run of shared waiters to the next entries, in order", () => {
    const log = new ClusterLog({ grantsPerStepMax: 4, unitsPerEntryMax: 6 });
    const [w, r] = [log.open("w"), log.open("r")];
    const token = w.take();
    for (let at = 0; at < 20; at += 1) r.acquire(shared("k"));
    w.end(token);
    expect(log.table.counts()).toMatchObject({ holds: 4, waiters: 16 });
    expect(log.finishWork()).toBe(2);
    const tokens = log.table.inspect("k").holds.map((hold) => hold.token);
    expect(tokens).toEqual(Array.from({ length: 20 }, (_, at) => token.token + 1 + at));
  });

  test("decides a queued grant again: who left meanwhile is not granted", () => {
    const log = new ClusterLog({ grantsPerStepMax: 1, unitsPerEntryMax: 1 });
    const [w, r, s] = [log.open("w"), log.open("r"), log.open("s")];
    const hold = w.take();
    r.acquire(shared("k"));
    s.acquire(shared("k"), 100);
    w.end(hold);
    expect(log.line("k")).toEqual(["r", "|", "s"]);
    log.pass(100);
    expect(log.line("k")).toEqual(["r", "|", "s"]);
    log.pass(0);
    expect(log.line("k")).toEqual(["r", "|"]);
  });
});

describe("tokens", () => {
  test("begin at the wall clock of the first entry and rise whatever it does later", () => {
    const log = new ClusterLog();
    log.wallMs = 1_700_000_000_999;
    const a = log.open("a");
    log.wallMs = 0;
    const first = a.take();
    expect(first.token).toBe(1_700_000_000 * 2 ** 21);
    a.end(first);
    expect(a.take().token).toBe(first.token + 1);
  });

  test("begin above every sequence where the wall clock says nothing", () => {
    const log = new ClusterLog();
    log.wallMs = -5;
    expect(log.open("a").take().token).toBe(TOKEN_MIN);
  });
});

test("a stamp that falls or an index that does not rise stops the process", () => {
  const log = new ClusterLog();
  log.pass(10);
  log.stamp -= 1;
  expect(() => log.apply()).toThrow(InvariantError);
});

test("the shortest lease belongs to a session which was not ended", () => {
  const log = new ClusterLog();
  expect(log.table.shortestTtlMs).toBeUndefined();
  log.open("a", 15_000);
  const b = log.open("b", 2_500);
  expect(log.table.shortestTtlMs).toBe(2_000);
  b.close();
  expect(log.table.shortestTtlMs).toBe(15_000);
});
