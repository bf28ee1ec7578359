/** What each workload runs, and how its result is shown. */
import type { BenchOptions } from "../options/bench-options.js";
import { type FailoverResult, runFailover } from "./failover/failover.js";
import { failoverLines } from "./failover/failover-report.js";
import { type FloodsResult, runFloods } from "./floods/floods.js";
import { floodsLines } from "./floods/floods-report.js";
import { runPage } from "./page/page.js";
import { pageLines } from "./page/page-report.js";
import type { PageResult } from "./page/page-result.js";
import { runQueue } from "./queue/queue.js";
import { queueLines } from "./queue/queue-report.js";
import type { QueueResult } from "./queue/queue-result.js";
import { runSessions } from "./sessions/sessions.js";
import { sessionsLines } from "./sessions/sessions-report.js";
import type { SessionsResult } from "./sessions/sessions-result.js";
import { runSnapshot } from "./snapshot/snapshot.js";
import { snapshotLines } from "./snapshot/snapshot-report.js";
import type { SnapshotResult } from "./snapshot/snapshot-result.js";
import { runStorm, type StormResult } from "./storm/storm.js";
import { stormLines } from "./storm/storm-report.js";
import { runTable } from "./table/table.js";
import { tableWorkloadLines } from "./table/table-report.js";
import type { TableResult } from "./table/table-result.js";
import { runThroughput, type ThroughputResult } from "./throughput/throughput.js";
import { throughputLines } from "./throughput/throughput-report.js";

/** Each workload documents its own. */
export type Result =
  | FailoverResult
  | FloodsResult
  | SnapshotResult
  | PageResult
  | QueueResult
  | TableResult
  | SessionsResult
  | StormResult
  | ThroughputResult;

/** `signal` ends it early, by rejecting. */
export async function measure(options: BenchOptions, signal: AbortSignal): Promise<Result> {
  switch (options.workload) {
    case "failover":
      return runFailover(options, signal);
    case "snapshot":
      return runSnapshot(options, signal);
    case "page":
      return runPage(options, signal);
    case "queue":
      return runQueue(options, signal);
    case "table":
      return runTable(options, signal);
    case "sessions":
      return runSessions(options, signal);
    case "floods":
      return runFloods(options, signal);
    case "storm":
      return runStorm(options, signal);
    default:
      return runThroughput(options, signal);
  }
}

/** For people. */
export function linesOf(result: Result): string[] {
  switch (result.workload) {
    case "failover":
      return failoverLines(result);
    case "snapshot":
      return snapshotLines(result);
    case "page":
      return pageLines(result);
    case "queue":
      return queueLines(result);
    case "table":
      return tableWorkloadLines(result);
    case "sessions":
      return sessionsLines(result);
    case "floods":
      return floodsLines(result);
    case "storm":
      return stormLines(result);
    default:
      return throughputLines(result);
  }
}

/**
 * Violations, which fail a run on any machine. In `sessions` every lock is granted once, so there
 * is nothing to compare.
 */
export function violationsOf(result: Result): number {
  return "fencingViolations" in result ? result.fencingViolations : 0;
}
