/** Prints for each seeded bug the seed that finds it, or how many seeds did not. */
import { findNamed } from "../../../lab/command-line.js";
import type { SimOptions } from "../run/sim-options.js";
import { MUTANTS } from "./catalogue.js";
import { type Mutant, readMutated } from "./mutant.js";
import { type MutantResult, MutantRuns } from "./mutant-runs.js";

/** Whether every bug was found. `names`: which of them; empty: all. */
export async function runMutants(names: readonly string[], options: SimOptions): Promise<boolean> {
  const chosen = choose(names);
  // An outdated catalogue is noticed before anything runs.
  for (const mutant of chosen) readMutated(mutant);
  const runs = new MutantRuns(options.jobs);
  const waiting = [...chosen];
  const results: MutantResult[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await runs.find(mutant, seedsFor(mutant, options));
      results.push(result);
      if (!options.isJson) process.stdout.write(`${lineOf(result)}\n`);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.jobs }, work));
  } finally {
    runs.close();
  }
  if (options.isJson) process.stdout.write(`${JSON.stringify({ mutants: results })}\n`);
  const survivors = results.filter(({ found }) => !found);
  if (!options.isJson) {
    const found = results.length - survivors.length;
    const tries = results.map((result) => result.tries).sort((a, b) => a - b);
    const median = tries[Math.floor(tries.length / 2)] ?? 0;
    const cost = `runs for one: median ${median}, most ${tries.at(-1) ?? 0}`;
    process.stdout.write(`${found} of ${results.length} seeded bugs found; ${cost}\n`);
  }
  return survivors.length === 0;
}

/** Those that found it before first, unless only fresh ones count. */
function seedsFor(mutant: Mutant, { firstSeed, seedCount, isFresh }: SimOptions): Iterable<number> {
  const fresh = Array.from({ length: seedCount }, (_, at) => firstSeed + at);
  return new Set(isFresh ? fresh : [...mutant.seeds, ...fresh]);
}

function choose(names: readonly string[]): readonly Mutant[] {
  if (names.length === 0) return MUTANTS;
  return names.map((name) => findNamed("mutant", name, MUTANTS));
}

function lineOf({ name, rule, found, seed, check, tries, seconds }: MutantResult): string {
  const verdict = found ? `seed ${seed} (${check})` : "SURVIVED";
  const cost = `${tries} runs, ${seconds.toFixed(1)} s`;
  return `${name.padEnd(34)} ${verdict.padEnd(48)} ${cost.padEnd(18)} ${rule}`;
}
