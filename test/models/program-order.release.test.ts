/** Explores the model of program order to its end, with the rules and without each of them. */
import { expect, test } from "vitest";
import {
  type Bounds,
  initialState,
  isSettled,
  type Kind,
  RULES,
  type Rules,
  type State,
  successors,
  violationIn,
} from "./program-order.js";

interface Explored {
  readonly stateCount: number;
  readonly violation: string | undefined;
  /** States in which nothing can happen any more and a caller still waits. */
  readonly stuckCount: number;
}

function explore(kinds: readonly Kind[], bounds: Bounds, rules: Rules = RULES): Explored {
  const first = initialState(kinds, bounds);
  const seen = new Set<string>([JSON.stringify(first)]);
  const open: State[] = [first];
  let stuckCount = 0;
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const violation = violationIn(state);
    if (violation !== undefined) return { stateCount: seen.size, violation, stuckCount };
    const next = successors(state, rules);
    if (next.length === 0 && !isSettled(state)) stuckCount += 1;
    for (const one of next) {
      const name = JSON.stringify(one);
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(one);
    }
  }
  return { stateCount: seen.size, violation: undefined, stuckCount };
}

/** Calls of one client, in order; three of them with what two make affordable. */
const PROGRAMS: readonly (readonly Kind[])[] = [
  ["strong", "strong"],
  ["strong", "weak"],
  ["weak", "strong"],
  ["weak", "weak"],
  ["strong", "weak", "strong"],
  ["weak", "strong", "weak"],
];

const BOUNDS: readonly Bounds[] = [
  { breaks: 1, refusals: 2, leaves: 0 },
  { breaks: 1, refusals: 1, leaves: 1 },
  { breaks: 2, refusals: 2, leaves: 0 },
];

const CASES = PROGRAMS.flatMap((kinds) =>
  BOUNDS.slice(0, kinds.length === 2 ? 3 : 1).map(
    (bounds) => [kinds.join(", "), JSON.stringify(bounds), kinds, bounds] as const,
  ),
);

test.each(CASES)(
  "calls keep their order and none waits forever: %s within %s",
  (...[, , kinds, bounds]) => {
    const { stateCount, violation, stuckCount } = explore(kinds, bounds);
    expect({ violation, stuckCount }).toEqual({ violation: undefined, stuckCount: 0 });
    // It was not explored in vain.
    expect(stateCount).toBeGreaterThan(500);
  },
);

test.each<[string, keyof Rules]>([
  ["numbers are executed with gaps", "demandsNext"],
  ["copies of an older epoch count", "demandsEpoch"],
  ["a call is refused after it was admitted", "refusesAtAdmissionOnly"],
  ["a node admits what comes after a refused call", "dropsAfterRefusal"],
  ["numbers are not taken back after a refusal", "takesNumbersBack"],
])("the model notices where %s", (_, rule) => {
  const isNoticed = PROGRAMS.some((kinds) => {
    const rules = { ...RULES, [rule]: false };
    const { violation, stuckCount } = explore(kinds, BOUNDS[0] as Bounds, rules);
    return violation !== undefined || stuckCount > 0;
  });
  expect(isNoticed).toBe(true);
});
