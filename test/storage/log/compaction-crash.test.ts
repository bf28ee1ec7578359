/** A machine that stops between any two operations of a log that gives its segments back. */
import { describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import type { Entry } from "../../../src/raft/index.js";
import {
  entryOf,
  equalEntries,
  HandTimer,
  memoryDisk,
  OpenLog,
  resetTo,
  snapshotAt,
  standsOn,
  storeSnapshot,
  writeOf,
} from "./log-harness.js";

/** Three of these fill a segment. */
const BYTES = 1200;
/** What a crash keeps of what was not durable: nothing, everything, the first half, some sectors. */
const CHOICES = [0, 0.3, 0.5, 0.75];

interface Step {
  readonly place: Pick<Entry, "index" | "term">;
  readonly isReset: boolean;
  /** What the log must have once the step is durable, at least. */
  readonly needed: readonly Entry[];
}

const entries = (from: number, to: number): Entry[] =>
  Array.from({ length: to - from + 1 }, (_, at) => entryOf(from + at, 1, BYTES));

const STEPS: Readonly<Record<string, Step>> = {
  "a snapshot of itself": {
    place: { index: 11, term: 1 },
    isReset: false,
    needed: entries(8, 12),
  },
  "a snapshot of another log": { place: { index: 50, term: 3 }, isReset: true, needed: [] },
};

describe.each(Object.entries(STEPS))("a log that gives up segments for %s", (_name, step) => {
  const { place, isReset, needed } = step;

  /** Twelve entries in four segments. */
  async function prepared(): Promise<{ fileSystem: MemoryFileSystem; store: MemoryStoreDisk }> {
    const fileSystem = new MemoryFileSystem();
    const store = new MemoryStoreDisk();
    const log = await OpenLog.open(memoryDisk(fileSystem, store));
    for (const entry of entries(1, 12)) await log.write(writeOf(entry.index, [entry]));
    await storeSnapshot(log, place);
    await log.close();
    return { fileSystem, store };
  }

  it("has everything it needs after a crash between any two operations", async () => {
    const { fileSystem: image, store: stored } = await prepared();
    for (let operations = 1; ; operations += 1) {
      let left = Number.POSITIVE_INFINITY;
      const hanging = image.copy({
        intercept: () => {
          left -= 1;
          return left < 0 ? new Promise(() => {}) : undefined;
        },
      });
      const store = stored.copy();
      const log = await OpenLog.open(memoryDisk(hanging, store), { timer: new HandTimer().timer });
      await storeSnapshot(log, place);
      left = operations;
      const write = isReset ? resetTo(place) : standsOn(place, 8);
      log.append(writeOf(13, [], write));
      // Only microtasks are in play: what has not happened by now hangs.
      await new Promise((resolve) => setImmediate(resolve));
      const isDurable = log.durable.includes(13);
      const isFinished = left > 0;

      for (const keep of CHOICES) {
        const disk = memoryDisk(
          hanging.crashed(() => keep),
          store.copy(),
        );
        const again = await OpenLog.open(disk, { timer: new HandTimer().timer });
        const stands = again.boot.snapshot !== undefined;
        if (isDurable) expect(stands).toBe(true);
        if (stands) {
          expect(again.boot.snapshot).toEqual(snapshotAt(place));
          expect(again.boot.baseIndex).toBeLessThanOrEqual(place.index);
          const behind = again.boot.entries.filter(({ index }) => index >= 8);
          expect(equalEntries(behind, needed)).toBe(true);
        } else {
          expect(equalEntries(again.boot.entries, entries(1, 12))).toBe(true);
        }
        // The removal is brought to its end, and the log goes on.
        const next = entryOf(1 + (again.boot.entries.at(-1)?.index ?? again.boot.baseIndex), 9);
        await again.write(writeOf(14, [next]));
        if (stands) await again.segmentsOnce(([first]) => first === (isReset ? 4 : 3));
        await again.close();
        const last = await OpenLog.open(disk, { timer: new HandTimer().timer });
        expect(last.boot.entries.at(-1)).toEqual(next);
        expect(last.boot.snapshot).toEqual(stands ? snapshotAt(place) : undefined);
        await last.close();
      }
      if (!isFinished) continue;
      expect(operations).toBeGreaterThan(5);
      break;
    }
  });
});
