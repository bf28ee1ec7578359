/** Explores the model of the hand-over to its end, with the rules and without each of them. */
import { expect, test } from "vitest";
import {
  type Bounds,
  initialState,
  RULES,
  type Rules,
  type State,
  successors,
  violationIn,
} from "./hand-over.js";

interface Explored {
  readonly stateCount: number;
  readonly violation: string | undefined;
}

function explore(bounds: Bounds, rules: Rules = RULES): Explored {
  const first = initialState(bounds);
  const seen = new Set<string>([JSON.stringify(first)]);
  const open: State[] = [first];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const violation = violationIn(state);
    if (violation !== undefined) return { stateCount: seen.size, violation };
    for (const one of successors(state, rules)) {
      const name = JSON.stringify(one);
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(one);
    }
  }
  return { stateCount: seen.size, violation: undefined };
}

// All of it together is some hundred thousand states for each break.
test.each<[string, Bounds]>([
  ["connections break", { breaks: 1, isOrdering: false, isForgetting: false }],
  ["an operator ends the session", { breaks: 0, isOrdering: true, isForgetting: false }],
  ["the table forgets", { breaks: 0, isOrdering: false, isForgetting: true }],
])("a hand-over never overlaps, loses nothing, and has one heir: %s", (_, bounds) => {
  const { stateCount, violation } = explore(bounds);
  expect(violation).toBeUndefined();
  // It was not explored in vain.
  expect(stateCount).toBeGreaterThan(10_000);
});

test.each<[string, keyof Rules, string]>([
  ["it is sent before it is given up", "abortsFirst", "two believe in one lock"],
  ["a hand-over keeps its token", "renewsTokenAtHandOver", "a token not larger"],
  ["an adoption keeps its token", "renewsTokenAtAdopt", "a token not larger"],
  ["an ordered end is left behind", "takesEndAlong", "an ordered end was outlived"],
  ["an heir goes on without the first", "firstDecides", "two share what one had"],
  ["what is forgotten counts as ended", "unknownIsMoved", "two share what one had"],
  ["a lost answer counts as none", "tellsOnceSent", "data withheld, although it was executed"],
  ["the session is closed too early", "closesLast", "closed before the moves"],
  ["what was adopted can be adopted", "isAdoptedOnce", "two share what one had"],
])("the model notices where %s", (_, rule, violation) => {
  // What the rule is about, and nothing else.
  const bounds = {
    breaks: 0,
    isOrdering: rule === "takesEndAlong",
    isForgetting: rule === "unknownIsMoved",
  };
  expect(explore(bounds, { ...RULES, [rule]: false }).violation).toBe(violation);
});
