/**
 * Random histories, as those of `plans.ts`, of two clients whose holds are counted, get newer tokens and
 * are given back while grants that name an older token have not been read: under what is usual that
 * meets too rarely.
 */
import fc from "fast-check";
import type { TableSettings } from "../../src/lockfsm/index.js";
import {
  type Action,
  attaching,
  base,
  holding,
  kind,
  lockItem,
  type Manners,
  opening,
  pick,
  reentering,
  settings,
  type Turn,
  waitMs,
} from "./plans.js";

const renewing: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...base,
      kind: kind("acquire"),
      owner: fc.constant(1),
      items: fc.uniqueArray(lockItem, { minLength: 1, maxLength: 2, selector: ({ key }) => key }),
      waitMs,
      options: fc.constant(undefined),
    }),
  },
  { weight: 10, arbitrary: reentering },
  { weight: 10, arbitrary: holding("upgrade") },
  { weight: 4, arbitrary: holding("downgrade") },
  { weight: 2, arbitrary: holding("release") },
  { weight: 1, arbitrary: holding("detach") },
  { weight: 2, arbitrary: attaching("takeOver") },
  { weight: 6, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 2, arbitrary: fc.record({ ...base, kind: kind("recall"), back: fc.nat(8), pick }) },
  {
    weight: 5,
    arbitrary: fc.record({ ...base, kind: kind("cancel"), pick: fc.nat(2), back: fc.nat(8) }),
  },
);

/** Most commands are as they should be, and say little to have been read. */
const acknowledges = fc.constantFrom<Manners["acknowledges"][]>("none", "none", "newest", "oldest");

const action: fc.Arbitrary<Action> = fc
  .tuple(renewing, acknowledges, fc.nat(9))
  .map(([wanted, read, luck]) => ({
    ...wanted,
    client: luck === 0 ? 1 : 0,
    manners: { ...wanted.manners, epochShift: 0, acknowledges: read },
  }));

export const renewingPlan: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.constantFrom(0, 0, 5),
      actions: fc.array(action, { minLength: 1, maxLength: 6, size: "max" }),
    }),
    { minLength: 3, maxLength: 20, size: "max" },
  )
  .map((turns) => [opening, ...turns]);

/** A client that reads nothing for long is refused nothing. */
export const patientSettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  inFlightMax: 500,
  unacknowledgedMax: 500,
  holdsPerStepMax: 100,
}));
