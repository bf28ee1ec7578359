/** The result of `page`, for people. */
import { machineText } from "../../measures/machine.js";
import { errorsText, grouped, type Row, tableLines, violationsText } from "../report-table.js";
import {
  type ComparedCpu,
  PAGE_VIEWS,
  type PageResult,
  type PageView,
  type ViewFigures,
} from "./page-result.js";

const VIEW_NAMES: Readonly<Record<PageView, string>> = {
  locks: "all locks",
  prefix: "locks that begin with a prefix",
  lock: "one lock, which is taken again and again",
};

export function pageLines(result: PageResult): string[] {
  const { holds, rate, changesPerSecond, connections, rounds, seconds } = result;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    ["browser", `Chromium ${result.chromium}, page of ${result.node}, the leader`],
    ["locks", `${grouped(holds)} held after ${result.fillSeconds} s`],
    [
      "load",
      `${grouped(changesPerSecond)} changes/s of ${grouped(rate)}, ` +
        `takes and releases, over ${connections} connections`,
    ],
    ["measured", `medians of ${rounds} rounds, ${seconds} s with each view and without it`],
    ["empty tab", `frames ${framesText(result.blankFrameMs)}`],
    ...PAGE_VIEWS.flatMap((view) => viewRows(VIEW_NAMES[view], result.views[view])),
    ["errors", errorsText(result.errors)],
    ["fencing", violationsText(result.fencingViolations)],
  ]);
}

function viewRows(name: string, figures: ViewFigures): Row[] {
  const { longTasks, heapMB, receivedBytesPerSecond } = figures;
  const longest = longTasks.count === 0 ? "none" : `${longTasks.count}, max ${longTasks.maxMs} ms`;
  return [
    ["view", name],
    ["  frames", framesText(figures.frameMs)],
    ["  long tasks", longest],
    ["  heap", `${heapMB} MB; the node sends ${grouped(receivedBytesPerSecond)} bytes/s`],
    ["  CPU of the node", cpuText(figures.nodeCpuMicros)],
    ["  CPU of all nodes", cpuText(figures.serverCpuMicros)],
  ];
}

function framesText({ p50, p99, max }: ViewFigures["frameMs"]): string {
  return `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`;
}

function cpuText({ without, with: open, ratio }: ComparedCpu): string {
  if (without === null || open === null || ratio === null) return "not known on this system";
  return `${open} µs per change with the page, ${without} without; ratio ${ratio}`;
}
