import { expect, test } from "vitest";
import { formatLatency, Latencies } from "../../../bin/bench/latencies.js";

test("nothing recorded has no summary and no picture", () => {
  const latencies = new Latencies();
  expect([latencies.summary(), latencies.buckets()]).toEqual([null, []]);
});

test("percentiles describe what was recorded, to a thousandth", () => {
  const latencies = new Latencies();
  for (let ms = 1; ms <= 1_000; ms++) latencies.record(ms);
  const summary = latencies.summary();
  expect(summary?.min).toBe(1);
  for (const [name, exact] of [
    ["mean", 500.5],
    ["p50", 500],
    ["p90", 900],
    ["p99", 990],
    ["p999", 999],
    ["max", 1_000],
  ] as const) {
    expect(Math.abs((summary?.[name] ?? 0) / exact - 1), name).toBeLessThan(0.002);
  }
});

test("the picture counts each once, from the first bound that has some to the last", () => {
  const latencies = new Latencies();
  for (const ms of [0.6, 1, 1.001, 4, 30]) latencies.record(ms);
  expect(latencies.buckets()).toEqual([
    { upToMs: 1, count: 2 },
    { upToMs: 2, count: 1 },
    { upToMs: 5, count: 1 },
    { upToMs: 10, count: 0 },
    { upToMs: 20, count: 0 },
    { upToMs: 50, count: 1 },
  ]);
  const slow = new Latencies();
  slow.record(60_000);
  slow.record(7_200_000);
  expect(slow.buckets()).toEqual([{ upToMs: null, count: 2 }]);
});

test("a latency has the unit that suits it", () => {
  expect([0.0854, 1.2345, 12.345, 1_234].map(formatLatency)).toEqual([
    "85µs",
    "1.23ms",
    "12.3ms",
    "1.2s",
  ]);
});
