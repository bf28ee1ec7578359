/**
 * What the driver needs of the world. Production wires sockets, files and timers; the simulator
 * wires simulated ones. The driver itself touches neither clocks nor timers nor random numbers.
 */
export interface Clock {
  /** Monotonic milliseconds, fractions allowed. */
  nowMs(): number;
  /** Wall clock, whole milliseconds since 1970; for display only. */
  wallMs(): number;
}

export interface Scheduler {
  /** Runs `task` once after the pending socket input of this turn of the event loop was read. */
  soon(task: () => void): void;
  /** Replaces the one armed timer. `atMs` on the monotonic clock; runs behind pending input. */
  arm(atMs: number, task: () => void): void;
  disarm(): void;
}

export interface Memory {
  /** This process has little left: it takes nothing that would enlarge the table. */
  readonly isScarce: boolean;
}

/** What an operator may want to know as it happens. One line each; never a secret. */
export type LogLevel = "info" | "warn" | "error";
export type Logger = (level: LogLevel, event: string, fields?: Record<string, unknown>) => void;
