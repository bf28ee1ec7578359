/** Which pairs of a state and an event many runs reached together, and which of them are rare. */
import { type PairCounts, pairName } from "../checks/coverage.js";
import { DOMAINS } from "../checks/coverage-domains.js";

/** This many of the pairs that were seen are named. */
const RAREST_NAMED = 40;

interface PairSum {
  /** In how many runs it was seen. */
  readonly seeds: number;
  /** How often in all of them. */
  readonly times: number;
}

/** By the name of the pair; what was never seen is left out. */
export type CoverageSum = Readonly<Record<string, PairSum>>;

export interface CoverageReport {
  readonly pairs: number;
  readonly seen: number;
  /** By how many runs saw it, the rarest first. */
  readonly rarest: readonly (PairSum & { readonly pair: string })[];
  readonly never: readonly string[];
}

export function withCounts(sum: CoverageSum, counts: PairCounts): CoverageSum {
  const added: Record<string, PairSum> = { ...sum };
  for (const [pair, times] of Object.entries(counts)) {
    const before = added[pair] ?? { seeds: 0, times: 0 };
    added[pair] = { seeds: before.seeds + 1, times: before.times + times };
  }
  return added;
}

export function coverageReport(sum: CoverageSum): CoverageReport {
  const all = Object.entries(DOMAINS).flatMap(([domain, { states, events }]) => {
    return states.flatMap((state) => events.map((event) => pairName(domain, state, event)));
  });
  const rarest = Object.entries(sum)
    .map(([pair, counted]) => ({ pair, ...counted }))
    .sort((a, b) => a.seeds - b.seeds || a.times - b.times);
  const never = all.filter((pair) => sum[pair] === undefined);
  return { pairs: all.length, seen: rarest.length, rarest, never };
}

/** For people. */
export function coverageLines({ pairs, seen, rarest, never }: CoverageReport): string[] {
  const lines = [
    `${seen} of ${pairs} pairs of a state and an event were seen`,
    "",
    "runs  times  pair",
  ];
  for (const { pair, seeds, times } of rarest.slice(0, RAREST_NAMED)) {
    lines.push(`${String(seeds).padStart(4)}  ${String(times).padStart(5)}  ${pair}`);
  }
  return [...lines, "", "never seen", ...never.map((pair) => `      ${pair}`), ""];
}
