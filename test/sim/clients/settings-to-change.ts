/**
 * Replicated settings that clients change, and their values: so that everything takes many small
 * steps, or that runs reach limits that they would not reach otherwise.
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
