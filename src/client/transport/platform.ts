/**
 * What the SDK needs from its environment: clocks, timers, random numbers and sockets. Node,
 * browsers and the simulator each implement it once; everything else in `src/client` is the same
 * code there.
 *
 * Nothing else in `src/client` may use `Date`, `performance`, timers, `Math.random`, `process`,
 * `Buffer` or a socket.
 */

import type { ErrorCode } from "../../errors/index.js";
import type { Tracing } from "./tracing.js";

/** Certificates for `wss:` endpoints, as PEM. */
export interface TlsSettings {
  readonly ca: string | Uint8Array | undefined;
  readonly cert: string | Uint8Array | undefined;
  readonly key: string | Uint8Array | undefined;
}

/** One WebSocket connection, seen from the client. */
export interface Transport {
  /** Sends one binary message. The caller may reuse the bytes when this returns. */
  send(frame: Uint8Array): void;
  /** Begins the closing handshake; idempotent. `onClose` may or may not follow. */
  close(code: number, reason: string): void;
  /** Whether this connection alone keeps the process running. */
  setKeepsProcess(keeps: boolean): void;
}

export interface TransportEvents {
  /** Before it is open: the other side has accepted or secured the connection. */
  onProgress(): void;
  onOpen(): void;
  /** `frame` is only valid during the call. */
  onFrame(frame: Uint8Array): void;
  /**
   * Called once at the end, also if the connection never opened (code 1006). `refusal`: it never
   * opened for a reason that lies with this client and does not pass, and this is its error.
   */
  onClose(code: number, reason: string, refusal?: ErrorCode): void;
}

export interface Timer {
  cancel(): void;
  setKeepsProcess(keeps: boolean): void;
}

/** The answer of a node's client port to a GET. */
export interface Page {
  readonly status: number;
  readonly text: string;
}

/** Reads a page without following redirects. Rejects if there is no complete answer. */
export type ReadPage = (
  url: string,
  signal: AbortSignal,
  token: string | undefined,
) => Promise<Page>;

export interface Platform {
  /**
   * Milliseconds; never goes back, may have fractions. May stand still while the machine sleeps.
   */
  monotonicMs(): number;
  /** Milliseconds since 1970. May jump either way. */
  wallMs(): number;
  /**
   * Milliseconds including the time in which the machine was suspended, exact to ten; may be slow
   * to read. Absent if there is no such clock: then a step of the wall clock counts as a
   * suspension.
   */
  sinceBootMs?(): number;
  /** 0 ≤ x < 1; spreads retries, decides nothing. */
  random(): number;
  /** Fills `target` from a cryptographic source. */
  randomBytes(target: Uint8Array): void;
  /** The SHA-256 of `bytes`. Rejects with a `TypeError` on a web page that came without TLS. */
  sha256(bytes: Uint8Array): Promise<Uint8Array>;
  /** Runs `task` once, when the work of this turn of the event loop is done. */
  soon(task: () => void): void;
  /** Does not keep the process running by default. */
  setTimer(delayMs: number, task: () => void): Timer;
  /** Never throws because of the network; `onClose` reports that. */
  open(url: string, events: TransportEvents): Transport;
  /**
   * Carries a task through awaited code; resolves to a new context. Absent if the platform cannot.
   */
  loadTaskContext?<Task>(): Promise<TaskContext<Task>>;
  /**
   * Runs `task` before the process ends by SIGTERM or SIGINT. Returns a function that undoes this.
   */
  onExit?(task: () => Promise<void>): () => void;
  /** Lets any number of listeners wait on the signal, of which some platforms warn by default. */
  allowListeners?(signal: AbortSignal): void;
  /** Warns the people who run this program. */
  warn?(text: string): void;
  /** Shows observers of this process what clients do. Absent if the platform has none. */
  readonly tracing?: Tracing;
}

/**
 * Which task the running code belongs to, carried by the platform through awaited code. Only Node
 * can; `ConnectOptions.taskFromContext` says what it costs.
 */
export interface TaskContext<Task> {
  /** `undefined` outside of every `run`. */
  current(): Task | undefined;
  /**
   * Runs `work`, and everything that begins in it, as part of this task; `undefined`: of no task.
   */
  run<Result>(task: Task | undefined, work: () => Result): Result;
}
