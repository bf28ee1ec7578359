/** The result of `queue`, for people. */
import { machineText } from "../../measures/machine.js";
import { grouped, tableLines, violationsText } from "../report-table.js";
import type { ComparedCost, Cost, QueueResult } from "./queue-result.js";

export function queueLines(result: QueueResult): string[] {
  const { waiters, locks, connections, rounds, operationsPerRound } = result;
  const counts = `${operationsPerRound.enqueue}, ${operationsPerRound.cancel} and ${operationsPerRound.handOver}`;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    [
      "waiters",
      `${waiters.few} on each of ${locks.few} locks; ${grouped(waiters.many)} on one lock`,
    ],
    ["sessions", `${connections}`],
    ["measured", `medians of ${rounds} rounds; ${counts} operations of either in a round`],
    ["enqueue", comparedText(result.enqueue)],
    ["cancel", comparedText(result.cancel)],
    ["hand-over", comparedText(result.handOver)],
    ["joined/s", `${grouped(result.fillPerSecond)} while the long queue was filled`],
    ["left/s", `${grouped(result.drainPerSecond)} when all waiters were cancelled`],
    ["fencing", violationsText(result.fencingViolations)],
  ]);
}

function comparedText({ few, many, wallRatio, serverCpuRatio }: ComparedCost): string {
  const ratio = serverCpuRatio === null ? "" : ` of CPU, ${wallRatio} of time`;
  return `${costText(few)}; ${costText(many)}; ratio ${serverCpuRatio ?? wallRatio}${ratio}`;
}

function costText({ wallMicros, serverCpuMicros }: Cost): string {
  const cpu = serverCpuMicros === null ? "" : ` (CPU of the nodes ${serverCpuMicros})`;
  return `${wallMicros} µs${cpu}`;
}
