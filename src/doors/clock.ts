/**
 * Time as the doors see it. Whatever decides in them takes its clock and its timers from here, so that
 * the simulator runs it in its own time. Nothing else in `src/doors` may read a clock or set a timer.
 */
import type { Platform } from "../client/index.js";

/** The part of the SDK's platform that the doors need themselves. */
export type DoorClock = Pick<Platform, "monotonicMs" | "setTimer" | "soon">;

export const SYSTEM_CLOCK: DoorClock = Object.freeze({
  monotonicMs: () => performance.now(),
  setTimer: (delayMs: number, task: () => void) => {
    const timeout = setTimeout(task, delayMs);
    timeout.unref();
    return {
      cancel: () => clearTimeout(timeout),
      setKeepsProcess: (keeps: boolean) => {
        if (keeps) timeout.ref();
        else timeout.unref();
      },
    };
  },
  soon: (task: () => void) => {
    setImmediate(task);
  },
});

/** Runs `task` again and again; does not keep the process running. Returns what ends it. */
export function every(clock: DoorClock, intervalMs: number, task: () => void): () => void {
  const again = () =>
    clock.setTimer(intervalMs, () => {
      timer = again();
      task();
    });
  let timer = again();
  return () => timer.cancel();
}
