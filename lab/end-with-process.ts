/**
 * Processes that must not outlive the one that started them. A killed process has no time to end
 * others, so a process that must end even then watches a pipe. A test file that leaves processes in
 * odd states calls `endAllStarted` after its last test.
 */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();
process.on("exit", endAllStarted);

/** Kills `child`, paused or not, when this process exits. */
export function endWithProcess(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Kills every started process that still runs. */
export function endAllStarted(): void {
  for (const child of running) child.kill("SIGKILL");
}
