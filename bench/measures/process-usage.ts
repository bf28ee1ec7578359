/**
 * What processes used between two readings of /proc: CPU and resident memory, and what the machine
 * wrote to its disks.
 * What cannot be read is left out: missing, not wrong.
 */
import { writtenDiskBytes } from "./disk-bytes.js";
import { cpuTicks, type MeasuredProcess, TICKS_PER_SECOND } from "./process-cpu.js";
import { MIB, residentBytes } from "./resident-memory.js";
import { hundredths } from "./statistics.js";

type ByName = Readonly<Record<string, number>>;

/** By name; several processes with the same name are added up. */
export interface ProcessUsage {
  readonly cpuSecondsPerProcess: ByName;
  /** What all processes of the machine wrote to its disks; `null` if it does not report that. */
  readonly diskBytes: number | null;
  readonly residentMiB: { readonly start: ByName; readonly end: ByName };
}

export class UsageMeter {
  readonly #processes: readonly MeasuredProcess[];
  readonly #ticks: ReadonlyMap<number, number>;
  readonly #written: number | undefined;
  readonly #resident: ReadonlyMap<number, number>;

  /** Counts from now on. Processes that are started later are not included. */
  constructor(processes: readonly MeasuredProcess[]) {
    this.#processes = processes;
    this.#ticks = this.#read(cpuTicks);
    // Without a server on this machine, its disks have nothing to do with the load.
    this.#written = processes.length === 0 ? undefined : writtenDiskBytes();
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
      diskBytes: this.#diskBytes(),
      residentMiB: {
        start: mebibytes(this.#resident),
        end: mebibytes(this.#read(residentBytes)),
      },
    };
  }

  #diskBytes(): number | null {
    const written = writtenDiskBytes();
    return written === undefined || this.#written === undefined ? null : written - this.#written;
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
