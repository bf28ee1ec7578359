/** Shows for each seeded bug the seed that finds it, or that none of so many does. */

import type { SimOptions } from "../run/sim-options.js";
import { WorkerPool } from "../run/worker-pool.js";
import { MUTANTS } from "./catalogue.js";
import type { Mutant } from "./mutant.js";
import { MutatedCopy, readMutated } from "./mutated-copy.js";

interface MutantResult {
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

/** Whether every bug was found. `names`: which of them; empty: all. */
export async function runMutants(names: readonly string[], options: SimOptions): Promise<boolean> {
  const chosen = choose(names);
  // An outdated catalogue is noticed before anything runs.
  for (const mutant of chosen) readMutated(mutant);
  const results: MutantResult[] = [];
  for (const mutant of chosen) {
    const result = await runMutant(mutant, options);
    results.push(result);
    if (!options.isJson) process.stdout.write(`${lineOf(result)}\n`);
  }
  if (options.isJson) process.stdout.write(`${JSON.stringify({ mutants: results })}\n`);
  const survivors = results.filter(({ found }) => !found);
  if (!options.isJson) {
    const found = results.length - survivors.length;
    process.stdout.write(`${found} of ${results.length} seeded bugs found\n`);
  }
  return survivors.length === 0;
}

function choose(names: readonly string[]): readonly Mutant[] {
  if (names.length === 0) return MUTANTS;
  return names.map((name) => {
    const mutant = MUTANTS.find((candidate) => candidate.name === name);
    if (mutant !== undefined) return mutant;
    const known = MUTANTS.map((candidate) => candidate.name).join(", ");
    throw new RangeError(`there is no mutant "${name}"; there are ${known}`);
  });
}

async function runMutant(
  mutant: Mutant,
  { firstSeed, seedCount, jobs }: SimOptions,
): Promise<MutantResult> {
  const copy = new MutatedCopy(mutant);
  const pool = new WorkerPool({ jobs, workerPath: copy.workerPath });
  const sound = new WorkerPool({ jobs: 1 });
  const startMs = performance.now();
  const fresh = Array.from({ length: seedCount }, (_, at) => firstSeed + at);
  const seeds = [...mutant.seeds, ...fresh];
  let tries = 0;
  let found: { readonly seed: number; readonly check: string } | undefined;
  const work = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      if (found !== undefined) return;
      const { failure } = await pool.run({ seed, tellsStory: false });
      tries += 1;
      if (failure === undefined) continue;
      // A seed that fails without the bug as well has not found it.
      const without = await sound.run({ seed, tellsStory: false });
      if (without.failure === undefined) found ??= { seed, check: failure.rule };
    }
  };
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    pool.close();
    sound.close();
    copy.remove();
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

function lineOf({ name, rule, found, seed, check, tries, seconds }: MutantResult): string {
  const verdict = found ? `seed ${seed} (${check})` : "SURVIVED";
  const cost = `${tries} runs, ${seconds.toFixed(1)} s`;
  return `${name.padEnd(34)} ${verdict.padEnd(48)} ${cost.padEnd(18)} ${rule}`;
}
