/**
 * What the storage needs from the world in addition to files: a timer, a clock and random bytes. The
 * simulator passes its own, so that a run can be repeated.
 */
import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";

/**
 * Runs `task` once after `delayMs`; the returned function disarms it. Must not keep a process
 * alive.
 */
export type Timer = (delayMs: number, task: () => void) => () => void;

export type RandomBytes = (count: number) => Uint8Array;

export interface StoragePorts {
  readonly timer: Timer;
  /** Monotonic milliseconds, to measure how long writes take. */
  readonly nowMs: () => number;
  readonly randomBytes: RandomBytes;
}

export const NODE_STORAGE_PORTS: StoragePorts = Object.freeze({
  timer(delayMs: number, task: () => void): () => void {
    const timeout = setTimeout(task, delayMs);
    timeout.unref();
    return () => clearTimeout(timeout);
  },
  nowMs: () => performance.now(),
  randomBytes: (count: number) => randomBytes(count),
});
