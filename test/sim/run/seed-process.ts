/**
 * One worker process as the pool sees it. If it dies or is silent for too long, the run that it
 * had has failed; if it dies before its sources are loaded, no run has.
 */
import { type ChildProcess, fork } from "node:child_process";
import { NO_COUNTS, type SeedResult } from "./seed-result.js";
import type { WorkerAnswer, WorkerTask } from "./worker-protocol.js";

/** Real time. A run takes a fraction of a second where nothing else runs. */
const ANSWER_MS_MAX = 300_000;
/** Kept of what it writes to standard error. */
const LAST_WORDS_MAX = 4_000;

/** The sources of a worker cannot be loaded; none of its kind will ever answer. */
export class UnloadableError extends Error {}

export class SeedProcess {
  isBusy = false;
  isAlive = true;
  readonly #child: ChildProcess;
  readonly #path: string;
  #isReady = false;
  #lastWords = "";
  #onAnswer: (answer: Exclude<WorkerAnswer, { kind: "ready" }>) => void = () => {};
  #onExit: () => void = () => {};

  constructor(path: string) {
    this.#path = path;
    this.#child = fork(path, [], {
      execArgv: ["--import", "tsx"],
      serialization: "json",
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS_MAX);
    });
    this.#child.on("message", (answer: WorkerAnswer) => {
      if (answer.kind === "ready") this.#isReady = true;
      else this.#onAnswer(answer);
    });
    // Behind the last of its standard error.
    this.#child.once("close", () => {
      this.isAlive = false;
      this.#onExit();
    });
  }

  /** Rejects when sources cannot be loaded; with `UnloadableError` when the worker's own cannot. */
  run(task: WorkerTask): Promise<SeedResult> {
    this.isBusy = true;
    return new Promise<SeedResult>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.isAlive = false;
        this.#child.kill("SIGKILL");
        resolve(brokenRun(task, `no answer within ${ANSWER_MS_MAX} ms`));
      }, ANSWER_MS_MAX);
      this.#onAnswer = (answer) => {
        clearTimeout(timer);
        if (answer.kind === "result") resolve(answer.result);
        else reject(new Error(answer.message));
      };
      this.#onExit = () => {
        clearTimeout(timer);
        if (this.#isReady) resolve(brokenRun(task, `its process died: ${this.#lastWords}`));
        else reject(new UnloadableError(`${this.#path} cannot be loaded: ${this.#lastWords}`));
      };
      if (!this.isAlive) this.#onExit();
      else if (this.#child.connected) this.#child.send(task, () => {});
    }).finally(() => {
      this.isBusy = false;
      this.#onAnswer = () => {};
      this.#onExit = () => {};
    });
  }

  end(): void {
    this.#child.kill();
  }
}

function brokenRun({ seed }: WorkerTask, message: string): SeedResult {
  return {
    seed,
    hash: "",
    simulatedMs: 0,
    ...NO_COUNTS,
    outcomes: {},
    coverage: {},
    failure: { rule: "the run ends", message, story: [] },
  };
}
