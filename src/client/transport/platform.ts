/**
 * What the SDK needs of the world: clocks, timers, random numbers and sockets. Node, browsers
 * and the simulator each implement it once; everything else in this room is the same code there.
 *
 * Nothing else in this room may touch `Date`, `performance`, timers, `Math.random`, `process`,
 * `Buffer` or a socket.
 */

/** One WebSocket connection, seen from the client. */
export interface Transport {
  /** Sends one binary message. The bytes belong to the caller again when this returns. */
  send(frame: Uint8Array): void;
  /** Begins the closing handshake; idempotent. `onClose` may or may not follow. */
  close(code: number, reason: string): void;
  /** Whether this connection alone keeps the process running. */
  setKeepsProcess(keeps: boolean): void;
}

export interface TransportEvents {
  onOpen(): void;
  /** `frame` is only valid during the call. */
  onFrame(frame: Uint8Array): void;
  /** Called once at the end, also when the connection never opened (code 1006). */
  onClose(code: number, reason: string): void;
}

export interface Timer {
  cancel(): void;
  setKeepsProcess(keeps: boolean): void;
}

/** What a node's client port answered to a GET. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Reads a page without following redirects. Rejects when there is no whole answer. */
export type ReadPage = (url: string, signal: AbortSignal) => Promise<Page>;

export interface Platform {
  /** Milliseconds, never back, fractions welcome. May stand still while the machine sleeps. */
  monotonicMs(): number;
  /** Milliseconds since 1970. May jump either way. */
  wallMs(): number;
  /**
   * Milliseconds, those included in which the machine was suspended, to within ten; may be slow to
   * read. Absent where no clock tells: then a step of the wall clock counts as if it had slept.
   */
  sinceBootMs?(): number;
  /** 0 ≤ x < 1; spreads retries, decides nothing. */
  random(): number;
  /** Fills `target` from a cryptographic source. */
  randomBytes(target: Uint8Array): void;
  /** Runs `task` once, when the work of this turn of the event loop is done. */
  soon(task: () => void): void;
  /** Does not keep the process running unless told to. */
  setTimer(delayMs: number, task: () => void): Timer;
  /** Never throws for what the network does; that is `onClose`. */
  open(url: string, events: TransportEvents): Transport;
  /** Carries a task through what is awaited; resolves to a fresh one. Absent where none can. */
  loadTaskContext?<Task>(): Promise<TaskContext<Task>>;
  /** Runs `task` before the process ends by SIGTERM or SIGINT. Returns how to undo it. */
  onExit?(task: () => Promise<void>): () => void;
}

/**
 * Which task the running code belongs to, carried along by the platform through whatever it awaits.
 * Only Node can; what it costs is said at `ConnectOptions.ownerFromContext`.
 */
export interface TaskContext<Task> {
  /** `undefined` outside of every `run`. */
  current(): Task | undefined;
  /** Runs `work`, and everything that begins in it, as of this task; `undefined`: of none. */
  run<Result>(task: Task | undefined, work: () => Result): Result;
}
