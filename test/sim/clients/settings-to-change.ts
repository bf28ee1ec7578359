/**
 * Replicated settings that clients change, and to what: such that everything takes many small steps,
 * or that limits are met which no run would reach otherwise.
 */
export const SETTINGS_TO_CHANGE = [
  { name: "grantsPerStepMax", values: [1, 2, 8] },
  { name: "unitsPerEntryMax", values: [1, 2, 8] },
  { name: "holdsPerStepMax", values: [1, 2] },
  { name: "priorityStepMs", values: [0, 50, 300] },
  { name: "waitersMax", values: [1, 2, 4] },
  { name: "waitsPerSessionMax", values: [1, 3] },
  { name: "holdsPerSessionMax", values: [2, 6] },
] as const;
