/**
 * Runs plans in processes of their own, so that all cores are used and a run that spins or dies is
 * noticed. A worker that dies or says nothing for too long is a failed run, and is replaced.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SeedResult } from "./seed-result.js";
import type { WorkerAnswer, WorkerTask } from "./worker-protocol.js";

/** Real time; a run takes a fraction of a second. */
const ANSWER_MS_MAX = 120_000;
const WORKER_PATH = fileURLToPath(new URL("./seed-worker.ts", import.meta.url));

export interface WorkerPoolOptions {
  readonly jobs: number;
  /** Where the worker's sources lie. Default: beside this file. */
  readonly workerPath?: string;
}

interface Waiting {
  readonly task: WorkerTask;
  readonly resolve: (result: SeedResult) => void;
}

export class WorkerPool {
  readonly #workerPath: string;
  readonly #workers: Worker[];
  readonly #line: Waiting[] = [];

  constructor({ jobs, workerPath = WORKER_PATH }: WorkerPoolOptions) {
    this.#workerPath = workerPath;
    this.#workers = Array.from({ length: jobs }, () => new Worker(this.#workerPath));
  }

  /** Never rejects: what went wrong with the process is the failure of the run. */
  run(task: WorkerTask): Promise<SeedResult> {
    return new Promise((resolve) => {
      this.#line.push({ task, resolve });
      this.#assign();
    });
  }

  close(): void {
    for (const worker of this.#workers) worker.end();
  }

  #assign(): void {
    for (const [at, worker] of this.#workers.entries()) {
      if (worker.isBusy) continue;
      const waiting = this.#line.shift();
      if (waiting === undefined) return;
      worker.run(waiting.task).then((result) => {
        if (!worker.isAlive) this.#workers[at] = new Worker(this.#workerPath);
        waiting.resolve(result);
        this.#assign();
      });
    }
  }
}

class Worker {
  readonly #child: ChildProcess;
  isBusy = false;
  isAlive = true;

  constructor(path: string) {
    this.#child = fork(path, [], { execArgv: ["--import", "tsx"], serialization: "json" });
    this.#child.once("exit", () => {
      this.isAlive = false;
    });
  }

  run(task: WorkerTask): Promise<SeedResult> {
    this.isBusy = true;
    return new Promise((resolve) => {
      const child = this.#child;
      const settle = (result: SeedResult): void => {
        clearTimeout(timer);
        child.removeAllListeners("message");
        child.off("exit", onExit);
        this.isBusy = false;
        resolve(result);
      };
      const onExit = (): void => settle(brokenRun(task, "the process of the run died"));
      const timer = setTimeout(() => {
        this.isAlive = false;
        child.kill("SIGKILL");
        settle(brokenRun(task, `no answer within ${ANSWER_MS_MAX} ms`));
      }, ANSWER_MS_MAX);
      child.on("message", ({ result }: WorkerAnswer) => settle(result));
      child.on("exit", onExit);
      if (this.isAlive) child.send(task);
      else onExit();
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
    faultEpisodes: 0,
    committedEntries: 0,
    grants: 0,
    elections: 0,
    quarantines: 0,
    overlapsWithoutDeadline: 0,
    outcomes: {},
    failure: { rule: "the run ends", message, story: [] },
  };
}
