/** The children of a process, from /proc if there is one. */
import { readdirSync, readFileSync } from "node:fs";

/** Empty if it cannot be read. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
      return text
        .split(" ")
        .map(Number)
        .filter((child) => child > 0);
    });
  } catch {
    // No /proc, or the process has ended: its usage is missing, not wrong.
    return [];
  }
}
