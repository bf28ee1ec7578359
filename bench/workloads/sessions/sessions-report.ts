/** The result of `sessions`, for people. */
import { machineText } from "../../measures/machine.js";
import { grouped, memoryText, tableLines } from "../report-table.js";
import type { SessionsResult } from "./sessions-result.js";

export function sessionsLines(result: SessionsResult): string[] {
  const { count, ttlMs, idle, expiry, leader, residentMiB } = result;
  const perKeepalive =
    idle.serverCpuMicrosPerKeepalive === null
      ? ""
      : `; CPU of the nodes ${idle.serverCpuMicrosPerKeepalive} µs each`;
  const perSession = `${grouped(result.residentBytesPerSession)} bytes per session`;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    ["sessions", `${grouped(count)} connected in ${result.connectSeconds} s, TTL ${ttlMs} ms`],
    ["  lost", `${result.sessionsLost}`],
    ["resident, before", memoryText(residentMiB.before)],
    ["resident, connected", `${memoryText(residentMiB.connected)}; ${perSession}`],
    ["idle", `${idle.seconds} s`],
    ["  keepalives/s", `${grouped(idle.keepalivesPerSecond)}${perKeepalive}`],
    ["  CPU", cpuText(idle.cpuPercentPerProcess, leader)],
    ["  longest stall", stallText(idle)],
    [
      "expiry",
      `of a session with ${grouped(expiry.holds)} locks, held after ${expiry.fillSeconds} s`,
    ],
    ["  ended", `${grouped(expiry.silentMs)} ms after its last message`],
    ["  all free", `${grouped(expiry.freeMs)} ms later, on every node`],
    ["  longest stall", stallText(expiry)],
  ]);
}

function cpuText(percent: Readonly<Record<string, number>>, leader: string): string {
  const parts = Object.entries(percent).map(
    ([name, value]) => `${name}${name === leader ? " (leader)" : ""} ${value} %`,
  );
  return parts.length === 0 ? "not known on this system" : `${parts.join(", ")} of a core`;
}

function stallText({ stallMs, stallMsPerNode }: SessionsResult["idle" | "expiry"]): string {
  const parts = Object.entries(stallMsPerNode).map(([node, each]) => `${node} ${each} ms`);
  return `${stallMs} ms (${parts.join(", ")})`;
}
