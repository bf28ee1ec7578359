/** The result of `floods`, for people. */
import { machineText } from "../../measures/machine.js";
import { tableLines } from "../report-table.js";
import type { FloodsResult } from "./floods.js";

export function floodsLines(result: FloodsResult): string[] {
  const { rate, seconds, rounds, network, floods } = result;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    [
      "load",
      `${rate} takes a second of another identity, ${seconds} s, medians of ${rounds} turns`,
    ],
    ["strangers", network === null ? "from loopback only" : "from loopback, and another network"],
    ...floods.map(({ flood, from, p99Ms, burnerP99Ms, ratio, p50Ms, failed, residentMiB }) => {
      const failures = failed === 0 ? "" : `, ${failed} failed`;
      const text =
        `p99 ${p99Ms} ms (${ratio} times the ${burnerP99Ms} ms next to a burner), ` +
        `p50 ${p50Ms} ms, memory ${residentMiB >= 0 ? "+" : ""}${residentMiB} MiB${failures}`;
      return [`  ${flood}, ${from}`, text] as const;
    }),
  ]);
}
