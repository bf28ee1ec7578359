import { expect, test } from "vitest";
import { largestStall, sessionsResult } from "../../../bench/workloads/sessions/sessions-result.js";

const OPTIONS = {
  workload: "sessions",
  count: 1_024,
  holds: 100_000,
  seconds: 10,
  warmupSeconds: 0,
  isJson: true,
} as const;

function bound(node: number, fromMs: number, stallMs: number) {
  return { node, fromMs, toMs: fromMs + 1_000, stallMs };
}

const MEASURED = {
  machine: { cores: 2, loadBefore: 0 },
  ttlMs: 15_000,
  connectSeconds: 3,
  residentMiB: { before: { n1: 60, n2: 70 }, connected: { n1: 80, n2: 100 } },
  sessionsLost: 0,
  idle: {
    leader: "n2",
    fromMs: 5_000,
    toMs: 15_000,
    keepalives: 2_500,
    cpuBefore: new Map([
      ["load", 3],
      ["n1", 1],
      ["n2", 2],
    ]),
    cpuAfter: new Map([
      ["load", 4],
      ["n1", 1.2],
      ["n2", 2.3],
    ]),
  },
  expiry: { fromMs: 40_000, toMs: 41_200, silentMs: 25_100, fillSeconds: 4 },
  boundsPerNode: [
    ["n1", [bound(1, 4_500, 9), bound(1, 20_000, 400), bound(1, 40_500, 12)]],
    [
      "n2",
      [bound(2, 14_500, 7), bound(2, 38_000, 300), bound(2, 39_500, 31), bound(2, 42_000, 90)],
    ],
  ],
} as const;

test("what keepalives cost is counted while nothing else happens", () => {
  const { idle } = sessionsResult(OPTIONS, MEASURED);
  expect(idle).toEqual({
    seconds: 10,
    keepalivesPerSecond: 250,
    cpuPercentPerProcess: { load: 10, n1: 2, n2: 3 },
    serverCpuMicrosPerKeepalive: 200,
    stallMsPerNode: { n1: 9, n2: 7 },
    stallMs: 9,
  });
});

test("stalls before the expiry, of the fill, and after it do not count for the expiry", () => {
  const { expiry } = sessionsResult(OPTIONS, MEASURED);
  expect(expiry).toEqual({
    holds: 100_000,
    fillSeconds: 4,
    silentMs: 14_900,
    freeMs: 1_200,
    stallMsPerNode: { n1: 12, n2: 31 },
    stallMs: 31,
  });
});

test("memory of a session is the growth of the node that grew most", () => {
  expect(sessionsResult(OPTIONS, MEASURED).residentBytesPerSession).toBe(30 << 10);
});

test("an interval counts for a span if they touch at all", () => {
  const bounds = [bound(1, 1_000, 5), bound(1, 2_000, 50), bound(1, 3_000, 7)];
  expect(largestStall(bounds, { fromMs: 1_200, toMs: 1_300 })).toBe(5);
  expect(largestStall(bounds, { fromMs: 1_200, toMs: 2_000 })).toBe(50);
  expect(largestStall(bounds, { fromMs: 3_500, toMs: 9_000 })).toBe(7);
  expect(largestStall(bounds, { fromMs: 9_000, toMs: 9_500 })).toBe(0);
});

test("without /proc there is no CPU, and JSON keeps that", () => {
  const unknown = { ...MEASURED.idle, cpuBefore: new Map(), cpuAfter: new Map() };
  const { idle } = sessionsResult(OPTIONS, { ...MEASURED, idle: unknown });
  expect(JSON.parse(JSON.stringify(idle))).toMatchObject({
    cpuPercentPerProcess: {},
    serverCpuMicrosPerKeepalive: null,
  });
});
