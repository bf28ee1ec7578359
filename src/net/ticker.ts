/**
 * The one repeating timer behind every check for silence in `net`.
 *
 * Silence is counted in ticks, never in elapsed time, and a tick runs behind the socket input that
 * was pending when the timer fired. So a pause of this process, however long, counts as one tick,
 * and what arrived meanwhile is heard before anybody is called silent.
 */

export interface Ticker {
  stop(): void;
}

/** Calls `tick` every `intervalMs`, behind pending input. It does not keep the process alive. */
export function startTicker(intervalMs: number, tick: () => void): Ticker {
  let behindInput: NodeJS.Immediate | undefined;
  const timer = setInterval(() => {
    behindInput ??= setImmediate(() => {
      behindInput = undefined;
      tick();
    });
  }, intervalMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      if (behindInput !== undefined) clearImmediate(behindInput);
    },
  };
}
