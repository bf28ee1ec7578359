/**
 * Runs `jepsen-lite/main.ts` as a user would, in a process of its own that ends with the test, and
 * gives what it said, wrote and returned. Every run is bounded.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Results } from "../../../jepsen-lite/run/results.js";
import { endWithProcess } from "../../../lab/end-with-process.js";

const MAIN = fileURLToPath(new URL("../../../jepsen-lite/main.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");

export interface JepsenRun {
  readonly child: ChildProcess;
  /** Everything on standard error so far. */
  readonly stderr: () => string;
  readonly ended: Promise<JepsenEnd>;
}

export interface JepsenEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `environment`: in addition to the environment of the tests. */
export function startJepsen(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): JepsenRun {
  const child = spawn(process.execPath, ["--import", TSX, MAIN, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  endWithProcess(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    child.emit("progress");
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number, stdout, stderr }));
  return { child, stderr: () => stderr, ended };
}

/** A directory for the results of one run; `remove` when the test is over. */
export async function resultDirectory() {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-test-"));
  return {
    directory: join(directory, "out"),
    report: join(directory, "out", "report.html"),
    results: async (): Promise<Results> =>
      JSON.parse(await readFile(join(directory, "out", "results.json"), "utf8")) as Results,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
