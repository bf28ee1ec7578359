/** The result of `failover`, for people. */

import { machineText } from "../../measures/machine.js";
import {
  errorsText,
  grouped,
  type Row,
  summaryText,
  tableLines,
  violationsText,
} from "../report-table.js";
import type { FailoverResult } from "./failover.js";
import { FAULTS, type Fault } from "./failover-run.js";

const NAMES: Readonly<Record<Fault, string>> = {
  kill: "kill -9 of the leader",
  term: "SIGTERM of the leader",
  partition: "leader cut off",
};

export function failoverLines(result: FailoverResult): string[] {
  const { runs, connections, paceMs, fencingViolations } = result;
  const gaps = { kill: result.killMs, term: result.termMs, partition: result.partitionMs };
  const rows: Row[] = [
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    [
      "load",
      `${connections} clients, each with at most one cycle every ${paceMs} ms (no overload)`,
    ],
    ["runs", `${runs} of each fault; time without a grant to any client:`],
  ];
  for (const fault of FAULTS) {
    rows.push(
      [NAMES[fault], summaryText(gaps[fault])],
      ["  for the worst client", summaryText(result.worstClientMs[fault])],
      ["  while the node came back", summaryText(result.returnMs[fault])],
      ["  failed commands", failuresText(result, fault)],
    );
  }
  rows.push(["fencing", violationsText(fencingViolations)]);
  return tableLines(rows);
}

function failuresText(result: FailoverResult, fault: Fault): string {
  const failures = errorsText(result.failedCommands[fault]);
  const sessions = result.sessionsExpired[fault];
  return `${failures} of ${grouped(result.commands[fault])}; sessions expired: ${sessions}`;
}
