/**
 * Commands that run until they are told to stop: Ctrl-C and the other ending signals are obeyed in
 * good order, and the exit code says which one it was.
 */
import { StopRequest } from "./stop-request.js";

/**
 * Resolves to what `work` resolves to, or to 128 + n when signal n ended it. `work` gets a signal
 * that is aborted then; what it throws after that is the consequence of its being stopped.
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
