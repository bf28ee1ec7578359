import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TableChange } from "../../../src/lockfsm/index.js";
import { END_REASON, REVISION_NUMBER_MAX, type Revision } from "../../../src/protocol/index.js";
import { ChangeLog } from "../../../src/server/reads/change-log.js";
import { PAGE_CHANGES } from "../../../src/server/reads/change-page.js";
import { isAfter } from "../../../src/server/reads/revisions.js";
import { tenuresOf, usualHoldMs } from "../../../src/server/reads/tenures.js";
import { ClusterLog, exclusive, OWNER } from "../../lockfsm/plans/cluster-log.js";

const ROOMY = { changesMax: 1 << 20, changeBytesMax: 1 << 30 };

const GRANT: TableChange = {
  type: "granted",
  key: "a",
  mode: "exclusive",
  session: 4_000_000_001,
  sessionName: "näme",
  identity: "anonymous",
  task: 2 ** 53 - 1,
  token: 2 ** 52 + 1,
  sequence: 4,
  holder: "bearer",
  grantedAt: 500,
  requestedAt: 0,
  status: 0,
  waitedMs: 7,
  value: "v",
  orderedBy: "ops",
  reason: END_REASON.unknown,
};

function fill(log: ChangeLog, entries: readonly number[], from = 1): Revision[] {
  const revisions: Revision[] = [];
  entries.forEach((count, i) => {
    log.begin(from + i, 1_000 + from + i, 50_000 + from + i);
    for (let number = 0; number < count; number += 1) {
      log.add({ ...GRANT, key: `key-${number % 3}` });
      revisions.push({ index: from + i, number });
    }
  });
  return revisions;
}

describe("the log of changeLog", () => {
  test("gives back what was put in, with its revision and the times of its entry", () => {
    const log = new ChangeLog(ROOMY, 0);
    const queued: TableChange = {
      ...{ ...GRANT, type: "queued", mode: "shared", token: 0, sequence: 9, identity: "billing" },
    };
    const ended: TableChange = { ...GRANT, type: "ended", reason: END_REASON.stolen };
    const opened: TableChange = {
      ...GRANT,
      type: "opened",
      mode: "permits",
      session: 0,
      identity: "",
      value: "",
    };
    log.begin(7, 600, 1_000);
    log.add(queued);
    log.add(GRANT);
    log.begin(9, 800, 1_200);
    log.add(ended);
    log.add(opened);
    const views = [0, 1, 2, 3].map((position) => log.viewAt(position));
    const expected = [queued, GRANT, ended, opened].map(
      (
        {
          grantedAt: _,
          requestedAt: _at,
          status: _why,
          waitedMs: _ms,
          orderedBy: _by,
          holder: _who,
          task,
          ...change
        },
        i,
      ) => ({
        ...change,
        task,
        revision: { index: i < 2 ? 7 : 9, number: i % 2 },
        stamp: i < 2 ? 600 : 800,
        wallMs: i < 2 ? 1_000 : 1_200,
      }),
    );
    expect(views).toEqual(expected);
    expect(log.holdAt(2)).toMatchObject({ grantedAt: 500, holder: "bearer" });
  });

  test("finds the place after any revision, over pages and entries that fill several", () => {
    const size = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 900, max: 2_300 }));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 8 }), fc.nat(), fc.nat(), (entries, a, b) => {
        const log = new ChangeLog(ROOMY, 0);
        const revisions = fill(log, entries);
        expect(log.end).toBe(revisions.length);
        for (let at = 0; at < revisions.length; at += 97) {
          expect(log.revisionAt(at)).toEqual(revisions[at]);
        }
        const some = { index: a % (entries.length + 2), number: b % 2_500 };
        const behind = revisions.findIndex((revision) => isAfter(revision, some));
        expect(log.positionAfter(some)).toBe(behind < 0 ? revisions.length : behind);
      }),
      { numRuns: 60 },
    );
  });

  test("forgets its oldest pages, and knows which revision was the last to go", () => {
    const log = new ChangeLog({ changesMax: 2 * PAGE_CHANGES, changeBytesMax: 1 << 30 }, 0);
    const revisions = fill(
      log,
      Array.from({ length: 100 }, () => 70),
    );
    expect(log.count).toBeGreaterThanOrEqual(2 * PAGE_CHANGES);
    expect(log.count).toBeLessThanOrEqual(3 * PAGE_CHANGES);
    expect(log.end).toBe(7_000);
    expect(log.floor).toEqual(revisions[log.first - 1]);
    expect(log.revisionAt(log.first)).toEqual(revisions[log.first]);
    expect(log.revisionAt(log.end - 1)).toEqual(revisions.at(-1));
    expect(log.positionAfter({ index: 1, number: 0 })).toBe(log.first);
  });

  test("forgets earlier when its texts are long, but not what was added last", () => {
    const limits = { changesMax: 100 * PAGE_CHANGES, changeBytesMax: 3 << 20 };
    const log = new ChangeLog(limits, 0);
    log.begin(1, 1, 1);
    for (let i = 0; i < 20_000; i += 1) {
      log.add({ ...GRANT, value: "x".repeat(1_000) });
      expect(log.count).toBeGreaterThanOrEqual(Math.min(i + 1, PAGE_CHANGES));
    }
    expect(log.bytes).toBeGreaterThan(1 << 20);
    expect(log.bytes).toBeLessThan(5 << 20);
    expect(log.bytes).toBe(log.count * (96 + 1_000 + 1 + 4));
  });

  test("begins again after a snapshot", () => {
    const log = new ChangeLog(ROOMY, 40);
    expect(log.floor).toEqual({ index: 40, number: REVISION_NUMBER_MAX });
    fill(log, [3, 3], 41);
    log.restart(90);
    expect(log.count).toBe(0);
    expect(log.floor).toEqual({ index: 90, number: REVISION_NUMBER_MAX });
    const [first] = fill(log, [2], 91);
    expect(log.revisionAt(log.positionAfter(log.floor))).toEqual(first);
    expect(log.positionAfter({ index: 91, number: 0 })).toBe(log.end - 1);
  });

  test("knows what the wall clock showed, though cluster time stood still for a night", () => {
    const log = new ChangeLog(ROOMY, 0);
    const nightMs = 8 * 3_600_000;
    log.begin(1, 1_000, 1_001_000);
    log.add(GRANT);
    log.begin(2, 2_000, 1_002_000 + nightMs);
    log.add(GRANT);
    expect(log.wallMsAt(1_000)).toBe(1_001_000);
    expect(log.wallMsAt(400)).toBe(1_000_400);
    expect(log.wallMsAt(2_000)).toBe(1_002_000 + nightMs);
    expect(log.wallMsAt(2_500)).toBe(1_002_500 + nightMs);
  });
});

describe("tenures", () => {
  /** A hold of `key`, granted at `from` and ended at `to`. */
  function hold(log: ChangeLog, index: number, key: string, from: number, to: number): void {
    log.begin(index, from, 1_000_000 + from);
    log.add({ ...GRANT, key, grantedAt: from, token: index });
    log.begin(index + 1, to, 1_000_000 + to);
    const reason = END_REASON.released;
    log.add({ ...GRANT, type: "ended", key, grantedAt: from, token: index, reason });
  }

  test("say who held a key, when and for how long, the newest first", () => {
    const log = new ChangeLog(ROOMY, 0);
    hold(log, 1, "a", 100, 150);
    hold(log, 3, "b", 200, 260);
    hold(log, 5, "a", 300, 400);
    const [newest, oldest, ...none] = tenuresOf(log, "a", 10);
    expect(newest).toMatchObject({ token: 5, grantedWallMs: 1_000_300, heldMs: 100, reason: 1 });
    expect(oldest).toMatchObject({ token: 1, grantedWallMs: 1_000_100, heldMs: 50, reason: 1 });
    expect(none).toEqual([]);
    expect(tenuresOf(log, "a", 1)).toEqual([newest]);
  });

  test("of a hold that changes hands are one for each holder, who had it until it moved", () => {
    const table = new ClusterLog();
    const log = new ChangeLog(ROOMY, 0);
    table.table.listen((change) => log.add(change));
    const at = (stamp: number) => {
      table.stamp = stamp;
      log.begin(table.index + 1, stamp, stamp);
    };
    at(10_000);
    const a = table.open("a");
    const b = table.open("b");
    const hold = a.take(exclusive("k"));
    at(10_100);
    a.handOver(hold, OWNER);
    at(10_200);
    b.adopt("k", OWNER);
    at(10_300);
    b.end(1);
    const { moved, released } = END_REASON;
    expect(tenuresOf(log, "k", 10)).toMatchObject([
      {
        token: hold.token + 2,
        sessionName: "b",
        session: b.session,
        heldMs: 300,
        reason: released,
      },
      { token: hold.token + 1, sessionName: "a", session: 0, heldMs: 200, reason: moved },
      { token: hold.token, sessionName: "a", session: a.session, heldMs: 100, reason: moved },
    ]);
  });

  test("say how long a key is usually held, from the last ones only", () => {
    const log = new ChangeLog(ROOMY, 0);
    expect(usualHoldMs(log, "a")).toBeUndefined();
    hold(log, 1, "a", 0, 100_000);
    expect(usualHoldMs(log, "a")).toBe(100_000);
    for (let i = 0; i < 16; i += 1) hold(log, 3 + 2 * i, "a", 200_000 + i, 200_010 + i);
    expect(usualHoldMs(log, "a")).toBe(10);
    expect(usualHoldMs(log, "b")).toBeUndefined();
  });
});
