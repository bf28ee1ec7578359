/**
 * Random histories, as those of `plans.ts`, mostly of holds that change hands: bearers and owners of
 * two identities get them, sessions of both adopt them, more than once and in wrong keys; they are
 * extended, given back, stolen and revoked meanwhile, end with an order to end the session that had
 * them, and rights come and go.
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
  owning,
  settings,
  stealing,
  type Turn,
  taking,
  withdrawing,
} from "./plans.js";
import { beginning, granting, NAMES, renamed } from "./plans-access.js";

const items: fc.Arbitrary<readonly Item[]> = fc.uniqueArray(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        key: fc.constantFrom(...Object.values(NAMES)),
        mode: fc.constantFrom("exclusive" as const, "shared" as const, "shared" as const),
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

const acquired: fc.Arbitrary<Action> = fc
  .tuple(acquiring, items, fc.constantFrom(WAIT_FOREVER, 0, 0))
  .map(([wanted, some, waitMs]) => ({ ...wanted, items: some, waitMs }));

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 22, arbitrary: acquired },
  { weight: 20, arbitrary: holding("handOver") },
  { weight: 18, arbitrary: adopting },
  {
    weight: 5,
    arbitrary: fc.tuple(taking, items).map(([wanted, some]) => ({ ...wanted, items: some })),
  },
  { weight: 4, arbitrary: owning("extend") },
  { weight: 4, arbitrary: owning("giveBack") },
  { weight: 3, arbitrary: holding("end") },
  { weight: 5, arbitrary: holding("upgrade") },
  { weight: 1, arbitrary: holding("downgrade") },
  { weight: 1, arbitrary: stealing },
  { weight: 3, arbitrary: forcing("revoke") },
  { weight: 2, arbitrary: forcing("endSession") },
  { weight: 5, arbitrary: granting },
  { weight: 2, arbitrary: withdrawing },
  { weight: 3, arbitrary: fc.record({ ...base, kind: kind("recall") }) },
  { weight: 4, arbitrary: fc.record({ ...base, kind: kind("keepalive") }) },
  { weight: 1, arbitrary: fc.record({ ...base, kind: kind("close") }) },
  { weight: 1, arbitrary: attaching("resume") },
  { weight: 3, arbitrary: copying },
);

/** Most clients behave, so that most of it is executed. */
const polite: fc.Arbitrary<Action> = fc
  .tuple(action, fc.nat(5))
  .map(([wanted, luck]) => (luck === 0 ? wanted : { ...wanted, manners: GOOD_MANNERS }))
  .map(renamed);

export const handOverPlan: fc.Arbitrary<readonly Turn[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(0, 0, 0, 1, 50, 300, 1_000, 2_500) },
        { weight: 1, arbitrary: fc.constantFrom(57_500, 59_999, 60_000) },
      ),
      actions: fc.array(polite, { minLength: 1, maxLength: 6, size: "max" }),
    }),
    { minLength: 2, maxLength: 24, size: "max" },
  )
  .map((turns) => [beginning, ...turns]);

/** Limits that refuse little, but now and then to an identity. */
export const handOverSettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  sessionsMax: 100,
  bytesPerSessionMax: 1_000_000,
  tableBytesMax: 1_000_000,
}));
