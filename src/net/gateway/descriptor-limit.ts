/**
 * How many files and sockets this process may have open at a time. Node has no call for it. Node
 * raises the soft limit to the hard one when it starts, so both have the value that the kernel then
 * reports.
 */
import { readFileSync } from "node:fs";

/** Used where the system does not report a limit: the least that macOS gives a process. */
const DESCRIPTORS_ASSUMED = 10_240;

/** Read once, because nothing changes it while the process runs. */
let limit: number | undefined;

export function descriptorLimit(): number {
  limit ??= readLimit();
  return limit;
}

function readLimit(): number {
  let text: string;
  try {
    text = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Not Linux.
    return DESCRIPTORS_ASSUMED;
  }
  const soft = /^Max open files +(\d+|unlimited) /m.exec(text)?.[1];
  if (soft === undefined) return DESCRIPTORS_ASSUMED;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
