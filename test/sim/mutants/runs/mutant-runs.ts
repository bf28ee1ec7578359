/** Runs of seeds with a seeded bug, and without: which seed finds the bug, and after how many. */
import { fileURLToPath } from "node:url";
import { WorkerPool } from "../../run/worker-pool.js";
import type { Mutant } from "../mutant.js";

const MUTATED_WORKER = fileURLToPath(new URL("./mutated-worker.ts", import.meta.url));

/** What one search found. */
interface Search {
  /** The seed that found the bug; `undefined`: none did. */
  readonly seed: number | undefined;
  readonly check: string;
  /** Runs until then. */
  readonly tries: number;
}

export class MutantRuns {
  readonly #mutated: WorkerPool;
  readonly #sound = new WorkerPool({ jobs: 1 });
  /** Whether the sources as they are pass a seed. Each is run at most once. */
  readonly #passes = new Map<number, Promise<boolean>>();

  constructor(jobs: number) {
    this.#mutated = new WorkerPool({ jobs, workerPath: MUTATED_WORKER });
  }

  /** Runs `seeds` with the bug until one fails. Rejects when the bug cannot be loaded. */
  async search(mutant: Mutant, seeds: Iterable<number>): Promise<Search> {
    let tries = 0;
    for (const seed of seeds) {
      const { failure } = await this.#mutated.run({ seed, mutant, tellsStory: false });
      tries += 1;
      // A seed that fails without the bug as well has not found it.
      if (failure === undefined || !(await this.#passesWithout(seed))) continue;
      return { seed, check: failure.rule, tries };
    }
    return { seed: undefined, check: "", tries };
  }

  close(): void {
    this.#mutated.close();
    this.#sound.close();
  }

  #passesWithout(seed: number): Promise<boolean> {
    let run = this.#passes.get(seed);
    if (run === undefined) {
      run = this.#sound
        .run({ seed, tellsStory: false })
        .then(({ failure }) => failure === undefined);
      this.#passes.set(seed, run);
    }
    return run;
  }
}
