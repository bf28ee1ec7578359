/**
 * A disk that fails or is slow, for one running process and some of its files: `strace` gives other
 * results to its system calls. It needs `strace` and the right to trace; a test without them is
 * skipped and says so.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { endWithProcess } from "../../../lab/end-with-process.js";

export async function canTrace(): Promise<boolean> {
  const words = ["-qq", "-e", "inject=fdatasync:error=EIO", "true"];
  const isPossible = await promisify(execFile)("strace", words).then(
    () => true,
    () => false,
  );
  if (!isPossible) {
    process.stderr.write("SKIPPED: a failing disk needs strace and the right to trace\n");
  }
  return isPossible;
}

/**
 * Begins to trace; the first calls may pass as they are. Returns what ends it.
 *
 * @param injection such as `fdatasync:error=EIO`, as in the manual of strace
 */
export function traceDisk(
  pid: number,
  files: readonly string[],
  injection: string,
): () => Promise<void> {
  const paths = files.flatMap((file) => ["-P", file]);
  const tracer = spawn(
    "strace",
    ["-f", "-qq", "-o", "/dev/null", ...paths, "-e", `inject=${injection}`, "-p", String(pid)],
    { stdio: "ignore" },
  );
  endWithProcess(tracer);
  return async () => {
    if (tracer.exitCode !== null || tracer.signalCode !== null) return;
    tracer.kill("SIGTERM");
    await once(tracer, "exit");
  };
}
