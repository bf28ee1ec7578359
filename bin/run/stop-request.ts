/**
 * Requests to stop a process that runs until it is stopped: signals, and if asked for, the end of
 * standard input, which comes when the process at the other end of the pipe is gone. The first
 * request asks for an orderly stop, a later signal for an immediate one. One press of Ctrl-C can
 * arrive twice, from the terminal and from `npm`, which passes it on to its children: repetitions
 * within a second are one request.
 */
import type { Ending } from "../exit/ending.js";
import { EXIT } from "../exit/exit-codes.js";
import { exitNow } from "../output/unplanned-exit.js";

const STOP_SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const SAME_REQUEST_MS = 1_000;

export interface StopOptions {
  /** Whether the end of standard input is a request. */
  readonly watchesStdin: boolean;
  /** Called if that was the request: then no process is left that could send another. */
  readonly onStdinEnd?: () => void;
  /** Called for SIGHUP, which is then not a request to stop. */
  readonly onHangup?: () => void;
}

/** Listens from its construction on, so that a request during a start counts too. */
export class StopRequest {
  readonly #controller = new AbortController();
  /** Aborted by the first request. */
  readonly signal: AbortSignal = this.#controller.signal;
  /** Resolves with the first request. */
  readonly requested: Promise<"stop">;
  #received: NodeJS.Signals | undefined;
  #receivedAtMs = 0;

  constructor(options: StopOptions) {
    this.requested = new Promise((resolve) => {
      this.signal.addEventListener("abort", () => resolve("stop"), { once: true });
    });
    const { onHangup } = options;
    for (const signal of STOP_SIGNALS) {
      const isHangup = signal === "SIGHUP" && onHangup !== undefined;
      process.on(signal, isHangup ? onHangup : () => this.#receive(signal));
    }
    if (!options.watchesStdin) return;
    // A closed pipe ends it, a broken one reports an error: either way the other end is gone.
    const onStdinEnd = (): void => {
      this.#controller.abort();
      options.onStdinEnd?.();
    };
    process.stdin.once("end", onStdinEnd).once("error", onStdinEnd).resume();
  }

  /** How something ends that a request ended before it was done. */
  get ending(): Ending {
    return this.#received ?? EXIT.failed;
  }

  #receive(signal: NodeJS.Signals): void {
    const nowMs = performance.now();
    if (this.#received === undefined) {
      this.#received = signal;
      this.#receivedAtMs = nowMs;
      this.#controller.abort();
    } else if (nowMs - this.#receivedAtMs > SAME_REQUEST_MS) {
      exitNow(signal);
    }
  }
}
