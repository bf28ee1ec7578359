/** What every log store must do, run against each file system it can lie on. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InvariantError } from "../../../src/errors/index.js";
import type { Entry } from "../../../src/raft/index.js";
import { readMark } from "../../../src/storage/mark/mark-file.js";
import {
  entryOf,
  HandTimer,
  hardStateWrite,
  OpenLog,
  type TestDisk,
  writeOf,
} from "./log-harness.js";

export function describeLogContract(name: string, makeDisk: () => Promise<TestDisk>): void {
  describe(`the log on ${name}`, () => {
    let disk: TestDisk;
    const open: OpenLog[] = [];

    async function reopen(last?: OpenLog): Promise<OpenLog> {
      await last?.close();
      const log = await OpenLog.open(disk);
      open.push(log);
      return log;
    }

    beforeEach(async () => {
      disk = await makeDisk();
    });

    afterEach(async () => {
      for (const log of open.splice(0)) await log.close();
      await disk.dispose();
    });

    it("is empty at first, and still empty when opened again", async () => {
      let log = await reopen();
      const nothing = {
        hardState: { term: 0, vote: 0 },
        baseIndex: 0,
        baseTerm: 0,
        entries: [],
        snapshot: undefined,
        lastSeq: 0,
      };
      expect(log.boot).toEqual(nothing);
      log = await reopen(log);
      expect(log.boot).toEqual(nothing);
    });

    it("gives back entries of every kind and size, byte for byte", async () => {
      let log = await reopen();
      const entries: Entry[] = [
        { index: 1, term: 1, kind: "noop", data: new Uint8Array(0) },
        { index: 2, term: 1, kind: "command", data: Uint8Array.of(0) },
        { index: 3, term: 2, kind: "configuration", data: new Uint8Array(513) },
        entryOf(4, 2, 1000),
        entryOf(5, 7, 1),
      ];
      await log.write(writeOf(1, entries, { hardState: { term: 7, vote: 3 } }));
      log = await reopen(log);
      expect(log.boot.entries).toEqual(entries);
      expect(log.boot.hardState).toEqual({ term: 7, vote: 3 });
      expect(log.boot.lastSeq).toBe(1);
    });

    it("keeps large numbers exact", async () => {
      let log = await reopen();
      const seq = Number.MAX_SAFE_INTEGER - 1;
      const term = 2 ** 40 + 1;
      await log.write(writeOf(seq, [entryOf(1, term)], { hardState: { term, vote: 2 ** 32 - 1 } }));
      log = await reopen(log);
      expect(log.boot.hardState).toEqual({ term, vote: 2 ** 32 - 1 });
      expect(log.boot.lastSeq).toBe(seq);
      expect(log.boot.entries[0]?.term).toBe(term);
    });

    it("keeps a record that holds nothing but the hard state", async () => {
      let log = await reopen();
      await log.write(hardStateWrite(4, { term: 9, vote: 2 }));
      await log.write(hardStateWrite(5, { term: 10, vote: 0 }));
      log = await reopen(log);
      expect(log.boot.hardState).toEqual({ term: 10, vote: 0 });
      expect(log.boot.entries).toEqual([]);
      expect(log.boot.lastSeq).toBe(5);
    });

    it("removes what a truncation removes, down to nothing, and appends after it", async () => {
      let log = await reopen();
      await log.write(writeOf(1, [entryOf(1, 1), entryOf(2, 1), entryOf(3, 1)]));
      await log.write(writeOf(2, [entryOf(2, 2)], { truncateFrom: 2 }));
      log = await reopen(log);
      expect(log.boot.entries).toEqual([entryOf(1, 1), entryOf(2, 2)]);
      await log.write(writeOf(3, [], { truncateFrom: 1 }));
      log = await reopen(log);
      expect(log.boot.entries).toEqual([]);
      await log.write(writeOf(4, [entryOf(1, 3)]));
      log = await reopen(log);
      expect(log.boot.entries).toEqual([entryOf(1, 3)]);
    });

    it("never takes an entry written again for its forerunner", async () => {
      let log = await reopen();
      log.append(writeOf(1, [entryOf(1, 1), entryOf(2, 1)]));
      log.append(writeOf(2, [], { truncateFrom: 2 }));
      log.append(writeOf(3, [entryOf(2, 1, 40)]));
      log.append(writeOf(4, [entryOf(2, 3, 50)], { truncateFrom: 2 }));
      await log.untilDurable(4);
      log = await reopen(log);
      expect(log.boot.entries).toEqual([entryOf(1, 1), entryOf(2, 3, 50)]);
      expect(log.boot.lastSeq).toBe(4);
    });

    it("goes on over many segments and reads them all back", async () => {
      let log = await reopen();
      const entries: Entry[] = [];
      for (let index = 1; index <= 60; index += 1) {
        const entry = entryOf(index, 1 + Math.floor(index / 20), 300 + index);
        entries.push(entry);
        await log.write(writeOf(index, [entry], { hardState: { term: entry.term, vote: 1 } }));
        if (index % 25 === 0) log = await reopen(log);
      }
      log = await reopen(log);
      expect(log.boot.entries).toEqual(entries);
      expect(log.boot.hardState).toEqual({ term: 4, vote: 1 });
    });

    it("gives a record that is larger than a segment a segment of its own", async () => {
      let log = await reopen();
      const entries = [entryOf(1, 1), entryOf(2, 1, 100_000), entryOf(3, 1), entryOf(4, 1, 40_000)];
      for (const entry of entries) await log.write(writeOf(entry.index, [entry]));
      log = await reopen(log);
      expect(log.boot.entries).toEqual(entries);
      await log.write(writeOf(5, [entryOf(5, 1)]));
      log = await reopen(log);
      expect(log.boot.entries.length).toBe(5);
    });

    it("takes writes from inside the report of an earlier one", async () => {
      const log = await reopen();
      await log.close();
      const { openDataDirectory } = await import("../../../src/storage/index.js");
      const directory = await openDataDirectory(disk.options);
      const reported: number[] = [];
      await new Promise<void>((resolve, reject) => {
        const onDurable = (seq: number): void => {
          reported.push(seq);
          if (seq === 10) resolve();
          else append(seq + 1);
        };
        const append = (seq: number): void => {
          if (directory.log.append(writeOf(seq, [entryOf(seq, 1)]))) onDurable(seq);
        };
        directory.log.start({ onDurable, onFailure: reject });
        append(1);
      });
      expect(reported).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      await directory.close();
    });

    it("finishes what was handed over before it closes", async () => {
      let log = await reopen();
      for (let index = 1; index <= 50; index += 1) log.append(writeOf(index, [entryOf(index, 1)]));
      const closing = log.close();
      expect(() => log.append(writeOf(51, [entryOf(51, 1)]))).toThrow(InvariantError);
      await closing;
      expect(log.durable.at(-1)).toBe(50);
      log = await reopen();
      expect(log.boot.entries.length).toBe(50);
    });

    it("refuses as a broken invariant what it could not read back", async () => {
      const log = await reopen();
      await log.write(writeOf(5, [entryOf(1, 2)], { hardState: { term: 2, vote: 0 } }));
      expect(() => log.append(writeOf(5, [entryOf(2, 2)]))).toThrow(/sequence 5 after 5/);
      expect(() => log.append(writeOf(6, []))).toThrow(/write 6 is empty/);
      expect(() => log.append(writeOf(7, [entryOf(3, 2)]))).toThrow(/entry 3\/2 after 1\/2/);
      expect(() => log.append(writeOf(8, [entryOf(2, 1)]))).toThrow(/entry 2\/1 after 1\/2/);
      expect(() => log.append(writeOf(9, [], { truncateFrom: 3 }))).toThrow(/truncation from 3/);
      expect(() => log.append(writeOf(10, [], { truncateFrom: 0 }))).toThrow(/truncation from 0/);
      expect(() => log.append(hardStateWrite(11, { term: 1, vote: 0 }))).toThrow(/term 1 after 2/);
    });

    it("raises the incarnation at every opening and keeps whose it is", async () => {
      let log = await reopen();
      expect(log.directory.identity.incarnation).toBe(1);
      log = await reopen(log);
      log = await reopen(log);
      expect(log.directory.identity).toEqual({
        ...log.directory.identity,
        nodeId: 1,
        incarnation: 3,
      });
    });

    it("moves the mark when asked, when the log rests, and every second when it does not", async () => {
      const hand = new HandTimer();
      const log = await OpenLog.open(disk, { timer: hand.timer });
      open.push(log);
      let seq = 0;
      const write = async (): Promise<void> => {
        seq += 1;
        await log.write(writeOf(seq, [entryOf(seq, 1)]));
      };
      const marked = async (): Promise<number | undefined> =>
        (await readMark(disk.fileSystem, disk.path))?.mark.seq;
      /** What has begun may take a while on a disk, however many reads of it that are. */
      const reached = async (least: number): Promise<boolean> => {
        for (let read = 0; read < 2_000; read += 1)
          if (((await marked()) ?? 0) >= least) return true;
        return false;
      };
      await write();
      await log.directory.log.syncMark();
      expect(await marked()).toBe(1);
      await write();
      expect(await marked()).toBe(1);
      // At the first look it did not rest: it was written to since the look was ordered.
      hand.advance(100);
      expect(await reached(2)).toBe(true);
      for (let second = 1; second <= 3; second += 1) {
        const before = seq;
        for (let passedMs = 0; passedMs < 1_000; passedMs += 40) {
          await write();
          hand.advance(40);
        }
        expect(await reached(before + 1), `second ${second}`).toBe(true);
      }
    });
  });
}
