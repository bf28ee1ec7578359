/**
 * Random histories, like the ones of `plans.ts`, mostly of leases: few owners with few requests
 * share few keys, from several sessions, which end while their takes wait; leases are extended,
 * given back, stolen and revoked, and time passes until nobody remembers how they ended.
 */
import fc from "fast-check";
import { WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Action, acquiring, opening, type Taking, type Turn, taking } from "./plans.js";
import { itemsOf, mixed, mostlyPolite, turnsOf } from "./plans-mixture.js";

const items = itemsOf(["a", "b"], ["exclusive", "exclusive", "shared"]);

const wished: fc.Arbitrary<Taking> = fc
  .tuple(taking, items, fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, 700, 0))
  .map(([wanted, some, waitMs]) => ({
    ...wanted,
    leaseOwner: wanted.leaseOwner % 2,
    items: some,
    waitMs: wanted.isSplit ? 0 : waitMs,
  }));

const acquired: fc.Arbitrary<Action> = fc
  .tuple(acquiring, items)
  .map(([wanted, some]) => ({ ...wanted, items: some }));

const action = mixed(
  [
    [24, wished],
    [5, acquired],
  ],
  {
    ...{
      extend: 10,
      giveBack: 12,
      act: 12,
      end: 4,
      upgrade: 2,
      handOver: 6,
      adopt: 4,
      steal: 1,
      revoke: 3,
    },
    ...{ endSession: 1, changeSetting: 1, withdraw: 3, recall: 4, keepalive: 6, close: 2 },
    ...{ resume: 1, copy: 2 },
  },
);

const turns = (elapsedMs: fc.Arbitrary<number>): fc.Arbitrary<readonly Turn[]> =>
  turnsOf({
    first: opening,
    elapsedMs,
    action: mostlyPolite(action, 5),
    actionsMax: 5,
    turns: { least: 2, most: 24 },
  });

export const leasePlan: fc.Arbitrary<readonly Turn[]> = turns(
  fc.constantFrom(0, 0, 0, 1, 50, 300, 500, 1_000, 2_500),
);

/** Nobody hears of anything for so long that it is nearly, or just, forgotten how leases ended. */
export const forgetfulPlan: fc.Arbitrary<readonly Turn[]> = turns(
  fc.constantFrom(0, 0, 1, 1_000, 2_500, 57_500, 59_999, 60_000),
);
