/** The result of `page`: its shape, and how it is computed from the measurements. */

import type { Machine } from "../../measures/machine.js";
import { hundredths, medianOf, tenths, thousandths } from "../../measures/statistics.js";
import type { PageOptions } from "../../options/bench-options.js";
import type { TabFigures } from "./metered-tab.js";

/** All locks, those whose names begin with a prefix, and one of them. */
export const PAGE_VIEWS = ["locks", "prefix", "lock"] as const;
export type PageView = (typeof PAGE_VIEWS)[number];

/** CPU per change, and what one viewer adds to it; null if the system does not report it. */
export interface ComparedCpu {
  /** Medians over the rounds, in microseconds. */
  readonly without: number | null;
  readonly with: number | null;
  /** The median of the ratios of each pair, with the page to without it. */
  readonly ratio: number | null;
}

export interface ViewFigures {
  /** Between frames: medians over the rounds, and the longest of all. */
  readonly frameMs: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Tasks of more than 50 ms, in all rounds. */
  readonly longTasks: { readonly count: number; readonly maxMs: number };
  /** The heap of JavaScript after a collection: the median of the rounds, in millions of bytes. */
  readonly heapMB: number;
  /** What the node sends to the page: the median over the rounds. */
  readonly receivedBytesPerSecond: number;
  /** The CPU time of the node that serves the page. */
  readonly nodeCpuMicros: ComparedCpu;
  /** The CPU time of all nodes together: some questions of the page concern the others too. */
  readonly serverCpuMicros: ComparedCpu;
}

/** The shape of `--json`; a contract. */
export interface PageResult {
  readonly workload: "page";
  readonly machine: Machine;
  /** Version of Chromium. */
  readonly chromium: string;
  /** The node that serves the page: the leader. */
  readonly node: string;
  readonly connections: number;
  readonly holds: number;
  readonly fillSeconds: number;
  /** Changes per second that were to begin, and the median of those that were completed. */
  readonly rate: number;
  readonly changesPerSecond: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly views: Readonly<Record<PageView, ViewFigures>>;
  /** Frames of an empty tab: as smooth as this machine can be under the load. */
  readonly blankFrameMs: ViewFigures["frameMs"];
  readonly details: readonly TurnDetails[];
  readonly errors: Readonly<Record<string, number>>;
  readonly fencingViolations: number;
}

interface TurnDetails {
  readonly round: number;
  readonly view: PageView;
  readonly isOpen: boolean;
  readonly changesPerSecond: number;
  readonly nodeCpuMicros: number | null;
  readonly serverCpuMicros: number | null;
  readonly frameMs: ViewFigures["frameMs"];
  readonly heapMB: number;
}

/** One view in one round, with the page open or, for comparison, with an empty tab. */
export interface MeasuredTurn {
  readonly round: number;
  readonly view: PageView;
  readonly isOpen: boolean;
  readonly seconds: number;
  /** Takes and releases. */
  readonly changes: number;
  /** In this time; NaN if the system does not report it. */
  readonly nodeCpuMicros: number;
  readonly serverCpuMicros: number;
  readonly tab: TabFigures;
}

type CpuOf = "nodeCpuMicros" | "serverCpuMicros";

/** The turns, and what is known of the run. */
type Measured = Pick<
  PageResult,
  "machine" | "chromium" | "node" | "fillSeconds" | "errors" | "fencingViolations"
> & { readonly turns: readonly MeasuredTurn[] };

export function pageResult(options: PageOptions, { turns, ...measured }: Measured): PageResult {
  const { connections, holds, rate, rounds, seconds } = options;
  const { machine, chromium, node, fillSeconds, errors, fencingViolations } = measured;
  const figuresOf = (view: PageView) => viewFigures(turns.filter((turn) => turn.view === view));
  return {
    workload: "page",
    ...{ machine, chromium, node, connections, holds, fillSeconds, rate },
    changesPerSecond: Math.round(medianOf(turns.map(rateOf))),
    ...{ rounds, seconds },
    views: { locks: figuresOf("locks"), prefix: figuresOf("prefix"), lock: figuresOf("lock") },
    blankFrameMs: framesOf(turns.filter(({ isOpen }) => !isOpen)),
    details: turns.map(detailsOf),
    ...{ errors, fencingViolations },
  };
}

/** `turns`: all of one view. */
function viewFigures(turns: readonly MeasuredTurn[]): ViewFigures {
  const open = turns.filter(({ isOpen }) => isOpen);
  const longTasks = open.flatMap(({ tab }) => tab.longTaskMs);
  const received = open.map(({ tab, seconds }) => tab.messageBytes / seconds);
  return {
    frameMs: framesOf(open),
    longTasks: { count: longTasks.length, maxMs: tenths(Math.max(0, ...longTasks)) },
    heapMB: tenths(medianOf(open.map(heapOf))),
    receivedBytesPerSecond: Math.round(medianOf(received)),
    nodeCpuMicros: comparedCpu(turns, "nodeCpuMicros"),
    serverCpuMicros: comparedCpu(turns, "serverCpuMicros"),
  };
}

function comparedCpu(turns: readonly MeasuredTurn[], name: CpuOf): ComparedCpu {
  const [open, closed] = [true, false].map((isOpen) =>
    turns.filter((turn) => turn.isOpen === isOpen),
  ) as [MeasuredTurn[], MeasuredTurn[]];
  const medianCost = (some: readonly MeasuredTurn[]) =>
    medianOrNull(
      some.map((turn) => perChange(turn, name)),
      hundredths,
    );
  const ratios = open.map((turn) => {
    const other = closed.find(({ round }) => round === turn.round);
    return other === undefined ? Number.NaN : perChange(turn, name) / perChange(other, name);
  });
  return {
    without: medianCost(closed),
    with: medianCost(open),
    ratio: medianOrNull(ratios, thousandths),
  };
}

/** Null if one of them is not known. */
function medianOrNull(values: readonly number[], rounded: (value: number) => number) {
  return values.every(Number.isFinite) ? rounded(medianOf(values)) : null;
}

function perChange(turn: MeasuredTurn, name: CpuOf): number {
  return turn[name] / turn.changes;
}

function framesOf(turns: readonly MeasuredTurn[]): ViewFigures["frameMs"] {
  const at = (part: number) =>
    tenths(medianOf(turns.map(({ tab }) => percentile(tab.frameMs, part))));
  const longest = turns.map(({ tab }) => Math.max(0, ...tab.frameMs));
  return { p50: at(0.5), p99: at(0.99), max: tenths(Math.max(0, ...longest)) };
}

/** The smallest value that this part of all does not exceed; 0 if there are none. */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0;
}

function detailsOf(turn: MeasuredTurn): TurnDetails {
  const { round, view, isOpen } = turn;
  return {
    ...{ round, view, isOpen },
    changesPerSecond: Math.round(rateOf(turn)),
    nodeCpuMicros: medianOrNull([perChange(turn, "nodeCpuMicros")], hundredths),
    serverCpuMicros: medianOrNull([perChange(turn, "serverCpuMicros")], hundredths),
    frameMs: framesOf([turn]),
    heapMB: tenths(heapOf(turn)),
  };
}

function rateOf({ changes, seconds }: MeasuredTurn): number {
  return changes / seconds;
}

function heapOf({ tab }: MeasuredTurn): number {
  return tab.heapBytes / 1_000_000;
}
