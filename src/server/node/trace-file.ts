/**
 * Where the lines of a trace go: a file that is appended to, or standard error. A trace that cannot be
 * written is given up with a word in the log; it never disturbs the node.
 */
import { createWriteStream } from "node:fs";
import type { TraceLine } from "../driver/raft-trace.js";
import type { Logger } from "../ports.js";

export interface Trace {
  readonly line: TraceLine;
  close(): void;
}

/** `path`: a file, created when missing; `-` is standard error. */
export function openTrace(path: string, log: Logger): Trace {
  if (path === "-") {
    return { line: (line) => void process.stderr.write(`${line}\n`), close: () => {} };
  }
  const stream = createWriteStream(path, { flags: "a" });
  let isBroken = false;
  stream.on("error", (error) => {
    isBroken = true;
    log("error", "the trace cannot be written any more", { path, message: error.message });
  });
  const line: TraceLine = (text) => {
    if (!isBroken) stream.write(`${text}\n`);
  };
  return { line, close: () => void stream.end() };
}
