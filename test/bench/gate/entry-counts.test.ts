import { expect, test } from "vitest";
import {
  compareEntries,
  type EntryCounts,
  type EntryRounds,
  entryCountsOf,
  entryText,
  type Rounds,
  roundsOf,
} from "../../../bench/gate/entry-counts.js";

const NONE = { entries: 0, calls: 0, socketWrites: 0, turns: 0, switches: 0 };

function same(rounds: Rounds): EntryRounds {
  const counts = { calls: rounds, socketWrites: rounds, turns: rounds, switches: rounds };
  return { alone: counts, spread: counts };
}

const STEADY = same({ median: 10, scatter: 0.02 });
const WILD = same({ median: 10, scatter: 0.4 });

function tooHigh(baseline: EntryRounds, median: number): string[] {
  const verdicts = compareEntries(baseline, same({ median, scatter: 0 }));
  return verdicts.filter((each) => each.isTooHigh && each.phase === "alone").map((v) => v.count);
}

test("counts are of what came between two readings, by entry", () => {
  const before = { ...NONE, entries: 100, calls: 1_000, turns: 7 };
  const after = { entries: 300, calls: 4_000, socketWrites: 500, turns: 807, switches: 100 };
  const expected = { calls: 15, socketWrites: 2.5, turns: 4, switches: 0.5 };
  expect(entryCountsOf(before, after)).toEqual(expected);
  expect(() => entryCountsOf(after, before)).toThrow("-200 entries were counted");
});

test("of several rounds the one in the middle counts, and how far apart they were", () => {
  const round = (calls: number): EntryCounts => ({ ...NONE, calls, socketWrites: 4 });
  const rounds = roundsOf([round(12), round(9), round(10)]);
  expect(rounds.calls).toEqual({ median: 10, scatter: 0.3 });
  expect(rounds.socketWrites).toEqual({ median: 4, scatter: 0 });
});

test("calls and writes are held in any case, and the others if the baseline's rounds agreed", () => {
  expect(tooHigh(STEADY, 12.9)).toEqual([]);
  expect(tooHigh(STEADY, 13.1)).toEqual(["calls", "socketWrites", "turns", "switches"]);
  expect(tooHigh(WILD, 12.9)).toEqual([]);
  expect(tooHigh(WILD, 13.1)).toEqual(["calls", "socketWrites"]);
});

test("a count that is not a number does not pass unseen", () => {
  expect(tooHigh(STEADY, Number.NaN)).toEqual(["calls", "socketWrites", "turns", "switches"]);
});

test("each count has a line with its limit and its scatter", () => {
  const [calls, , turns] = entryText(compareEntries(WILD, same({ median: 16, scatter: 0.07 })));
  for (const part of ["alone: reading and writing calls", " 10 ", " 16 ", "+60.0 %", "+30 %"]) {
    expect(calls).toContain(part);
  }
  expect(calls).toMatch(/TOO HIGH {2}scatter 7 %$/);
  expect(turns).toMatch(/only shown {2}scatter 7 %$/);
});

test("a count that fell by much is reported, so that the baseline follows", () => {
  const verdicts = compareEntries(WILD, same({ median: 6, scatter: 0 }));
  const lower = verdicts.filter((each) => each.isMuchLower && each.phase === "spread");
  expect(lower.map(({ count }) => count)).toEqual(["calls", "socketWrites"]);
});
