/**
 * Random histories, as those of `plans.ts`, of two clients whose holds are upgraded, downgraded, taken
 * away, taken over and given back while little of it has been read: under what is usual that meets too
 * rarely.
 */
import fc from "fast-check";
import type { TableSettings } from "../../../src/lockfsm/index.js";
import { ACQUIRE_DEFAULTS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  type Action,
  attaching,
  base,
  copying,
  forcing,
  holding,
  kind,
  type Manners,
  opening,
  settings,
  type Turn,
  waitMs,
  withdrawing,
} from "./plans.js";

/** Of two keys, and mostly of both, in either order. */
const items = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom("a", "b"),
    mode: fc.constantFrom("shared" as const, "shared" as const, "shared" as const, "exclusive"),
  }),
  { minLength: 1, maxLength: 2, selector: ({ key }) => key },
);

const converting: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      ...base,
      kind: kind("acquire"),
      owner: fc.constantFrom(1, 2, 3),
      items,
      waitMs,
      options: fc.constantFrom(undefined, { ...ACQUIRE_DEFAULTS, detect: false }),
    }),
  },
  {
    weight: 20,
    arbitrary: fc
      .tuple(holding("upgrade"), fc.nat(2))
      .map(([wanted, luck]) => ({ ...wanted, detect: luck === 0, waitMs: WAIT_FOREVER })),
  },
  { weight: 5, arbitrary: holding("downgrade") },
  { weight: 3, arbitrary: holding("end") },
  { weight: 1, arbitrary: holding("handOver") },
  { weight: 2, arbitrary: forcing("revoke") },
  { weight: 3, arbitrary: attaching("resume") },
  { weight: 1, arbitrary: attaching("resume") },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("recall") }) },
  { weight: 3, arbitrary: withdrawing },
  { weight: 2, arbitrary: copying },
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

export const convertingPlan: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.constantFrom(0, 0, 5, 5, 1_000),
      actions: fc.array(action, { minLength: 1, maxLength: 6, size: "max" }),
    }),
    { minLength: 3, maxLength: 20, size: "max" },
  )
  .map((turns) => [opening, ...turns]);

/** A client that reads nothing for long is refused nothing. */
export const patientSettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  unacknowledgedMax: 500,
  holdsPerStepMax: 100,
}));
