/**
 * One process that fuzzes, seen from outside. It may end by what it was fed (an exception that nobody
 * awaited, too much memory) or never come back: both are findings, and the next task gets a new one.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findingOf } from "./finding.js";
import { type JobResult, type JobTask, readInputFile } from "./job-protocol.js";
import { Violation } from "./target.js";

const SOURCES = fileURLToPath(new URL("./job-process.ts", import.meta.url));
/** The sources and tools themselves take some 200 MiB. */
const HEAP_MIB_MAX = 1_024;
/** Far more than any input takes, on a machine that has other work too. */
const HANG_SECONDS = 60;
/** The most that is kept of what a process said when it ended. */
const WORDS_MAX = 4_000;

export class Job {
  readonly #folder = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
  #process: ChildProcess | undefined;
  #lastWords = "";

  /** Ends with what was done of it when the process ends. Rejects when it cannot be loaded. */
  async run(task: JobTask): Promise<JobResult> {
    const child = await this.#obtain();
    const began = performance.now();
    const before = readInputFile(this.#path).count;
    try {
      return await this.#resultOf(child, task);
    } catch (error) {
      this.#process = undefined;
      child.kill("SIGKILL");
      const { count, input } = readInputFile(this.#path);
      return {
        target: task.target,
        executions: count - before,
        taken: 0,
        seconds: (performance.now() - began) / 1_000,
        corpusSize: 0,
        findings: [findingOf(task.target, input, error)],
        branches: undefined,
      };
    }
  }

  close(): void {
    this.#process?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true });
  }

  get #path(): string {
    return join(this.#folder, "input");
  }

  async #obtain(): Promise<ChildProcess> {
    if (this.#process !== undefined) return this.#process;
    const child = fork(SOURCES, [this.#path], {
      execArgv: ["--import", "tsx", `--max-old-space-size=${HEAP_MIB_MAX}`],
      serialization: "advanced",
      silent: true,
    });
    this.#lastWords = "";
    child.stderr?.on("data", (text: Buffer) => {
      this.#lastWords = `${this.#lastWords}${text}`.slice(-WORDS_MAX);
    });
    const ended = once(child, "exit").then(() => {
      throw new Error(`a job cannot be loaded: ${this.#lastWords}`);
    });
    await Promise.race([once(child, "message"), ended]);
    // From here on its end is a finding.
    ended.catch(() => undefined);
    this.#process = child;
    return child;
  }

  #resultOf(child: ChildProcess, task: JobTask): Promise<JobResult> {
    return new Promise((resolve, reject) => {
      let seen = -1;
      let silentSeconds = 0;
      const clock = setInterval(() => {
        const { count } = readInputFile(this.#path);
        silentSeconds = count === seen ? silentSeconds + 1 : 0;
        seen = count;
        if (silentSeconds < HANG_SECONDS) return;
        onEnd(new Violation(`an input is not done after ${HANG_SECONDS} seconds`));
      }, 1_000);
      const settle = (): void => {
        clearInterval(clock);
        child.off("message", onResult).off("exit", onExit);
      };
      const onResult = (result: JobResult): void => {
        settle();
        resolve(result);
      };
      const onEnd = (error: Error): void => {
        settle();
        reject(error);
      };
      const onExit = (): void => onEnd(new Violation(`the process ended: ${this.#lastWords}`));
      child.on("message", onResult).on("exit", onExit);
      child.send(task);
    });
  }
}
