/** Looks for the seed that finds a seeded bug. */
import { WorkerPool } from "../run/worker-pool.js";
import type { Mutant } from "./mutant.js";
import { buildMutatedWorker, removeMutatedWorker } from "./mutated-worker.js";

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

/** The sources as they are, asked about a seed at most once. */
export class SoundRuns {
  readonly #pool = new WorkerPool({ jobs: 1 });
  readonly #runs = new Map<number, Promise<boolean>>();

  passes(seed: number): Promise<boolean> {
    let run = this.#runs.get(seed);
    if (run === undefined) {
      run = this.#pool
        .run({ seed, tellsStory: false })
        .then(({ failure }) => failure === undefined);
      this.#runs.set(seed, run);
    }
    return run;
  }

  close(): void {
    this.#pool.close();
  }
}

/** Seeds the bug into the sources and runs `seeds` until one fails. */
export async function findMutant(
  mutant: Mutant,
  sound: SoundRuns,
  seeds: Iterable<number>,
): Promise<MutantResult> {
  const startMs = performance.now();
  const workerPath = await buildMutatedWorker(mutant);
  const pool = new WorkerPool({ jobs: 1, workerPath });
  let tries = 0;
  let found: { readonly seed: number; readonly check: string } | undefined;
  try {
    for (const seed of seeds) {
      const { failure } = await pool.run({ seed, tellsStory: false });
      tries += 1;
      // A seed that fails without the bug as well has not found it.
      if (failure === undefined || !(await sound.passes(seed))) continue;
      found = { seed, check: failure.rule };
      break;
    }
  } finally {
    pool.close();
    removeMutatedWorker(workerPath);
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
