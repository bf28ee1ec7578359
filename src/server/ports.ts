/**
 * What the driver needs from the world. Production wires sockets, files and timers; the simulator
 * wires simulated ones. The driver itself uses no clocks, timers or random numbers.
 */
import type { LogLevel, LogLevelView } from "../protocol/index.js";

export type { LogLevel } from "../protocol/index.js";

export interface Clock {
  /** Monotonic milliseconds, fractions allowed. */
  nowMs(): number;
  /** Wall clock, whole milliseconds since 1970; for display only. */
  wallMs(): number;
}

export interface Scheduler {
  /** Runs `task` once, after the pending socket input of this turn of the event loop was read. */
  soon(task: () => void): void;
  /** Replaces the one armed timer. `atMs` is monotonic; `task` runs after pending input. */
  arm(atMs: number, task: () => void): void;
  disarm(): void;
}

export interface Memory {
  /** This process has little memory left: it takes nothing that would enlarge the table. */
  readonly isScarce: boolean;
}

/** Events for operators as they happen. One line each; never a secret. */
export interface NodeLogger {
  (level: LogLevel, event: string, fields?: Record<string, unknown>): void;
  /** Whether lines for debugging are written: look here before one is made. Absent: they are not. */
  readonly isDebugging?: boolean;
}

/** The level of this node's log, which operators may change for a while. */
export interface LogLevels {
  readonly view: Omit<LogLevelView, "node">;
  /** `by`: who wants it, for the log. With `forMs` 0 the node goes back to its own level at once. */
  change(level: LogLevel, forMs: number, by: string): void;
}
