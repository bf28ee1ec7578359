/**
 * Runs plans in worker processes, so that all cores are used and a run that hangs or dies is
 * noticed. A process that died is replaced, unless it could not even be loaded.
 */
import { fileURLToPath } from "node:url";
import { SeedProcess, UnloadableError } from "./seed-process.js";
import type { SeedResult } from "./seed-result.js";
import type { WorkerTask } from "./worker-protocol.js";

const WORKER_PATH = fileURLToPath(new URL("./seed-worker.ts", import.meta.url));

export interface WorkerPoolOptions {
  readonly jobs: number;
  /** Where the worker's sources lie. Default: next to this file. */
  readonly workerPath?: string;
}

interface Waiting {
  readonly task: WorkerTask;
  readonly resolve: (result: SeedResult) => void;
  readonly reject: (error: unknown) => void;
}

export class WorkerPool {
  readonly #workerPath: string;
  readonly #workers: SeedProcess[];
  readonly #line: Waiting[] = [];
  #failure: unknown;

  constructor({ jobs, workerPath = WORKER_PATH }: WorkerPoolOptions) {
    this.#workerPath = workerPath;
    this.#workers = Array.from({ length: jobs }, () => new SeedProcess(this.#workerPath));
  }

  /**
   * What goes wrong in the process is the failure of the run. Rejects with `UnloadableError` when
   * the sources cannot be loaded, and everything asked later with it. When only those with the bug
   * of the task cannot be loaded, only this run rejects.
   */
  run(task: WorkerTask): Promise<SeedResult> {
    return new Promise((resolve, reject) => {
      this.#line.push({ task, resolve, reject });
      this.#assign();
    });
  }

  close(): void {
    for (const worker of this.#workers) worker.end();
  }

  #assign(): void {
    if (this.#failure !== undefined) {
      for (const { reject } of this.#line.splice(0)) reject(this.#failure);
      return;
    }
    for (const [at, worker] of this.#workers.entries()) {
      if (worker.isBusy) continue;
      const waiting = this.#line.shift();
      if (waiting === undefined) return;
      worker.run(waiting.task).then(
        (result) => {
          if (!worker.isAlive) this.#workers[at] = new SeedProcess(this.#workerPath);
          waiting.resolve(result);
          this.#assign();
        },
        (error: unknown) => {
          if (error instanceof UnloadableError) this.#failure = error;
          waiting.reject(error);
          this.#assign();
        },
      );
    }
  }
}
