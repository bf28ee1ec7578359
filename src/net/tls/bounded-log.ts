/**
 * Limits the rate of log lines that any program on the network can cause. Suppressed lines are
 * counted, and the count is logged before the next line.
 */

const WINDOW_MS = 60_000;
const LINES_MAX = 16;

export class BoundedLog {
  readonly #tell: (line: string) => void;
  readonly #nowMs: () => number;
  #windowEndMs = 0;
  #lines = 0;

  constructor(tell: (line: string) => void, nowMs: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#nowMs = nowMs;
  }

  say(line: string): void {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#windowEndMs) {
      const keptBack = this.#lines - LINES_MAX;
      if (keptBack > 0) this.#tell(`${keptBack} more connections were refused`);
      this.#windowEndMs = nowMs + WINDOW_MS;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= LINES_MAX) this.#tell(line);
  }
}
