/**
 * Random histories, as those of `plans.ts`, mostly of leases: few owners with few requests meet in few
 * keys, from several sessions, which end while their takes wait; leases are extended, given back, stolen
 * and revoked, and time passes until nobody remembers how they ended.
 */
import fc from "fast-check";
import type { TableSettings } from "../../../src/lockfsm/index.js";
import { type Item, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  type Action,
  acquiring,
  adopting,
  attaching,
  base,
  copying,
  forcing,
  GOOD_MANNERS,
  holding,
  kind,
  opening,
  owning,
  setting,
  settings,
  stealing,
  type Taking,
  type Turn,
  taking,
  withdrawing,
} from "./plans.js";

const items: fc.Arbitrary<readonly Item[]> = fc.uniqueArray(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        key: fc.constantFrom("a", "b"),
        mode: fc.constantFrom("exclusive" as const, "exclusive" as const, "shared" as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        key: kind("s"),
        mode: kind("permits"),
        permits: fc.constantFrom(1, 2),
        limit: fc.constant(3),
      }),
    },
  ),
  { minLength: 1, maxLength: 2, selector: ({ key }) => key },
);

const wished: fc.Arbitrary<Taking> = fc
  .tuple(taking, items, fc.constantFrom(WAIT_FOREVER, WAIT_FOREVER, 700, 0))
  .map(([wanted, some, waitMs]) => ({
    ...wanted,
    leaseOwner: wanted.leaseOwner % 2,
    items: some,
    waitMs: wanted.isSplit ? 0 : waitMs,
  }));

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 24, arbitrary: wished },
  { weight: 10, arbitrary: owning("extend") },
  { weight: 12, arbitrary: owning("giveBack") },
  {
    weight: 5,
    arbitrary: fc.tuple(acquiring, items).map(([wanted, some]) => ({ ...wanted, items: some })),
  },
  { weight: 4, arbitrary: holding("end") },
  { weight: 2, arbitrary: holding("upgrade") },
  { weight: 6, arbitrary: holding("handOver") },
  { weight: 4, arbitrary: adopting },
  { weight: 1, arbitrary: stealing },
  { weight: 3, arbitrary: forcing("revoke") },
  { weight: 1, arbitrary: forcing("endSession") },
  { weight: 1, arbitrary: setting },
  { weight: 3, arbitrary: withdrawing },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("recall") }) },
  { weight: 6, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 2, arbitrary: fc.record({ ...base, kind: kind("close") }) },
  { weight: 1, arbitrary: attaching("resume") },
  { weight: 2, arbitrary: copying },
);

/** Most clients behave, so that most takes are executed. */
const polite: fc.Arbitrary<Action> = fc
  .tuple(action, fc.nat(4))
  .map(([wanted, luck]) => (luck === 0 ? wanted : { ...wanted, manners: GOOD_MANNERS }));

const turns = (elapsedMs: fc.Arbitrary<number>): fc.Arbitrary<readonly Turn[]> =>
  fc
    .array(
      fc.record({
        elapsedMs,
        actions: fc.array(polite, { minLength: 1, maxLength: 5, size: "max" }),
      }),
      { minLength: 2, maxLength: 24, size: "max" },
    )
    .map((list) => [opening, ...list]);

export const leasePlan: fc.Arbitrary<readonly Turn[]> = turns(
  fc.constantFrom(0, 0, 0, 1, 50, 300, 500, 1_000, 2_500),
);

/** Nobody hears of anything for so long that it is nearly, or just, forgotten how leases ended. */
export const forgetfulPlan: fc.Arbitrary<readonly Turn[]> = turns(
  fc.constantFrom(0, 0, 1, 1_000, 2_500, 57_500, 59_999, 60_000),
);

/** Limits that refuse little. */
export const leaseSettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  sessionsMax: 100,
  bytesPerSessionMax: 1_000_000,
  tableBytesMax: 1_000_000,
}));
