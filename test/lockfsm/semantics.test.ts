/**
 * Sentences of the semantics that no other file has for its subject: semaphores, requests of mixed
 * kinds, what ghosts of ended holds block, and the questions that people ask. The list of all
 * sentences with their tests is `docs/internals/semantics-tests.md`.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { BLOCKED_BY, END_REASON, MESSAGE, STATUS } from "../../src/protocol/index.js";
import { startCluster } from "../server/world/cluster.js";
import { ClusterLog, exclusive, permits, resultOf, shared } from "./plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };
const INVALID = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
const WRONG_KIND = { status: ERROR_NUMBERS.WRONG_KIND };
const HELD = { status: ERROR_NUMBERS.LOCK_HELD };

describe("a semaphore", () => {
  test("gives each hold the lowest slots that are free", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const first = a.acquire(permits("s", 2, 4));
    expect(first).toMatchObject({ status: STATUS.granted, slots: [[0, 1]] });
    expect(b.acquire(permits("s", 1))).toMatchObject({ slots: [[2]] });
    a.end(1);
    expect(c.acquire(permits("s", 3))).toMatchObject({ slots: [[0, 1, 3]] });
    expect(a.acquire(permits("s", 1), 0)).toMatchObject(HELD);
  });

  test("gets its limit from its first user, and takes no other while it is in use", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    expect(a.acquire(permits("s", 1))).toEqual(INVALID);
    const hold = a.take(permits("s", 1, 3));
    expect(b.acquire(permits("s", 1, 4), 0)).toEqual({
      status: ERROR_NUMBERS.LIMIT_MISMATCH,
      limit: 3,
    });
    expect(b.acquire(permits("s", 4), 0)).toEqual(INVALID);
    expect(resultOf(b.end(b.take(permits("s", 1, 3))))).toEqual({ status: STATUS.released });
    a.end(hold);
    expect(b.acquire(permits("s", 1, 4), 0)).toMatchObject({ status: STATUS.granted });
  });

  test("is not a lock, nor a lock a semaphore, as long as either is in use", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [lock, pool] = [a.take(exclusive("l")), a.take(permits("s", 1, 1))];
    expect(b.acquire(permits("l", 1, 1))).toEqual(WRONG_KIND);
    expect(b.acquire(shared("s"))).toEqual(WRONG_KIND);
    expect(resultOf(b.setLimit("l", 2))).toEqual(WRONG_KIND);
    expect(resultOf(a.downgrade(pool))).toEqual(WRONG_KIND);
    expect(a.upgrade(pool, "s")).toEqual(WRONG_KIND);
    a.end(lock);
    a.end(pool);
    expect(b.acquire(permits("l", 1, 1))).toMatchObject({ status: STATUS.granted });
    expect(b.acquire(shared("s"))).toMatchObject({ status: STATUS.granted });
  });

  test("lets nobody past a request that waits for more permits", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name));
    const [one, two] = [a?.take(permits("s", 1, 3)) ?? 0, b?.take(permits("s", 1)) ?? 0];
    expect(c?.acquire(permits("s", 3))).toEqual(QUEUED);
    expect(d?.acquire(permits("s", 1))).toEqual(QUEUED);
    a?.end(one);
    expect(log.line("s")).toEqual(["b", "|", "c", "d"]);
    b?.end(two);
    expect(log.line("s")).toEqual(["c", "|", "d"]);
  });

  test("whose limit is raised lets those in who fit, in order", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(permits("s", 2, 2));
    b.acquire(permits("s", 1));
    c.acquire(permits("s", 2));
    a.setLimit("s", 4);
    expect(log.line("s")).toEqual(["a", "b", "|", "c"]);
    a.setLimit("s", 5);
    expect(log.line("s")).toEqual(["a", "b", "c", "|"]);
  });

  test("whose limit is lowered refuses requests for more than it, and keeps what is held", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name));
    const hold = a?.take(permits("s", 3, 4)) ?? 0;
    b?.acquire(permits("s", 2));
    c?.acquire(permits("s", 3));
    d?.acquire(permits("s", 1));
    const messages = a?.setLimit("s", 2) ?? [];
    expect(messages).toMatchObject([
      { kind: MESSAGE.reply, result: { status: STATUS.ok } },
      { kind: MESSAGE.outcome, result: INVALID },
    ]);
    expect(log.line("s")).toEqual(["a", "|", "b", "d"]);
    a?.end(hold);
    expect(log.line("s")).toEqual(["b", "|", "d"]);
    expect(log.table.inspect("s")).toMatchObject({ limit: 2, holds: [{ slots: [0, 1] }] });
  });

  test("remembers a limit that was set while nobody uses it, until it is told to forget it", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    expect(resultOf(a.setLimit("s", 2))).toEqual({ status: STATUS.ok });
    a.end(a.take(permits("s", 2)));
    expect(log.table.counts()).toMatchObject({ keys: 1, holds: 0 });
    expect(a.acquire(permits("s", 1, 3))).toMatchObject({ status: ERROR_NUMBERS.LIMIT_MISMATCH });
    expect(a.acquire(exclusive("s"))).toEqual(WRONG_KIND);
    a.setLimit("s", undefined);
    expect(log.table.counts()).toMatchObject({ keys: 0 });
  });

  test("stands in one request with locks: all of it or nothing", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(permits("s", 1, 2));
    expect(b.acquire([...exclusive("l"), ...permits("s", 2)])).toEqual(QUEUED);
    expect(log.line("l")).toEqual(["|", "b"]);
    const granted = a.end(hold).at(-1);
    expect(granted).toMatchObject({ result: { status: STATUS.granted, slots: [[0, 1]] } });
    expect([log.line("l"), log.line("s")]).toEqual([
      ["b", "|"],
      ["b", "|"],
    ]);
  });
});

describe("a hold that ended and keeps its keys closed", () => {
  test("of two permits blocks two slots, and no more", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 5_000), log.open("b", 60_000)];
    a.take(permits("s", 2, 3), { options: { lockDelayMs: 10_000 } });
    log.pass(5_000);
    const blockedBy = BLOCKED_BY.cooldown;
    expect(b.acquire(permits("s", 2), 0)).toMatchObject({ ...HELD, blockedBy });
    expect(b.acquire(permits("s", 1), 0)).toMatchObject({ slots: [[2]] });
    log.pass(9_999);
    expect(b.acquire(permits("s", 1), 0, { task: 2 })).toMatchObject(HELD);
    log.pass(1);
    expect(b.acquire(permits("s", 2), 0, { task: 2 })).toMatchObject({ slots: [[0, 1]] });
  });

  test("as shared blocks writers only", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a", 5_000), log.open("b", 60_000), log.open("c", 60_000)];
    a.take(shared("k"), { options: { lockDelayMs: 10_000 } });
    log.pass(5_000);
    const hold = b.take(shared("k"));
    expect(c.acquire(exclusive("k"))).toEqual(QUEUED);
    b.end(hold);
    expect(log.line("k")).toEqual(["|", "c"]);
    log.pass(10_000);
    expect(log.line("k")).toEqual(["c", "|"]);
  });
});

describe("two tasks of one process", () => {
  test("exclude each other, as two sessions do", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take(exclusive("k"), { task: 1 });
    expect(a.acquire(exclusive("k"), -1, { task: 2 })).toEqual(QUEUED);
    expect(a.end(hold).at(-1)).toMatchObject({ result: { status: STATUS.granted } });
  });
});

describe("a session that is due", () => {
  test("is not alive, swept or not: who sends a command is told that it has ended", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [first, a] = [log.open("first", 5_000), log.open("a", 5_000)];
    log.stamp += 5_000;
    const told = a.send(a.acquiring().command);
    expect(told).toContainEqual({
      ...{ kind: MESSAGE.ended, session: a.session, reason: END_REASON.expired },
    });
    expect(log.said[0]).toMatchObject({ session: first.session, message: { kind: MESSAGE.ended } });
    expect(log.table.counts()).toMatchObject({ sessions: 1, holds: 0, waiters: 0 });
  });
});

describe("what was due before an entry", () => {
  test("has the stamp of the entry, not the stamp of its due time", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 5_000), log.open("b", 60_000)];
    a.take();
    b.acquire();
    log.stamp += 8_000;
    const { stamp } = log;
    expect(log.apply()).toMatchObject([
      { kind: MESSAGE.ended, session: a.session },
      { kind: MESSAGE.outcome, stamp, result: { status: STATUS.granted } },
    ]);
    expect(log.table.inspect("k").holds).toMatchObject([{ sessionName: "b", heldMs: 0 }]);
  });

  test("is gone on with by empty entries of the leader, when nobody says anything", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader, 2_000);
    for (let held = 0; held < 300; held += 1) client.acquire(`key-${held}`, 0);
    await world.until("all held", () => leader.table.counts().holds === 300);
    client.disconnect();
    // More claims than one step may end: the rest waits in the work queue.
    await world.until("all ended", () => leader.table.counts().holds === 0);
    expect(leader.table.hasQueuedWork).toBe(false);
    await world.run(100);
    expect(world.nodes.map(({ table }) => table.counts().keys)).toEqual([0, 0, 0]);
  });
});

describe("asking the table", () => {
  test("verify tells whether a token is current, and the newest of a key in use", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [one, two] = [a.take(shared("k")), b.take(shared("k"))];
    expect(log.table.verify("k", one.token)).toEqual({ isCurrent: true, newestToken: two.token });
    b.end(two);
    expect(log.table.verify("k", two.token).isCurrent).toBe(false);
    const upgraded = a.upgrade(one, "k");
    expect(upgraded).toMatchObject({ status: STATUS.upgraded });
    // The old token still releases, but what it guards must not take it any more.
    expect(log.table.verify("k", one.token)).toEqual({
      isCurrent: false,
      newestToken: two.token + 1,
    });
    expect(log.table.verify("other", two.token + 1)).toEqual({ isCurrent: false, newestToken: 0 });
  });

  test("explain names who is ahead, what conflicts and what is closed, and how long that may take", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name, 60_000));
    a?.end(a.take(exclusive("y"), { options: { minHoldMs: 5_000 } }));
    a?.take(exclusive("x"));
    b?.acquire(exclusive("x"));
    c?.acquire(exclusive("x", "y", "z"));
    log.pass(1_000);
    const session = c?.session ?? 0;
    const times = (key: string) => (key === "x" ? 3_000 : undefined);
    const explained = log.table.explain("x", { session, sequence: 1 }, times);
    expect(explained.request).toMatchObject({ sessionName: "c", waitingMs: 1_000 });
    expect(explained.keys).toMatchObject([
      {
        key: "x",
        isEligible: false,
        aheadCount: 1,
        blockers: [{ sessionName: "a" }, { sessionName: "b" }],
        // The rest of the hold, and one such hold before it.
        expectedWaitMs: 5_000,
      },
      { key: "y", isEligible: false, cooldowns: [{ endsInMs: 4_000 }], expectedWaitMs: null },
      { key: "z", isEligible: true, aheadCount: 0, blockers: [] },
    ]);
    expect(d?.session).toBeGreaterThan(session);
    expect(log.table.explain("x", undefined, times)).toMatchObject({
      request: null,
      keys: [{ aheadCount: 2, isEligible: false }],
    });
  });

  test("the graph of waits leads to all who are waited for, directly or through those ahead", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = [log.open("a"), log.open("b"), log.open("c"), log.open("d")];
    a.take(exclusive("x"));
    b.take(exclusive("y"));
    d.take(exclusive("z"));
    b.acquire(exclusive("x"));
    c.acquire(exclusive("x"));
    const { tasks, edges, isTruncated } = log.table.waitGraph(100);
    const reached = (name: string): string[] => {
      const ids = tasks.flatMap(({ id, sessionName }) => (sessionName === name ? [id] : []));
      for (const id of ids) {
        for (const { from, to } of edges) if (from === id && !ids.includes(to)) ids.push(to);
      }
      return ids.map((id) => tasks.find((task) => task.id === id)?.sessionName ?? "").sort();
    };
    expect(["a", "b", "c", "d"].map(reached)).toEqual([["a"], ["a", "b"], ["a", "b", "c"], []]);
    expect(edges.every(({ key, mode }) => key === "x" && mode === "exclusive")).toBe(true);
    expect(isTruncated).toBe(false);
    expect(log.table.waitGraph(1).isTruncated).toBe(true);
  });

  test("the keys below a prefix come in pages, in the order of their bytes", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    for (const key of ["b/2", "a", "b/1", "b", "b/10", "c"]) a.take(exclusive(key));
    const names = (after: string | undefined, limit: number) =>
      log.table.query("b/", after, limit).keys.map(({ key }) => key);
    expect(names(undefined, 2)).toEqual(["b/1", "b/10"]);
    expect(names("b/10", 2)).toEqual(["b/2"]);
  });
});
