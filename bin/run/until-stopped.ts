/**
 * For commands that run until they are stopped: they end in order on Ctrl-C and the other ending
 * signals, and then die by that signal.
 */
import type { Ending } from "../exit/ending.js";
import { StopRequest } from "./stop-request.js";

/**
 * Resolves to what `work` resolves to, or to the signal that ended it. `work` gets a signal that is
 * aborted then; an error after that is a consequence of the stop.
 */
export async function untilStopped(
  work: (signal: AbortSignal) => Promise<number>,
): Promise<Ending> {
  const stop = new StopRequest({ watchesStdin: false });
  try {
    const exitCode = await work(stop.signal);
    return stop.signal.aborted ? stop.ending : exitCode;
  } catch (error) {
    if (stop.signal.aborted) return stop.ending;
    throw error;
  }
}
