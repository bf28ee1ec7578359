/** Resident memory of processes, from /proc where there is one. */
import { readFileSync } from "node:fs";

const KIB = 1_024;

/** `undefined` where it cannot be read. */
export function residentBytes(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return match === null ? undefined : Number(match[1]) * KIB;
  } catch {
    // No /proc, or the process has ended: the figure is missing, not wrong.
    return undefined;
  }
}
