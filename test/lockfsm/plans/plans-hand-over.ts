/**
 * Random histories, like the ones of `plans.ts`, mostly of holds that change hands: bearers and
 * owners of two identities get them, sessions of both adopt them, more than once and in wrong keys;
 * they are extended, given back, stolen and revoked meanwhile, end with an order to end the session
 * that had them, and rights come and go.
 */
import fc from "fast-check";
import { WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Action, acquiring, adopting, holding, type Turn, taking } from "./plans.js";
import { beginning, granting, NAMES, renamed } from "./plans-access.js";
import { itemsOf, mixed, mostlyPolite, turnsOf } from "./plans-mixture.js";

const items = itemsOf(Object.values(NAMES), ["exclusive", "shared", "shared"]);

const acquired: fc.Arbitrary<Action> = fc
  .tuple(acquiring, items, fc.constantFrom(WAIT_FOREVER, 0, 0))
  .map(([wanted, some, waitMs]) => ({ ...wanted, items: some, waitMs }));

const taken: fc.Arbitrary<Action> = fc
  .tuple(taking, items)
  .map(([wanted, some]) => ({ ...wanted, items: some }));

const action = mixed(
  [
    [22, acquired],
    [20, holding("handOver")],
    [18, adopting],
    [5, taken],
    [5, granting],
  ],
  {
    ...{ extend: 4, giveBack: 4, end: 3, upgrade: 5, downgrade: 1, steal: 1, revoke: 3 },
    ...{ endSession: 2, withdraw: 2, recall: 3, keepalive: 4, close: 1, resume: 1, copy: 3 },
  },
);

export const handOverPlan: fc.Arbitrary<readonly Turn[]> = turnsOf({
  first: beginning,
  elapsedMs: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(0, 0, 0, 1, 50, 300, 1_000, 2_500) },
    { weight: 1, arbitrary: fc.constantFrom(57_500, 59_999, 60_000) },
  ),
  action: mostlyPolite(action, 6).map(renamed),
  actionsMax: 6,
  turns: { least: 2, most: 24 },
});
