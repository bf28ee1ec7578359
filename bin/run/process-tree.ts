/**
 * The tree of processes, from /proc: the descendants of one, and whether this process is in the
 * foreground of its terminal. Needed if the command shares the process group of the terminal's job:
 * there a signal to the group would hit other processes, and a signal to a shell script alone would
 * leave the program it runs at work without a lock. A process is remembered by its id and start
 * time, so that a reused id is never hit.
 */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessMark {
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly startTime: string;
  /** Its process group when it was read. */
  readonly group: number;
}

interface ProcessEntry extends ProcessMark {
  readonly parent: number;
}

/** All living descendants of `root`, without `root`. Empty if there is no /proc. */
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
    for (const { pid, startTime, group } of children.get(parent) ?? []) {
      found.push({ pid, startTime, group });
      pending.push(pid);
    }
  }
  return found;
}

/**
 * Those descendants in the process group of `root`: the ones that a signal to the group would
 * reach.
 */
export function groupBelow(root: number): ProcessMark[] {
  const group = readEntry(root)?.group;
  return descendantsOf(root).filter((mark) => mark.group === group);
}

/**
 * Whether this process is in the foreground job of its terminal, whose processes all get what the
 * terminal sends. Assumed to be if there is no /proc.
 */
export function isInForeground(): boolean {
  const stat = readStat(process.pid);
  return stat === undefined || isForeground(stat);
}

/** For a line of `/proc/PID/stat`: whether the group is the terminal's foreground group. */
export function isForeground(stat: string): boolean {
  const [, , group, , , terminalGroup] = fieldsOf(stat);
  return group === terminalGroup;
}

/** Whether that very process still lives. */
export function isAlive(mark: ProcessMark): boolean {
  return readEntry(mark.pid)?.startTime === mark.startTime;
}

/** Parses `/proc/PID/stat`; the name in it may contain anything, including parentheses. */
export function parseStat(pid: number, stat: string): ProcessEntry | undefined {
  const fields = fieldsOf(stat);
  const [state, parent, group] = fields;
  const startTime = fields[19];
  if (parent === undefined || group === undefined || startTime === undefined) return undefined;
  // A zombie has ended already.
  if (state === "Z" || state === "X") return undefined;
  return { pid, parent: Number(parent), group: Number(group), startTime };
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
  const stat = readStat(pid);
  return stat === undefined ? undefined : parseStat(pid, stat);
}

function readStat(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // It ended after it was listed, or there is no /proc on this system.
    return undefined;
  }
}

/** The fields after the name: state, parent, group, session, terminal, … */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
