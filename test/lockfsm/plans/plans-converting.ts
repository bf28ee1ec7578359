/**
 * Random histories, like the ones of `plans.ts`, of two clients whose holds are upgraded,
 * downgraded, taken away, taken over and given back while little of it has been read: in the usual
 * plans that hits too rarely.
 */
import fc from "fast-check";
import type { TableSettings } from "../../../src/lockfsm/index.js";
import { ACQUIRE_DEFAULTS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  type Action,
  base,
  holding,
  kind,
  type Manners,
  opening,
  settings,
  type Turn,
  waitMs,
} from "./plans.js";
import { mixed, turnsOf } from "./plans-mixture.js";

/** Of two keys, and mostly of both, in either order. */
const items = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom("a", "b"),
    mode: fc.constantFrom("shared" as const, "shared" as const, "shared" as const, "exclusive"),
  }),
  { minLength: 1, maxLength: 2, selector: ({ key }) => key },
);

const acquired: fc.Arbitrary<Action> = fc.record({
  ...base,
  kind: kind("acquire"),
  task: fc.constantFrom(1, 2, 3),
  items,
  waitMs,
  options: fc.constantFrom(undefined, { ...ACQUIRE_DEFAULTS, detect: false }),
});

const upgraded: fc.Arbitrary<Action> = fc
  .tuple(holding("upgrade"), fc.nat(2))
  .map(([wanted, luck]) => ({ ...wanted, detect: luck === 0, waitMs: WAIT_FOREVER }));

const converting = mixed(
  [
    [16, acquired],
    [20, upgraded],
  ],
  {
    ...{ downgrade: 5, end: 3, handOver: 1, revoke: 2, resume: 4, keepalive: 4, recall: 4 },
    ...{ withdraw: 3, copy: 2 },
  },
);

/** Most commands are as they should be, and say little to have been read. */
const acknowledges = fc.constantFrom<Manners["acknowledges"][]>("none", "none", "newest", "oldest");

const action: fc.Arbitrary<Action> = fc
  .tuple(converting, acknowledges, fc.nat(2))
  .map(([wanted, read, luck]) => ({
    ...wanted,
    client: luck === 0 ? 1 : 0,
    manners: { ...wanted.manners, epochShift: 0, sequenceShift: 0, acknowledges: read },
  }));

export const convertingPlan: fc.Arbitrary<readonly Turn[]> = turnsOf({
  first: opening,
  elapsedMs: fc.constantFrom(0, 0, 5, 5, 1_000),
  action,
  actionsMax: 6,
  turns: { least: 3, most: 20 },
});

/** A client that reads nothing for long is refused nothing. */
export const patientSettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  unacknowledgedMax: 500,
  holdsPerStepMax: 100,
}));
