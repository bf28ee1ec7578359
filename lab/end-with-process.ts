/**
 * Processes that must not outlive the one that started them. A process that is killed has no time to end
 * others, so what must end even then watches a pipe. A file of tests that leaves processes in odd states
 * calls `endAllStarted` after its last test.
 */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();
process.on("exit", endAllStarted);

/** Kills `child`, paused or not, when this process exits. */
export function endWithProcess(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Kills everything that still runs. */
export function endAllStarted(): void {
  for (const child of running) child.kill("SIGKILL");
}
