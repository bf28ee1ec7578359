/**
 * The descendants of a process, from /proc. Needed where the command shares the process group of
 * the terminal's job: there the group cannot be signalled without hitting bystanders, and killing a
 * shell script alone would leave the program it was running at work without a lock. A process is
 * remembered by its number and start time, so that a number used again is never hit.
 */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessMark {
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly startTime: string;
}

interface ProcessEntry extends ProcessMark {
  readonly parent: number;
}

/** All living descendants of `root`, itself not included. Empty where there is no /proc. */
export function descendantsOf(root: number): ProcessMark[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const pid of processNumbers()) {
    const entry = readEntry(pid);
    if (entry === undefined) continue;
    const siblings = children.get(entry.parent);
    if (siblings === undefined) children.set(entry.parent, [entry]);
    else siblings.push(entry);
  }
  const found: ProcessMark[] = [];
  const pending = [root];
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    for (const { pid, startTime } of children.get(parent) ?? []) {
      found.push({ pid, startTime });
      pending.push(pid);
    }
  }
  return found;
}

/** Whether that very process still lives. */
export function isAlive(mark: ProcessMark): boolean {
  return readEntry(mark.pid)?.startTime === mark.startTime;
}

/** Parses `/proc/PID/stat`; the name in it may contain anything, parentheses included. */
export function parseStat(pid: number, stat: string): ProcessEntry | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent] = fields;
  const startTime = fields[19];
  if (state === undefined || parent === undefined || startTime === undefined) return undefined;
  // A zombie has ended already.
  return state === "Z" || state === "X" ? undefined : { pid, parent: Number(parent), startTime };
}

function processNumbers(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    // No /proc on this system.
    return [];
  }
}

function readEntry(pid: number): ProcessEntry | undefined {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // Ended since it was listed.
    return undefined;
  }
}
