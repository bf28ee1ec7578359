/**
 * How much the disks of this machine were written, by all processes. What the kernel counts for each
 * process (`write_bytes` of /proc/PID/io) is the folios of its page cache that became dirty, each as a
 * whole: with folios of 256 KiB a synced record of 300 bytes counts 58 times what the disk gets.
 */
import { readdirSync, readFileSync } from "node:fs";

/** /proc/diskstats counts in these, whatever the disk has. */
const SECTOR_BYTES = 512;
/** Columns of /proc/diskstats (Documentation/admin-guide/iostats.rst). */
const NAME_FIELD = 2;
const SECTORS_WRITTEN_FIELD = 9;

/** Bytes written since the machine started; `undefined` if the system does not report it. */
export function writtenDiskBytes(): number | undefined {
  try {
    return sumOfDisks(readFileSync("/proc/diskstats", "utf8"), disks());
  } catch {
    return undefined;
  }
}

/** Whole disks: what is written to a partition, or through a mapping, is counted there as well. */
function disks(): ReadonlySet<string> {
  const names = readdirSync("/sys/block");
  return new Set(names.filter((name) => !/^(?:loop|ram|zram|dm-|md)/.test(name)));
}

/** The lines of those disks, added up; `undefined` if there are none. */
export function sumOfDisks(diskstats: string, names: ReadonlySet<string>): number | undefined {
  let sum: number | undefined;
  for (const line of diskstats.split("\n")) {
    const fields = line.trim().split(/\s+/);
    if (!names.has(fields[NAME_FIELD] ?? "")) continue;
    sum = (sum ?? 0) + Number(fields[SECTORS_WRITTEN_FIELD]) * SECTOR_BYTES;
  }
  return sum;
}
