/** Shows for each seeded bug the seed that finds it, or that none of so many does. */

import type { SimOptions } from "../run/sim-options.js";
import { MUTANTS } from "./catalogue.js";
import { findMutant, type MutantResult, SoundRuns } from "./find-mutant.js";
import type { Mutant } from "./mutant.js";
import { readMutated } from "./mutated-copy.js";

/** Whether every bug was found. `names`: which of them; empty: all. */
export async function runMutants(names: readonly string[], options: SimOptions): Promise<boolean> {
  const chosen = choose(names);
  // An outdated catalogue is noticed before anything runs.
  for (const mutant of chosen) readMutated(mutant);
  const sound = new SoundRuns();
  const waiting = [...chosen];
  const results: MutantResult[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await findMutant(mutant, sound, seedsFor(mutant, options));
      results.push(result);
      if (!options.isJson) process.stdout.write(`${lineOf(result)}\n`);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.jobs }, work));
  } finally {
    sound.close();
  }
  if (options.isJson) process.stdout.write(`${JSON.stringify({ mutants: results })}\n`);
  const survivors = results.filter(({ found }) => !found);
  if (!options.isJson) {
    const found = results.length - survivors.length;
    process.stdout.write(`${found} of ${results.length} seeded bugs found\n`);
  }
  return survivors.length === 0;
}

/** Those that found it before first. */
function seedsFor({ seeds }: Mutant, { firstSeed, seedCount }: SimOptions): Iterable<number> {
  return new Set([...seeds, ...Array.from({ length: seedCount }, (_, at) => firstSeed + at)]);
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

function lineOf({ name, rule, found, seed, check, tries, seconds }: MutantResult): string {
  const verdict = found ? `seed ${seed} (${check})` : "SURVIVED";
  const cost = `${tries} runs, ${seconds.toFixed(1)} s`;
  return `${name.padEnd(34)} ${verdict.padEnd(48)} ${cost.padEnd(18)} ${rule}`;
}
