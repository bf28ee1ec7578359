/** What every log store must do with snapshots, run against each file system it can lie on. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Entry, Write } from "../../../src/raft/index.js";
import {
  entryOf,
  OpenLog,
  resetTo,
  snapshotAt,
  standsOn,
  storeSnapshot,
  type TestDisk,
  writeOf,
} from "./log-harness.js";

/** Three of these fill a segment. */
const BYTES = 1200;

export function describeSnapshotsOfLogContract(
  name: string,
  makeDisk: () => Promise<TestDisk>,
): void {
  describe(`the log on ${name}, on snapshots`, () => {
    let disk: TestDisk;
    let log: OpenLog;

    async function reopen(): Promise<void> {
      await log.close();
      log = await OpenLog.open(disk);
    }

    /** Writes entries one by one, each with the sequence after the last one. */
    async function fill(entries: readonly Entry[]): Promise<void> {
      for (const entry of entries) await log.write(writeOf(log.durableSeq + 1, [entry]));
    }

    function entries(from: number, to: number, term = 1): Entry[] {
      return Array.from({ length: to - from + 1 }, (_, at) => entryOf(from + at, term, BYTES));
    }

    beforeEach(async () => {
      disk = await makeDisk();
      log = await OpenLog.open(disk);
    });

    afterEach(async () => {
      await log.close();
      await disk.dispose();
    });

    it("names the snapshot it stands on, and keeps the entries that nobody gave up", async () => {
      await fill(entries(1, 4));
      await storeSnapshot(log, { index: 3, term: 1 });
      await log.write(writeOf(5, [entryOf(5, 1)], standsOn({ index: 3, term: 1 }, 1)));
      await reopen();
      expect(log.boot.snapshot).toEqual(snapshotAt({ index: 3, term: 1 }));
      expect(log.boot.baseIndex).toBe(0);
      expect(log.boot.entries).toEqual([...entries(1, 4), entryOf(5, 1)]);
    });

    it("removes the segments of which nobody needs an entry, and only these", async () => {
      await fill(entries(1, 11));
      expect(await log.segmentsOnce((numbers) => numbers.length > 0)).toEqual([1, 2, 3, 4]);
      await storeSnapshot(log, { index: 10, term: 1 });
      // Entry 6 is the last one of the second segment.
      await log.write(writeOf(12, [], standsOn({ index: 10, term: 1 }, 6)));
      expect(await log.segmentsOnce(([first]) => first === 2)).toEqual([2, 3, 4]);
      await storeSnapshot(log, { index: 11, term: 1 });
      await log.write(writeOf(13, [], standsOn({ index: 11, term: 1 }, 7)));
      expect(await log.segmentsOnce(([first]) => first === 3)).toEqual([3, 4]);
      await reopen();
      expect(log.boot).toMatchObject({ baseIndex: 6, baseTerm: 1, lastSeq: 13 });
      expect(log.boot.entries).toEqual(entries(7, 11));
      expect(log.boot.snapshot).toEqual(snapshotAt({ index: 11, term: 1 }));
      await fill(entries(12, 20, 2));
      await reopen();
      expect(log.boot.entries).toEqual([...entries(7, 11), ...entries(12, 20, 2)]);
    });

    it("removes everything up to the segment it writes when nothing must be kept", async () => {
      await fill(entries(1, 11));
      await storeSnapshot(log, { index: 11, term: 1 });
      await log.write(writeOf(12, [], standsOn({ index: 11, term: 1 })));
      expect(await log.segmentsOnce((numbers) => numbers.length === 1)).toEqual([4]);
      await reopen();
      expect(log.boot.baseIndex).toBe(9);
      expect(log.boot.entries).toEqual(entries(10, 11));
    });

    it("goes on after a reset, in the middle of a segment, with nothing before it", async () => {
      await fill(entries(1, 8));
      await storeSnapshot(log, { index: 100, term: 7 });
      const behind = entryOf(101, 7, 10);
      const hardState = { term: 7, vote: 0 };
      const reset = { hardState, ...resetTo({ index: 100, term: 7 }) };
      await log.write(writeOf(9, [behind], reset));
      expect(await log.segmentsOnce((numbers) => numbers.length === 1)).toEqual([3]);
      await fill([entryOf(102, 7, 10)]);
      await reopen();
      expect(log.boot).toMatchObject({ baseIndex: 100, baseTerm: 7, hardState, lastSeq: 10 });
      expect(log.boot.entries).toEqual([behind, entryOf(102, 7, 10)]);
      expect(log.boot.snapshot).toEqual(snapshotAt({ index: 100, term: 7 }));
      // Over further segments and a truncation down to the snapshot.
      await fill(entries(103, 110, 7));
      await log.write(writeOf(19, entries(101, 103, 8), { truncateFrom: 101 }));
      await reopen();
      expect(log.boot.entries).toEqual(entries(101, 103, 8));
    });

    it("goes on after a reset to before its own end", async () => {
      await fill(entries(1, 11));
      await storeSnapshot(log, { index: 5, term: 3 });
      await log.write(writeOf(12, [], resetTo({ index: 5, term: 3 })));
      expect(await log.segmentsOnce((numbers) => numbers.length === 1)).toEqual([4]);
      await reopen();
      expect(log.boot).toMatchObject({ baseIndex: 5, baseTerm: 3, entries: [] });
      await fill(entries(6, 12, 3));
      await storeSnapshot(log, { index: 9, term: 3 });
      await log.write(writeOf(20, [], standsOn({ index: 9, term: 3 })));
      await reopen();
      expect(log.boot.entries).toEqual(entries(log.boot.baseIndex + 1, 12, 3));
      expect(log.boot.baseIndex).toBeLessThanOrEqual(9);
      expect(log.boot.baseIndex).toBeGreaterThan(5);
    });

    it("keeps the segments without which a truncation could not be replayed", async () => {
      await fill(entries(1, 11));
      // The fifth segment begins after entry 11 and takes back entries from the third on.
      await log.write(writeOf(12, entries(8, 9, 2), { truncateFrom: 8 }));
      await fill(entries(10, 10, 2));
      await storeSnapshot(log, { index: 10, term: 2 });
      await log.write(writeOf(14, [], standsOn({ index: 10, term: 2 })));
      expect(await log.segmentsOnce(([first]) => first === 3)).toEqual([3, 4, 5]);
      await reopen();
      expect(log.boot.entries).toEqual([...entries(7, 7), ...entries(8, 10, 2)]);
    });

    it("takes up a removal that was cut short", async () => {
      await fill(entries(1, 11));
      await storeSnapshot(log, { index: 11, term: 1 });
      log.append(writeOf(12, [], standsOn({ index: 11, term: 1 })));
      await reopen();
      expect(await log.segmentsOnce((numbers) => numbers.length === 1)).toEqual([4]);
      await reopen();
      expect(log.boot.entries).toEqual(entries(10, 11));
    });

    it("writes on while segments are removed", async () => {
      await fill(entries(1, 2));
      for (let last = 2; last < 60; last += 2) {
        const place = { index: last, term: 1 };
        await storeSnapshot(log, place);
        const more = entries(last + 1, last + 2);
        await log.write(writeOf(log.durableSeq + 1, more, standsOn(place)));
        await log.directory.snapshots.removeExcept([snapshotAt(place).checksum]);
      }
      const numbers = await log.segmentsOnce(({ length }) => length <= 2);
      expect(numbers[0]).toBeGreaterThan(10);
      await reopen();
      expect(log.boot.entries.at(-1)).toEqual(entries(60, 60)[0]);
      expect(log.boot.snapshot?.index).toBe(58);
    });

    it("refuses as a broken invariant a snapshot that is not of itself", async () => {
      await fill(entries(1, 3));
      let seq = log.durableSeq;
      const appended = (changes: Partial<Write>) => () => {
        seq += 1;
        log.append(writeOf(seq, [], changes));
      };
      const third = { index: 3, term: 1 };
      expect(appended(standsOn({ index: 4, term: 1 }))).toThrow(/snapshot of 4\/1/);
      expect(appended(standsOn({ index: 2, term: 2 }))).toThrow(/snapshot of 2\/2/);
      expect(appended(standsOn({ index: 0, term: 0 }))).toThrow(/snapshot at 0/);
      expect(appended(standsOn(third, 5))).toThrow(/keeps from 5/);
      const point = { ...snapshotAt(third), isReset: true, keepFrom: 3 };
      expect(appended({ snapshot: point })).toThrow(/keeps from 3/);
      const unnamed = { ...point, checksum: "ab", keepFrom: 4 };
      expect(appended({ snapshot: unnamed })).toThrow(/checksum "ab"/);
      appended(resetTo({ index: 9, term: 2 }))();
      expect(appended(resetTo({ index: 8, term: 2 }))).toThrow(/snapshot at 8 after one at 9/);
      expect(appended({ truncateFrom: 9 })).toThrow(/truncation from 9/);
    });
  });
}
