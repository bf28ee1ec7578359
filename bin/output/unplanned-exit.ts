/**
 * How this process ends if that was not planned: by an exception that nothing caught, or by an exit
 * while other processes depend on it. Code that starts a process which must not outlive this one
 * registers how to end it; these handlers are synchronous. All exits of `bin` go through `exitNow`.
 */
import { isatty } from "node:tty";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { reportFailure } from "./terminal.js";

const STREAMS = [0, 1, 2] as const;

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
export function exitNow(exitCode: number): never {
  if (terminals.every((stream) => isatty(stream))) process.exit(exitCode);
  runHandlers();
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
  process.exit(exitCode);
}

function runHandlers(): void {
  for (const handler of handlers) handler();
  handlers.clear();
}
