/**
 * For commands that run until they are stopped: they end in order on Ctrl-C and the other ending
 * signals, and the exit code says which signal it was.
 */
import { StopRequest } from "./stop-request.js";

/**
 * Resolves to what `work` resolves to, or to 128 + n when signal n ended it. `work` gets a signal
 * that is aborted then; an error after that is a consequence of the stop.
 */
export async function untilStopped(
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new StopRequest({ watchesStdin: false });
  try {
    const exitCode = await work(stop.signal);
    return stop.signal.aborted ? stop.exitCode : exitCode;
  } catch (error) {
    if (stop.signal.aborted) return stop.exitCode;
    throw error;
  }
}
