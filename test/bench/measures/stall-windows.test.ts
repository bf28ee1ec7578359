import fc from "fast-check";
import { expect, test } from "vitest";
import {
  comparedRates,
  comparedStalls,
  stallBounds,
} from "../../../bench/measures/stall-windows.js";
import { takenSnapshots } from "../../../bench/workloads/snapshot/snapshot-watch.js";

const SPANS = [
  { node: 1, fromMs: 20_000, toMs: 23_000 },
  { node: 2, fromMs: 21_000, toMs: 24_000 },
];

/** What a meter that looks back over ten to eleven seconds shows at the end of each second. */
function samplesOf(stallsMs: readonly number[]) {
  return Array.from({ length: stallsMs.length + 1 }, (_, second) => ({
    node: 1,
    atMs: second * 1_000,
    stallMs: Math.max(0, ...stallsMs.slice(Math.max(0, second - 11), second)),
  }));
}

function bound(node: number, fromMs: number, stallMs: number) {
  return { node, fromMs, toMs: fromMs + 1_000, stallMs };
}

test("a stall is found again where it happened, and at most a second later", () => {
  const stallsMs = Array.from({ length: 40 }, (_, second) => (second === 15 ? 90 : 5));
  const bounds = stallBounds(samplesOf(stallsMs));
  const high = bounds.filter(({ stallMs }) => stallMs > 5);
  expect(high).toEqual([bound(1, 15_000, 90), bound(1, 16_000, 90)]);
});

test("the bound of an interval is never below its stall, and the largest is exact", () => {
  const stalls = fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 15, maxLength: 60 });
  fc.assert(
    fc.property(stalls, (stallsMs) => {
      const bounds = stallBounds(samplesOf(stallsMs));
      const own = bounds.map(({ fromMs }) => stallsMs[fromMs / 1_000] ?? 0);
      for (const [index, { stallMs }] of bounds.entries()) {
        expect(stallMs).toBeGreaterThanOrEqual(own[index] ?? 0);
      }
      const all = Math.max(...stallsMs);
      expect(Math.max(...bounds.map(({ stallMs }) => stallMs))).toBeLessThanOrEqual(all);
    }),
  );
});

test("nothing is said about intervals that later samples would say more about", () => {
  const bounds = stallBounds(samplesOf(Array.from({ length: 30 }, () => 1)));
  expect(bounds.at(-1)?.fromMs).toBe(19_000);
  expect(stallBounds(samplesOf([1, 2, 3]))).toEqual([]);
});

test("a stall counts as with a snapshot during the node's own, as without outside of all", () => {
  const bounds = [
    bound(1, 18_000, 12),
    bound(1, 19_500, 40),
    bound(1, 22_000, 45),
    bound(1, 24_400, 41),
    // During a snapshot of another node only: neither.
    bound(1, 24_600, 70),
    bound(3, 22_000, 90),
    bound(1, 25_600, 15),
  ];
  expect(comparedStalls(bounds, SPANS)).toEqual({ without: 15, with: 45 });
  expect(comparedStalls([], SPANS)).toEqual({ without: 0, with: 0 });
});

test("cycles are counted by the time in which they ended", () => {
  const rates = [
    { fromMs: 18_000, toMs: 19_000, cycles: 100 },
    { fromMs: 19_000, toMs: 19_500, cycles: 60 },
    { fromMs: 19_500, toMs: 20_500, cycles: 50 },
    { fromMs: 24_000, toMs: 26_000, cycles: 80 },
    { fromMs: 26_000, toMs: 27_000, cycles: 140 },
  ];
  expect(comparedRates(rates, SPANS)).toEqual({ without: 120, with: 43 });
  expect(comparedRates([], SPANS)).toEqual({ without: 0, with: 0 });
});

test("the log of a node says when its snapshots began and ended", () => {
  const fields = { index: 7, bytes: 5_000, durationMs: 300 };
  const events = [
    { wallMs: 900, event: "role", fields: { role: "leader" } },
    { wallMs: 1_000, event: "snapshot taken", fields },
  ];
  expect(takenSnapshots([{ id: 3, events }])).toEqual([
    { node: 3, fromMs: 700, toMs: 1_000, bytes: 5_000 },
  ]);
});
