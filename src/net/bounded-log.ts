/**
 * Limits the rate of log lines that any program on the network can cause. Suppressed lines are
 * counted, and the count is logged before the next line. Every port wraps what it reports refusals
 * to in one of these, and hands out nothing else: a line must never go around it.
 */

const WINDOW_MS = 60_000;
const LINES_MAX = 16;

/** Takes one line. */
export type BoundedLog = (line: string) => void;

/** A log that hands at most 16 lines a minute on to `tell`. */
export function boundedLog(
  tell: (line: string) => void,
  nowMs: () => number = () => performance.now(),
): BoundedLog {
  let windowEndMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return (line) => {
    const now = nowMs();
    if (now >= windowEndMs) {
      const keptBack = lines - LINES_MAX;
      if (keptBack > 0) tell(`${keptBack} more connections were refused`);
      windowEndMs = now + WINDOW_MS;
      lines = 0;
    }
    lines += 1;
    if (lines <= LINES_MAX) tell(line);
  };
}
