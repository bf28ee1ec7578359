/**
 * Processes that must not outlive the tests that started them, also when a test fails or is given
 * up half-way. What ends with the process of the tests may not be told, when that is killed itself:
 * a file whose tests leave processes in odd states calls `endAllStarted` after all of them.
 */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();
process.on("exit", endAllStarted);

export function endWithTest(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Ends at once whatever still runs, paused or not. */
export function endAllStarted(): void {
  for (const child of running) child.kill("SIGKILL");
}
