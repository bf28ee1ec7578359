/**
 * How many files and sockets this process may have open at a time. Node has no call for it; it
 * raises the soft limit to the hard one when it starts, so both are what the kernel says then.
 */
import { readFileSync } from "node:fs";

/** Where the system does not say it: what macOS gives a process at least. */
const DESCRIPTORS_ASSUMED = 10_240;

/** Read once: nobody changes it while the process runs. */
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
    // No Linux.
    return DESCRIPTORS_ASSUMED;
  }
  const soft = /^Max open files +(\d+|unlimited) /m.exec(text)?.[1];
  if (soft === undefined) return DESCRIPTORS_ASSUMED;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
