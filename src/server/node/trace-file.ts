/**
 * The destination of a trace: a file that is appended to, or standard error. If the trace cannot be
 * written, that is logged and the trace ends; it never disturbs the node.
 */
import { createWriteStream } from "node:fs";
import type { TraceLine } from "../driver/raft-trace.js";
import type { NodeLogger } from "../ports.js";

export interface Trace {
  readonly line: TraceLine;
  close(): void;
}

/** `path`: a file, created if it is missing; `-` is standard error. */
export function openTrace(path: string, log: NodeLogger): Trace {
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
