/** Whether this process may open as many connections as a measurement needs. */
import { readFileSync } from "node:fs";

/** Descriptors that this process needs in addition to one per connection. */
const SPARE_DESCRIPTORS = 200;

/** Node.js raises the soft limit to the hard one by itself; only the user can raise it further. */
export function requireDescriptors(count: number): void {
  const limit = descriptorsMax();
  const needed = count + SPARE_DESCRIPTORS;
  if (limit === undefined || needed <= limit) return;
  throw new Error(
    `${count} connections need ${needed} descriptors, and a process has ${limit}: ` +
      `ulimit -n ${needed}, or --count ${Math.max(1, limit - SPARE_DESCRIPTORS)}`,
  );
}

/** `undefined` if /proc does not have it, or if there is no limit. */
function descriptorsMax(): number | undefined {
  try {
    const text = readFileSync("/proc/self/limits", "utf8");
    const match = /^Max open files\s+(\d+)/m.exec(text);
    return match === null ? undefined : Number(match[1]);
  } catch {
    // Another system: connecting will show it.
    return undefined;
  }
}
