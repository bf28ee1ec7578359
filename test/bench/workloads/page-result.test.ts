import { expect, test } from "vitest";
import { pageLines } from "../../../bench/workloads/page/page-report.js";
import {
  type MeasuredTurn,
  PAGE_VIEWS,
  type PageView,
  pageResult,
} from "../../../bench/workloads/page/page-result.js";

const OPTIONS = {
  workload: "page",
  connections: 8,
  seconds: 2,
  rate: 5_000,
  rounds: 3,
  holds: 100_000,
  warmupSeconds: 0,
} as const;
const CHANGES = 10_000;

/** A turn of 10,000 changes that each took the given microseconds of CPU. */
function turn(
  round: number,
  view: PageView,
  isOpen: boolean,
  nodeCpu: number,
  tab: Partial<MeasuredTurn["tab"]> = {},
): MeasuredTurn {
  const figures = { frameMs: [16], longTaskMs: [], heapBytes: 1_000_000, messages: 0 };
  return {
    ...{ round, view, isOpen, seconds: 2, changes: CHANGES },
    nodeCpuMicros: nodeCpu * CHANGES,
    serverCpuMicros: 2 * nodeCpu * CHANGES,
    tab: { ...figures, messageBytes: 0, ...tab },
  };
}

function resultOf(turns: readonly MeasuredTurn[]) {
  return pageResult(OPTIONS, {
    turns,
    machine: { cores: 2, loadBefore: 0 },
    chromium: "150.0",
    node: "n2",
    fillSeconds: 3,
    errors: {},
    fencingViolations: 0,
  });
}

/** Three rounds of each view; the machine is slower in each, and the second is disturbed. */
function threeRounds(): MeasuredTurn[] {
  return PAGE_VIEWS.flatMap((view) => [
    turn(1, view, false, 20),
    turn(1, view, true, 20.4, { heapBytes: 5_000_000, messageBytes: 50_000 }),
    turn(2, view, true, 36, { heapBytes: 4_000_000, messageBytes: 60_000, longTaskMs: [58, 75.5] }),
    turn(2, view, false, 30),
    turn(3, view, false, 40),
    turn(3, view, true, 41.2, { heapBytes: 9_000_000, messageBytes: 70_000 }),
  ]);
}

test("the cost of a viewer is the median of the ratios of turns that follow each other", () => {
  const { views, changesPerSecond } = resultOf(threeRounds());
  expect(views.locks.nodeCpuMicros).toEqual({ without: 30, with: 36, ratio: 1.03 });
  expect(views.lock.serverCpuMicros).toEqual({ without: 60, with: 72, ratio: 1.03 });
  expect(changesPerSecond).toBe(5_000);
});

test("one view's turns are not compared with another's", () => {
  const pair = (view: PageView, without: number, open: number) => [
    turn(1, view, false, without),
    turn(1, view, true, open),
  ];
  const { views } = resultOf([
    ...pair("locks", 10, 11),
    ...pair("prefix", 20, 21),
    ...pair("lock", 40, 50),
  ]);
  expect(PAGE_VIEWS.map((view) => views[view].nodeCpuMicros.ratio)).toEqual([1.1, 1.05, 1.25]);
});

test("frames, long tasks, heap and traffic are the page's and not the empty tab's", () => {
  const frames = Array.from({ length: 100 }, (_, index) => index + 1);
  const { views, blankFrameMs } = resultOf([
    turn(1, "locks", false, 1, { frameMs: [500], longTaskMs: [500], heapBytes: 9e9 }),
    turn(1, "locks", true, 1, {
      frameMs: frames,
      longTaskMs: [60],
      heapBytes: 12_340_000,
      messageBytes: 60_000,
    }),
  ]);
  expect(views.locks).toMatchObject({
    frameMs: { p50: 50, p99: 99, max: 100 },
    longTasks: { count: 1, maxMs: 60 },
    heapMB: 12.3,
    receivedBytesPerSecond: 30_000,
  });
  expect(blankFrameMs).toEqual({ p50: 500, p99: 500, max: 500 });
});

test("where the system does not report CPU there is no ratio of it, and JSON keeps that", () => {
  const turns = threeRounds().map((each) => ({ ...each, nodeCpuMicros: Number.NaN }));
  const result = resultOf(turns);
  const unknown = { without: null, with: null, ratio: null };
  expect(JSON.parse(JSON.stringify(result)).views.prefix.nodeCpuMicros).toEqual(unknown);
  expect(pageLines(result)).toContain("  CPU of the node   not known on this system");
});

test("people read of each view how smooth it is and what its viewer costs", () => {
  const lines = pageLines(resultOf(threeRounds()));
  expect(lines.slice(2, 7)).toEqual([
    "browser             Chromium 150.0, page of n2, the leader",
    "locks               100,000 held after 3 s",
    "load                5,000 changes/s of 5,000, takes and releases, over 8 connections",
    "measured            medians of 3 rounds, 2 s with each view and without it",
    "empty tab           frames p50 16 ms, p99 16 ms, max 16 ms",
  ]);
  const start = lines.indexOf("view                locks that begin with a prefix");
  expect(lines.slice(start + 1, start + 6)).toEqual([
    "  frames            p50 16 ms, p99 16 ms, max 16 ms",
    "  long tasks        2, max 75.5 ms",
    "  heap              5 MB; the node sends 30,000 bytes/s",
    "  CPU of the node   36 µs per change with the page, 30 without; ratio 1.03",
    "  CPU of all nodes  72 µs per change with the page, 60 without; ratio 1.03",
  ]);
});
