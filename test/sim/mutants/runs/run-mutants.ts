/**
 * Prints for each seeded bug the seed that finds it, or how many seeds did not; and if asked, how many
 * fresh seeds it takes.
 */
import { findNamed } from "../../../../lab/command-line.js";
import { planOf } from "../../plan/plan-of.js";
import { reaches, type ScenarioName } from "../../plan/scenarios.js";
import type { SimOptions } from "../../run/sim-options.js";
import { MUTANTS } from "../catalogue.js";
import { type Mutant, readMutated } from "../mutant.js";
import { MutantRuns } from "./mutant-runs.js";

/** One seeded bug in a document. */
interface MutantResult {
  readonly name: string;
  readonly rule: string;
  readonly scenario: ScenarioName;
  readonly found: boolean;
  /** The seed that found it; `null` when none did. */
  readonly seed: number | null;
  /** The check that failed. */
  readonly check: string;
  /** Runs until then. */
  readonly tries: number;
  /** For each search with fresh seeds, the runs that it took; `null`: none found it. */
  readonly fresh: readonly (number | null)[];
  readonly seconds: number;
}

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
      const result = await resultOf(mutant, runs, options);
      results.push(result);
      if (!options.isJson) process.stdout.write(`${lineOf(result, options)}\n`);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.jobs }, work));
  } finally {
    runs.close();
  }
  if (options.isJson) process.stdout.write(`${JSON.stringify({ mutants: results })}\n`);
  else process.stdout.write(`${summaryOf(results, options)}\n`);
  return results.every(({ found }) => found);
}

async function resultOf(
  mutant: Mutant,
  runs: MutantRuns,
  options: SimOptions,
): Promise<MutantResult> {
  const { name, rule, scenario } = mutant;
  const startMs = performance.now();
  const { seed, check, tries } = await runs.search(mutant, seedsFor(mutant, options));
  const fresh: (number | null)[] = [];
  let firstSeed = options.firstSeed;
  while (fresh.length < options.freshSearches) {
    const seeds = Array.from({ length: options.seedCount }, (_, at) => firstSeed + at);
    const search = await runs.search(mutant, seeds);
    fresh.push(search.seed === undefined ? null : search.tries);
    firstSeed += search.tries;
  }
  return {
    ...{ name, rule, scenario, found: seed !== undefined, seed: seed ?? null, check, tries, fresh },
    seconds: (performance.now() - startMs) / 1_000,
  };
}

/** Those that found it before, and then others whose plans can. */
function* seedsFor(mutant: Mutant, { firstSeed, seedCount }: SimOptions): Generator<number> {
  yield* mutant.seeds;
  let left = seedCount;
  for (let seed = firstSeed; left > 0; seed += 1) {
    if (mutant.seeds.includes(seed) || !reaches(mutant.scenario, planOf(seed))) continue;
    left -= 1;
    yield seed;
  }
}

function choose(names: readonly string[]): readonly Mutant[] {
  if (names.length === 0) return MUTANTS;
  return names.map((name) => findNamed("mutant", name, MUTANTS));
}

/** `undefined`: fewer than half of the searches found it. */
function medianOf(searches: readonly (number | null)[]): number | undefined {
  const sorted = searches.map((tries) => tries ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(median) ? median : undefined;
}

function freshText(searches: readonly (number | null)[], { seedCount }: SimOptions): string {
  const median = medianOf(searches);
  return `fresh: median ${median ?? `above ${seedCount}`}`;
}

function lineOf(result: MutantResult, options: SimOptions): string {
  const { name, rule, scenario, found, seed, check, tries, fresh, seconds } = result;
  const verdict = found ? `seed ${seed} (${check})` : "SURVIVED";
  const cost = `${tries} runs, ${seconds.toFixed(1)} s`;
  const measured = fresh.length === 0 ? "" : `${freshText(fresh, options).padEnd(26)} `;
  return `${name.padEnd(34)} ${verdict.padEnd(48)} ${cost.padEnd(18)} ${measured}${scenario}: ${rule}`;
}

function summaryOf(results: readonly MutantResult[], options: SimOptions): string {
  const found = results.filter((result) => result.found);
  const lines = [`${found.length} of ${results.length} seeded bugs found`];
  if (options.freshSearches > 0) {
    const medians = results.map(({ fresh }) => medianOf(fresh) ?? null);
    const few = medians.filter((median) => median !== null).length;
    const text = `${few} of them by most searches with up to ${options.seedCount} fresh seeds`;
    lines.push(`${text}; ${freshText(medians, options)} of all`);
  }
  return lines.join("\n");
}
