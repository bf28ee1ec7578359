/**
 * The one repeating timer that every check for silence in `net` uses.
 *
 * Silence is counted in ticks, never in elapsed time, and a tick runs after the socket input that
 * was pending when the timer fired. So a pause of this process, however long, counts as one tick,
 * and the input that arrived meanwhile is read before any connection is considered silent.
 */

export interface Ticker {
  stop(): void;
}

/**
 * Calls `tick` every `intervalMs`, after pending input. The timer does not keep the process alive.
 */
export function startTicker(intervalMs: number, tick: () => void): Ticker {
  let afterInput: NodeJS.Immediate | undefined;
  const timer = setInterval(() => {
    afterInput ??= setImmediate(() => {
      afterInput = undefined;
      tick();
    });
  }, intervalMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      if (afterInput !== undefined) clearImmediate(afterInput);
    },
  };
}
