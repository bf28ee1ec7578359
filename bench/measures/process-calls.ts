/** What the kernel counts of a process without a tracer, from /proc if there is one. */
import { readFileSync } from "node:fs";

/**
 * System calls that read or wrote, of files, pipes and sockets, by all threads so far; `undefined`
 * if it cannot be read.
 */
export function readingAndWritingCalls(pid: number): number | undefined {
  const text = contentOf(`/proc/${pid}/io`);
  const [reads, writes] = [/^syscr: (\d+)$/m.exec(text), /^syscw: (\d+)$/m.exec(text)];
  return reads === null || writes === null ? undefined : Number(reads[1]) + Number(writes[1]);
}

/** How often the main thread, in which the event loop runs, has slept so far. */
export function voluntarySwitches(pid: number): number | undefined {
  const match = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(contentOf(`/proc/${pid}/status`));
  return match === null ? undefined : Number(match[1]);
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // No /proc, or the process has ended: the figure is missing, not wrong.
  }
}
