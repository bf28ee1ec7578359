/**
 * Whether a process with a given id still runs. A zombie has ended, even if nothing collects it, as
 * in a container without an init. All waits are limited.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { parseStat } from "../../../bin/run/process-tree.js";

const GONE_MS_MAX = 20_000;
const POLL_INTERVAL_MS = 10;

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || isAwake(pid);
  } catch {
    // No such process.
    return false;
  }
}

/** Resolves when none of them runs any more. */
export async function gone(pids: readonly number[]): Promise<void> {
  await until(`processes ${pids.join(", ")} to be gone`, () => !pids.some(isRunning));
}

/** Resolves when `isSo` says so, asked again and again; rejects when that takes too long. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + GONE_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await delay(POLL_INTERVAL_MS);
  }
}

/** Not a zombie. */
function isAwake(pid: number): boolean {
  return parseStat(pid, readFileSync(`/proc/${pid}/stat`, "utf8")) !== undefined;
}
