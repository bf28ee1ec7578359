/** Resident memory of processes, from /proc if there is one. */
import { readFileSync } from "node:fs";

import type { OwnCluster } from "../cluster/own-cluster.js";

const KIB = 1_024;
export const MIB = 1 << 20;

/** `undefined` if it cannot be read. */
export function residentBytes(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return match === null ? undefined : Number(match[1]) * KIB;
  } catch {
    // No /proc, or the process has ended: the figure is missing, not wrong.
    return undefined;
  }
}

/** By node; one that cannot be read is left out. */
export function residentMiB({ nodes }: Pick<OwnCluster, "nodes">): Record<string, number> {
  const result: Record<string, number> = {};
  for (const { id, pid } of nodes) {
    const bytes = residentBytes(pid);
    if (bytes !== undefined) result[`n${id}`] = Math.round(bytes / MIB);
  }
  return result;
}

/** The growth of the node that grew most, per hold; 0 if nothing could be read. */
export function residentBytesPerHold(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  holds: number,
): number {
  const grown = Object.entries(after).map(([node, mib]) => mib - (before[node] ?? mib));
  return Math.round((Math.max(0, ...grown) * MIB) / holds);
}
