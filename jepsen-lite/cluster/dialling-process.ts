/**
 * Finds the process that dialled a connection that arrived on this machine: a proxy that several
 * processes reach by one address cannot tell them apart otherwise. Reads `/proc` of Linux
 * synchronously, which takes a millisecond or two: hundreds of small asynchronous reads would take
 * seconds on a busy machine, and the process would dial again meanwhile.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const TABLE = "/proc/net/tcp";

/**
 * `from`: the port of the dialling end. `to`: the port that was dialled. Returns one of `pids`, or
 * `undefined`.
 */
export function diallingProcess(
  from: number,
  to: number,
  pids: readonly number[],
): number | undefined {
  const inode = inodeOf(readFileSync(TABLE, "latin1"), from, to);
  if (inode === undefined) return undefined;
  return pids.find((pid) => holds(pid, `socket:[${inode}]`));
}

/**
 * Columns: number, own end, other end (`0100007F:1F90`), state, queues, timers, retransmits, user,
 * timeout, inode.
 */
function inodeOf(table: string, from: number, to: number): string | undefined {
  const ends = new RegExp(`^ *\\d+: [0-9A-F]{8}:${hex(from)} [0-9A-F]{8}:${hex(to)} .*$`, "m");
  return ends.exec(table)?.[0].trim().split(/\s+/)[9];
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

function holds(pid: number, socket: string): boolean {
  const directory = `/proc/${pid}/fd`;
  return namesIn(directory).some((name) => targetOf(`${directory}/${name}`) === socket);
}

/** Entries that vanish meanwhile belong to no connection of interest. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
