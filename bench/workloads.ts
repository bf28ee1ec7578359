/**
 * Which workload does what: how it is run, and how people are told.
 */
import type { BenchOptions } from "./bench-options.js";
import { runFailover } from "./failover.js";
import { failoverLines } from "./failover-report.js";
import { runQueue } from "./queue.js";
import { queueLines } from "./queue-report.js";
import { runSessions } from "./sessions.js";
import { sessionsLines } from "./sessions-report.js";
import type { SessionsResult } from "./sessions-result.js";
import { runSnapshot } from "./snapshot.js";
import { snapshotLines } from "./snapshot-report.js";
import { runTable } from "./table.js";
import { tableWorkloadLines } from "./table-report.js";
import { runThroughput } from "./throughput.js";
import { throughputLines } from "./throughput-report.js";

export interface Outcome {
  /** One JSON object; each workload documents its own. */
  readonly result: object;
  /** The same for people. */
  readonly lines: readonly string[];
  /** What must not happen, whatever the machine: such a run has failed. */
  readonly violations: number;
}

/** `signal` ends it early, by rejecting. */
export async function measure(options: BenchOptions, signal: AbortSignal): Promise<Outcome> {
  switch (options.workload) {
    case "failover":
      return outcome(await runFailover(options, signal), failoverLines);
    case "snapshot":
      return outcome(await runSnapshot(options, signal), snapshotLines);
    case "queue":
      return outcome(await runQueue(options, signal), queueLines);
    case "table":
      return outcome(await runTable(options, signal), tableWorkloadLines);
    case "sessions":
      return sessionsOutcome(await runSessions(options, signal));
    default:
      return outcome(await runThroughput(options, signal), throughputLines);
  }
}

function outcome<Result extends { readonly fencingViolations: number }>(
  result: Result,
  linesOf: (result: Result) => string[],
): Outcome {
  return { result, lines: linesOf(result), violations: result.fencingViolations };
}

/** Every lock is granted once: there is nothing to compare. */
function sessionsOutcome(result: SessionsResult): Outcome {
  return { result, lines: sessionsLines(result), violations: 0 };
}
