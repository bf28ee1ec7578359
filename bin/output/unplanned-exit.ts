/**
 * How this process ends if that was not planned: by an exception that nothing caught, or by an exit
 * while other processes depend on it. Code that starts a process which must not outlive this one
 * registers how to end it; these handlers are synchronous. All exits of `bin` go through `exitNow`.
 */
import { isatty } from "node:tty";
import type { Ending } from "../exit/ending.js";
import { EXIT, exitCodeOfSignal } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { reportFailure } from "./terminal.js";

const STREAMS = [0, 1, 2] as const;
/** The signals by which this process dies itself. Others would leave a core file, or cannot. */
const DEADLY: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGTERM", "SIGHUP"]);

const handlers = new Set<() => void>();
let terminals: readonly number[] = [];

/**
 * Runs `handler` when the process exits for any reason but SIGKILL. Returns a function that removes
 * it.
 */
export function onUnplannedExit(handler: () => void): () => void {
  handlers.add(handler);
  return () => handlers.delete(handler);
}

/** Must be called once, before anything can fail. */
export function guardProcess(): void {
  terminals = STREAMS.filter((stream) => isatty(stream));
  process.on("exit", runHandlers);
  // Also called for rejected promises without a handler.
  process.on("uncaughtException", (error: unknown) => {
    const { message } = failureOf(error);
    reportFailure(new Failure(EXIT.internal, message, { cause: error }));
    exitNow(EXIT.internal);
  });
}

/**
 * Ends the process. If its terminal has gone away, Node.js 20 would crash while it restores the
 * terminal's settings at exit; then the process ends by SIGHUP, the signal for that case.
 */
export function exitNow(ending: Ending): never {
  const exitCode = typeof ending === "number" ? ending : exitCodeOfSignal(ending);
  const isTerminalThere = terminals.every((stream) => isatty(stream));
  const signal = isTerminalThere ? ending : "SIGHUP";
  if (typeof signal === "number" || !DEADLY.has(signal)) process.exit(exitCode);
  runHandlers();
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Where the system ignores it, as it does for the first process of a container.
  process.exit(exitCode);
}

function runHandlers(): void {
  for (const handler of handlers) handler();
  handlers.clear();
}
