/** The result of `storm`, for people. */
import { machineText } from "../../measures/machine.js";
import { grouped, summaryText, tableLines } from "../report-table.js";
import type { StormResult } from "./storm.js";

export function stormLines(result: StormResult): string[] {
  const { count, ttlMs, runs, tls } = result;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    [
      "clients",
      `${grouped(count)}, each with a session (TTL ${ttlMs} ms) and a lock, ` +
        `${tls ? "TLS with client certificates" : "plain text"}`,
    ],
    ["runs", `${runs}: kill -9 of the leader; from then on`],
    ["  half are served", summaryText(result.halfServedMs)],
    ["  all are served", summaryText(result.allServedMs)],
    ["  lost", `${result.sessionsLost} sessions, ${result.locksLost} locks`],
  ]);
}
