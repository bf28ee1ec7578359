/**
 * Which lines of a node's log are written. The node is started with a level; an operator can choose
 * another one for a while, and it goes back by itself. Both ends are logged at a level that is
 * always written. This never decides what is logged at which level.
 */
import { LOG_LEVEL, type LogLevel, type LogLevelView } from "../../protocol/index.js";
import type { Clock, LogLevels, NodeLogger } from "../ports.js";

export class NodeLogLevels implements LogLevels {
  /** Writes a line if its level is written now. */
  readonly log: NodeLogger;
  readonly #usual: LogLevel;
  readonly #sink: NodeLogger;
  readonly #clock: Clock;
  #level: LogLevel;
  #untilWallMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: NodeLogger, usual: LogLevel, clock: Clock) {
    this.#sink = sink;
    this.#usual = usual;
    this.#clock = clock;
    this.#level = usual;
    const log: NodeLogger = (level, event, fields) => {
      if (LOG_LEVEL[level] >= LOG_LEVEL[this.#level]) sink(level, event, fields);
    };
    this.log = Object.defineProperty(log, "isDebugging", {
      get: () => this.#level === "debug",
    });
  }

  get view(): Omit<LogLevelView, "node"> {
    return { level: this.#level, usual: this.#usual, untilWallMs: this.#untilWallMs };
  }

  change(level: LogLevel, forMs: number, by: string): void {
    this.stop();
    if (forMs === 0) {
      this.#goBack({ by });
      return;
    }
    this.#level = level;
    this.#untilWallMs = this.#clock.wallMs() + forMs;
    const until = new Date(this.#untilWallMs).toISOString();
    this.#announce("log level changed", { to: level, usual: this.#usual, until, by });
    this.#timer = setTimeout(() => this.#goBack({}), forMs);
    this.#timer.unref();
  }

  /** Forgets the time at which it would go back. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #goBack(fields: Record<string, unknown>): void {
    this.#level = this.#usual;
    this.#untilWallMs = null;
    this.#announce("log level is the usual one again", { to: this.#usual, ...fields });
  }

  /** Written whatever the levels are: who reads the log must know why it is so full, or so empty. */
  #announce(event: string, fields: Record<string, unknown>): void {
    this.#sink("warn", event, fields);
  }
}
