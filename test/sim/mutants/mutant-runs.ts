/** Runs of seeds with a seeded bug, and without: which seed finds the bug. */
import { fileURLToPath } from "node:url";
import { WorkerPool } from "../run/worker-pool.js";
import type { Mutant } from "./mutant.js";

const MUTATED_WORKER = fileURLToPath(new URL("./mutated-worker.ts", import.meta.url));

export interface MutantResult {
  readonly name: string;
  readonly rule: string;
  readonly found: boolean;
  /** The seed that found it; `null` when none did. */
  readonly seed: number | null;
  /** The check that failed. */
  readonly check: string;
  /** Runs until then. */
  readonly tries: number;
  readonly seconds: number;
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
  async find(mutant: Mutant, seeds: Iterable<number>): Promise<MutantResult> {
    const startMs = performance.now();
    let tries = 0;
    let found: { readonly seed: number; readonly check: string } | undefined;
    for (const seed of seeds) {
      const { failure } = await this.#mutated.run({ seed, mutant, tellsStory: false });
      tries += 1;
      // A seed that fails without the bug as well has not found it.
      if (failure === undefined || !(await this.#passesWithout(seed))) continue;
      found = { seed, check: failure.rule };
      break;
    }
    return {
      name: mutant.name,
      rule: mutant.rule,
      found: found !== undefined,
      seed: found?.seed ?? null,
      check: found?.check ?? "",
      tries,
      seconds: (performance.now() - startMs) / 1_000,
    };
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
