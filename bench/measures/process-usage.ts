/**
 * What processes used between two readings of /proc: CPU, bytes written to disks, resident memory.
 * What cannot be read is left out: missing, not wrong.
 */
import { readFileSync } from "node:fs";
import { cpuTicks, type MeasuredProcess, TICKS_PER_SECOND } from "./process-cpu.js";
import { MIB, residentBytes } from "./resident-memory.js";
import { hundredths } from "./statistics.js";

type ByName = Readonly<Record<string, number>>;

/** By name; several processes with the same name are added up. */
export interface ProcessUsage {
  readonly cpuSecondsPerProcess: ByName;
  /** What the system wrote to disks on their behalf, in whole pages, as it counts. */
  readonly diskBytesPerProcess: ByName;
  readonly residentMiB: { readonly start: ByName; readonly end: ByName };
}

export class UsageMeter {
  readonly #processes: readonly MeasuredProcess[];
  readonly #ticks: ReadonlyMap<number, number>;
  readonly #written: ReadonlyMap<number, number>;
  readonly #resident: ReadonlyMap<number, number>;

  /** Counts from now on. Processes that are started later are not included. */
  constructor(processes: readonly MeasuredProcess[]) {
    this.#processes = processes;
    this.#ticks = this.#read(cpuTicks);
    this.#written = this.#read(writtenBytes);
    this.#resident = this.#read(residentBytes);
  }

  usage(): ProcessUsage {
    const mebibytes = (of: ReadonlyMap<number, number>) =>
      this.#sums(of, (bytes) => bytes / MIB, Math.round);
    return {
      cpuSecondsPerProcess: this.#sums(
        grown(this.#ticks, this.#read(cpuTicks)),
        (ticks) => ticks / TICKS_PER_SECOND,
        hundredths,
      ),
      diskBytesPerProcess: this.#sums(grown(this.#written, this.#read(writtenBytes))),
      residentMiB: {
        start: mebibytes(this.#resident),
        end: mebibytes(this.#read(residentBytes)),
      },
    };
  }

  #read(figure: (pid: number) => number | undefined): Map<number, number> {
    const values = new Map<number, number>();
    for (const { pid } of this.#processes) {
      const value = figure(pid);
      if (value !== undefined) values.set(pid, value);
    }
    return values;
  }

  #sums(
    values: ReadonlyMap<number, number>,
    converted = (value: number) => value,
    rounded = (value: number) => value,
  ): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const { name, pid } of this.#processes) {
      const value = values.get(pid);
      if (value !== undefined) sums[name] = (sums[name] ?? 0) + converted(value);
    }
    for (const [name, sum] of Object.entries(sums)) sums[name] = rounded(sum);
    return sums;
  }
}

/** The difference for those in both; one that ended meanwhile is left out. */
function grown(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
): Map<number, number> {
  const growth = new Map<number, number>();
  for (const [pid, value] of after) {
    const start = before.get(pid);
    if (start !== undefined) growth.set(pid, value - start);
  }
  return growth;
}

/** `undefined` without /proc, and for processes of other users. */
function writtenBytes(pid: number): number | undefined {
  try {
    const match = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"));
    return match === null ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}
