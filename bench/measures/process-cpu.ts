/**
 * CPU time of processes, from /proc if there is one: user and system time of all threads of a
 * process, in hundredths of a second (the unit of /proc on every Linux that Node.js runs on), or,
 * for shorter periods, what the scheduler counts for each thread, in nanoseconds.
 */
import { readdirSync, readFileSync } from "node:fs";

export const TICKS_PER_SECOND = 100;

export interface MeasuredProcess {
  readonly name: string;
  readonly pid: number;
}

/** CPU seconds so far by name; a process that cannot be read is left out. */
export function cpuSeconds(processes: readonly MeasuredProcess[]): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const { name, pid } of processes) {
    const ticks = cpuTicks(pid);
    if (ticks !== undefined) seconds.set(name, ticks / TICKS_PER_SECOND);
  }
  return seconds;
}

/**
 * CPU microseconds so far of all of them together, as exact as the scheduler counts; `undefined` if
 * one cannot be read. Threads that have ended are not included: a server's threads do not end.
 */
export function cpuMicros(pids: readonly number[]): number | undefined {
  let nanoseconds = 0;
  try {
    for (const pid of pids) {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
        nanoseconds += Number.parseInt(text, 10);
      }
    }
  } catch {
    // No /proc, a kernel without schedstat, or a process that ended: missing, not wrong.
    return undefined;
  }
  return nanoseconds / 1_000;
}

/** `utime + stime` of `/proc/PID/stat`; the name in it may contain spaces and parentheses. */
function ticksOf(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks : undefined;
}

/** User and system time so far, in hundredths of a second. */
export function cpuTicks(pid: number): number | undefined {
  try {
    return ticksOf(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // No /proc, or the process has ended: the figure is missing, not wrong.
    return undefined;
  }
}
