/** What a snapshot contains, and how much work each turn of taking and restoring one does. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { LockTable } from "../../../src/lockfsm/index.js";
import { OP, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  shared,
  type Taken,
  unattached,
} from "../plans/cluster-log.js";
import { added, copyOf, draw, finished, rest, restored } from "../plans/snapshots.js";

describe("a snapshot", () => {
  test("of an empty table restores to an empty table", () => {
    const table = new LockTable();
    const copy = copyOf(table);
    expect(copy.hash()).toBe(table.hash());
    expect(copy.counts()).toEqual(table.counts());
    expect(copy.counts()).toMatchObject({ sessions: 0, keys: 0, holds: 0, waiters: 0 });
    expect([copy.nextDueAt, copy.shortestTtlMs, copy.hasQueuedWork]).toEqual([
      undefined,
      undefined,
      false,
    ]);
  });

  test("is of the moment it was asked for, not of the first chunk", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const before = log.table.hash();
    const drawn = log.table.snapshot();
    a.take();
    expect(restored(rest(drawn)).hash()).toBe(before);
  });

  test("is one at a time, until it is given up, be it before its first chunk", () => {
    const log = new ClusterLog();
    log.open("a").take();
    const first = log.table.snapshot();
    expect(() => log.table.snapshot()).toThrow("under way");
    first.return();
    const second = log.table.snapshot(1);
    expect(draw(second, 1)).toHaveLength(1);
    second.return();
    expect(rest(second)).toEqual([]);
    expect(copyOf(log.table).hash()).toBe(log.table.hash());
  });

  test("keeps every word of sessions, keys and refusals", () => {
    const log = new ClusterLog();
    const nonce = "ü".repeat(16);
    const [name, metadata] = ["Ω ⚿ 🔒", '{"zone":"é\u{10ffff}"}'];
    const command = { op: OP.open, nonce, attempt: 7, ttlMs: 1_500, name, metadata } as const;
    log.apply({ session: 0, epoch: 0, command });
    const a = log.open("a");
    const [b, c] = [log.open("b"), log.open("c")];
    a.take(shared("🔒/1", "é"));
    b.acquire(exclusive("🔒/1"));
    expect(c.acquire(exclusive("é", "🔒/1"), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    const copy = copyOf(log.table);
    expect(copy.hash()).toBe(log.table.hash());
    expect(copy.query("", undefined, 9)).toEqual(log.table.query("", undefined, 9));
    const again = unattached({
      ...{ op: OP.resume, session: c.session, nonce: c.nonce, attempt: 2 },
    });
    const said: unknown[] = [];
    const recall = c.make({
      op: OP.recall,
      number: 1,
      mark: 1,
      acknowledged: [],
      sequences: [1],
    });
    copy.apply(
      { index: 99, stamp: log.stamp, wallMs: 0, commands: [again, { ...recall, epoch: 2 }] },
      { toSession: (_, __, message) => said.push(message), attached: (one) => said.push(one) },
    );
    expect(said).toMatchObject([
      { status: 0, highestSequence: 1 },
      {
        sequences: [
          {
            result: {
              blockers: [
                { sessionName: "a", key: "é", mode: "shared" },
                { sessionName: "a", key: "🔒/1", mode: "shared" },
                { sessionName: "b", key: "🔒/1", mode: "exclusive", token: 0 },
              ],
            },
          },
        ],
      },
    ]);
  });

  test("has what is in the work queue, in its order, and what is left of sessions that ended", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1, grantsPerStepMax: 2 });
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    for (const key of ["1", "2", "3", "4", "5", "6"]) {
      a.take(exclusive(key));
      for (let waiters = 0; waiters < 5; waiters += 1) b.acquire(shared(key));
      c.acquire(exclusive(key, "x"), 50);
    }
    a.close();
    c.close();
    const copy = new ClusterLog();
    expect(log.table.hasQueuedWork).toBe(true);
    copy.table.become(copyOf(log.table));
    expect(copy.table.hash()).toBe(log.table.hash());
    copy.stamp = log.stamp;
    copy.skipTo(log.index);
    for (let entry = 0; log.table.hasQueuedWork; entry += 1) {
      expect(copy.apply()).toEqual(log.apply());
      expect(copy.table.hash()).toBe(log.table.hash());
      expect(entry).toBeLessThan(1_000);
    }
    expect(copy.table.hasQueuedWork).toBe(false);
  });

  test("has all of a session that ends while it is drawn, whether or not its turn has come", () => {
    for (const drawnBefore of [0, 5, 40, 130, 1_300]) {
      const log = new ClusterLog({ unitsPerEntryMax: 100, grantsPerStepMax: 3 });
      const [a, b] = [log.open("a"), log.open("b")];
      for (const session of [a, b]) {
        for (let at = 0; at < 300; at += 1) session.take(exclusive(`${session.nonce}/${at}`));
      }
      for (let at = 0; at < 300; at += 1) {
        b.acquire(exclusive(`${a.nonce}/${at}`));
        a.acquire(exclusive(`${b.nonce}/${at}`), 5_000);
      }
      const before = log.table.hash();
      const drawn = log.table.snapshot(1);
      const chunks = draw(drawn, drawnBefore);
      b.close();
      a.take(exclusive("new"));
      chunks.push(...draw(drawn, 10));
      a.close();
      while (log.table.hasQueuedWork) {
        log.apply();
        chunks.push(...draw(drawn, 3));
      }
      log.open("late").take();
      expect(restored([...chunks, ...rest(drawn)]).hash()).toBe(before);
    }
  });

  test("knows which of two sessions of one nonce came later, though it was written first", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    for (const name of ["a", "b", "c", "x"]) log.open(name, 1_000);
    log.stamp += 1_000;
    const x = log.open("x");
    const drawn = log.table.snapshot(1);
    x.keepalive();
    const copy = new ClusterLog();
    copy.table.become(restored(rest(drawn)));
    expect(copy.table.counts().sessions).toBe(4);
    copy.skipTo(log.index);
    copy.stamp = log.stamp;
    expect(copy.open("x").session).toBe(x.session);
  });

  test("has the replies of its moment, though some are forgotten while it is drawn", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    for (let at = 0; at < 2_000; at += 1) a.end(at);
    for (const drawnBefore of [0, 700, 1_300, 3_000]) {
      const hash = log.table.hash();
      const drawn = log.table.snapshot(1);
      const chunks = draw(drawn, drawnBefore);
      for (let at = 0; at < 300; at += 1) a.end(at, { mark: a.sequence - 1_500 });
      expect(restored([...chunks, ...rest(drawn)]).hash()).toBe(hash);
    }
  });

  test("takes the settings over, as they were begun with and as they were changed", () => {
    const log = new ClusterLog({ waitersMax: 5, grantsPerStepMax: 7 });
    log.open("a").changeSetting("sessionsMax", 77);
    const copy = copyOf(log.table);
    expect(copy.hash()).toBe(log.table.hash());
    const values = Object.fromEntries(copy.settings().map(({ name, value }) => [name, value]));
    expect(values).toMatchObject({ waitersMax: 5, grantsPerStepMax: 7, sessionsMax: 77 });
    expect(copy.settings()).toEqual(log.table.settings());
  });

  test("makes a table take another's place", () => {
    const [from, to] = [new ClusterLog(), new ClusterLog()];
    const a = from.open("a");
    const hold = a.take();
    to.open("b").take(exclusive("other"));
    const drawn = to.table.snapshot(1);
    const before = to.table.hash();
    to.table.become(copyOf(from.table));
    expect(to.table.hash()).toBe(from.table.hash());
    expect(to.table.inspect("k").holds).toMatchObject([{ token: hold.token, sessionName: "a" }]);
    expect(copyOf(to.table).hash()).toBe(from.table.hash());
    expect(restored(rest(drawn)).hash()).toBe(before);
  });

  test("keeps who waits in the order of arrival, whatever the order of the records", () => {
    const log = new ClusterLog();
    const clients = Array.from({ length: 40 }, (_, at) => log.open(`c${at}`));
    const holds = clients.map((client) => client.take(shared("k")));
    for (const client of clients.toReversed()) client.acquire(exclusive("k"));
    const line = log.line("k");
    const drawn = log.table.snapshot(1);
    // Whatever ends while the snapshot is drawn stands before the rest of it.
    for (const at of [30, 7, 22, 3]) {
      clients[at]?.end(holds[at] as Taken);
      clients[at]?.end(2);
    }
    const copy = new ClusterLog();
    copy.table.become(restored(rest(drawn)));
    expect(copy.line("k")).toEqual(line);
  });
});

describe("a large table", () => {
  const SESSIONS = 17_000;
  const CLAIMS = 20_000;
  const PER_ENTRY = 1_000;

  /** More sessions than a map holds before it is spread, one of them with many claims. */
  function largeLog(): ClusterLog {
    const log = new ClusterLog({ unacknowledgedMax: 1_000_000 });
    openMany(log, 0, SESSIONS - 1_000);
    const [a, b] = [log.open("a"), log.open("b")];
    for (let from = 0; from < CLAIMS; from += PER_ENTRY) {
      const keys = Array.from({ length: PER_ENTRY }, (_, at) => exclusive(`k/${from + at}`));
      // Tasks of their own, as a search for cycles would look at all that one task has.
      const ask = (client: Client) =>
        keys.map((items, at) => client.acquiring(items, WAIT_FOREVER, { task: from + at }));
      log.apply(...ask(a));
      log.apply(...ask(b));
    }
    return log;
  }

  function openMany(log: ClusterLog, from: number, end: number): void {
    for (let first = from; first < end; first += PER_ENTRY) {
      const opens = Array.from({ length: PER_ENTRY }, (_, at) => ({
        session: 0,
        epoch: 0,
        command: {
          op: OP.open,
          nonce: `nonce ${first + at}`,
          attempt: 1,
          ttlMs: 60_000,
          name: "",
          metadata: "",
        } as const,
      }));
      log.apply(...opens);
    }
  }

  test("is saved and restored in turns whose work does not depend on its size", () => {
    const log = largeLog();
    const chunkBytes = 20_000;
    const chunks = rest(log.table.snapshot(chunkBytes));
    for (const chunk of chunks) expect(chunk.length).toBeLessThan(chunkBytes + 1_000);
    const records = SESSIONS - 998 + 3 * CLAIMS;
    const { table, turns } = finished(added(chunks));
    expect(table.hash()).toBe(log.table.hash());
    expect(turns).toBeGreaterThan(records / 2_048);
  });

  test("has turns of a bounded number of looks even where all is saved already", () => {
    const log = largeLog();
    const before = log.table.hash();
    const drawn = log.table.snapshot(1 << 20);
    const chunks = draw(drawn, 1);
    // All leases end at once, so that every record is written before the walk comes to it.
    log.stamp += 10_000_000;
    let entries = 0;
    do {
      log.apply();
      entries += 1;
    } while (log.table.nextDueAt !== undefined || log.table.hasQueuedWork);
    expect(entries).toBeGreaterThan(50);
    expect(log.table.counts()).toMatchObject({ sessions: 0, keys: 0, holds: 0, waiters: 0 });
    const left = rest(drawn);
    expect(left.filter(({ length }) => length < 1 << 20).length).toBeGreaterThan(2);
    expect(restored([...chunks, ...left]).hash()).toBe(before);
  });

  test("may grow and shrink past the sizes at which its maps change while it is saved", () => {
    const log = new ClusterLog();
    openMany(log, 0, 16_000);
    const before = log.table.hash();
    const drawn = log.table.snapshot(10_000);
    const chunks = draw(drawn, 20);
    openMany(log, 16_000, 18_000);
    chunks.push(...draw(drawn, 20));
    log.stamp += 10_000_000;
    while (log.table.nextDueAt !== undefined) {
      log.apply();
      chunks.push(...draw(drawn, 1));
    }
    openMany(log, 20_000, 21_000);
    expect(restored([...chunks, ...rest(drawn)]).hash()).toBe(before);
  });
});
