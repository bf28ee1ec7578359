import { expect, test } from "vitest";
import {
  type Counters,
  type Counts,
  compareCounts,
  comparisonText,
  countsOf,
} from "../../../bench/gate/gate-counts.js";
import { AllocationTrace } from "../../../bench/measures/allocation-trace.js";

const NONE: Counters = {
  commands: 0,
  entries: 0,
  syncs: 0,
  logBytes: 0,
  clientFrames: 0,
  clientBytes: 0,
  peerFrames: 0,
  peerBytes: 0,
  heapBytes: 0,
};
const COUNTS: Counts = {
  entriesPer1000: 20,
  syncsPer1000: 60,
  logBytes: 100,
  clientFramesPer1000: 40,
  clientBytes: 50,
  peerFramesPer1000: 80,
  peerBytes: 120,
  heapBytes: 4_000,
};
const BASELINE = { alone: COUNTS, batches: COUNTS, spread: COUNTS };

test("counts are of what came between two looks, by command", () => {
  const before = { ...NONE, commands: 500, syncs: 70, heapBytes: 1_000 };
  const after = { ...NONE, commands: 1_500, syncs: 170, logBytes: 90_000, heapBytes: 9_000 };
  expect(countsOf(before, after)).toMatchObject({
    syncsPer1000: 100,
    logBytes: 90,
    heapBytes: 8,
    entriesPer1000: 0,
  });
  expect(() => countsOf(after, before)).toThrow("-1000 commands were counted");
});

test("what rose within its limit passes, what rose beyond is named with the figures", () => {
  const now = { ...BASELINE, batches: { ...COUNTS, logBytes: 104, syncsPer1000: 80 } };
  const tooHigh = compareCounts(BASELINE, now).filter((each) => each.isTooHigh);
  expect(tooHigh.map(({ phase, count }) => [phase, count])).toEqual([["batches", "syncsPer1000"]]);
  const [line] = comparisonText(tooHigh);
  for (const part of [
    "batches: synced writes",
    " 60 ",
    " 80 ",
    "+33.3 %",
    "at most +30 %",
    "TOO HIGH",
  ]) {
    expect(line).toContain(part);
  }
});

test("how commands of many clients share entries may differ, what they cost may not", () => {
  const shared = { ...COUNTS, entriesPer1000: 1.9 * COUNTS.entriesPer1000 };
  const dearer = { ...COUNTS, logBytes: 1.2 * COUNTS.logBytes };
  const tooHigh = (spread: Counts) =>
    compareCounts(BASELINE, { ...BASELINE, spread }).filter((each) => each.isTooHigh);
  expect(tooHigh(shared)).toEqual([]);
  expect(tooHigh({ ...shared, entriesPer1000: 2.1 * COUNTS.entriesPer1000 })).toHaveLength(1);
  expect(tooHigh(dearer).map(({ count }) => count)).toEqual(["logBytes"]);
});

test("a count that is new, or no number, does not pass unseen", () => {
  const { peerBytes: _, ...rest } = COUNTS;
  const old = { ...BASELINE, batches: rest as Counts };
  const tooHigh = compareCounts(old, BASELINE).filter((each) => each.isTooHigh);
  expect(tooHigh.map(({ count }) => count)).toEqual(["peerBytes"]);
});

test("a count that fell by much is reported, so that the baseline follows", () => {
  const now = { ...BASELINE, batches: { ...COUNTS, logBytes: 60 } };
  const lower = compareCounts(BASELINE, now).filter((each) => each.isMuchLower);
  expect(lower.map(({ count }) => count)).toEqual(["logBytes"]);
  expect(compareCounts(BASELINE, BASELINE).some((each) => each.isMuchLower)).toBe(false);
});

test("allocations are read off V8's own lines, and nothing else is", () => {
  const trace = new AllocationTrace();
  trace.take("[1:0x2] 82 ms: pause=9.7 gc=s total_size_after=3841288 allocated=4255008 promoted=1");
  trace.take("[1:0x2] 89 ms: pause=7.2 gc=ms holes_size_after=1 allocated=684872 promoted=2");
  trace.take("something about allocated memory");
  expect([trace.bytes, trace.collections]).toEqual([4_939_880, 2]);
});
