/**
 * What the plans that are mostly about one thing are mixed from: that thing, and what else happens
 * meanwhile, by weights; items, turns and settings that let the rare meetings be common.
 */
import fc from "fast-check";
import type { TableSettings } from "../../../src/lockfsm/index.js";
import type { Item } from "../../../src/protocol/index.js";
import {
  type Action,
  acting,
  adopting,
  attaching,
  base,
  copying,
  forcing,
  GOOD_MANNERS,
  holding,
  kind,
  owning,
  setting,
  settings,
  stealing,
  type Turn,
  withdrawing,
} from "./plans.js";

const OTHERS = {
  extend: owning("extend"),
  giveBack: owning("giveBack"),
  act: acting,
  end: holding("end"),
  upgrade: holding("upgrade"),
  downgrade: holding("downgrade"),
  handOver: holding("handOver"),
  adopt: adopting,
  steal: stealing,
  revoke: forcing("revoke"),
  endSession: forcing("endSession"),
  changeSetting: setting,
  withdraw: withdrawing,
  recall: fc.record({ ...base, kind: kind("recall") }),
  keepalive: fc.record({ ...base, kind: kind("keepalive") }),
  close: fc.record({ ...base, kind: kind("close") }),
  resume: attaching("resume"),
  copy: copying,
} satisfies Readonly<Record<string, fc.Arbitrary<Action>>>;

/** What a plan is about, with its weights, and the weights of what else happens. */
export function mixed(
  subjects: readonly (readonly [weight: number, subject: fc.Arbitrary<Action>])[],
  others: Readonly<Partial<Record<keyof typeof OTHERS, number>>>,
): fc.Arbitrary<Action> {
  const named = Object.entries(others) as [keyof typeof OTHERS, number][];
  const weighed: (readonly [number, fc.Arbitrary<Action>])[] = [
    ...subjects,
    ...named.map(([name, weight]) => [weight, OTHERS[name]] as const),
  ];
  return fc.oneof(...weighed.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** One of `outOf` is as it comes; the others behave, so that most of it is executed. */
export function mostlyPolite(action: fc.Arbitrary<Action>, outOf: number): fc.Arbitrary<Action> {
  return fc
    .tuple(action, fc.nat(outOf - 1))
    .map(([wanted, luck]) => (luck === 0 ? wanted : { ...wanted, manners: GOOD_MANNERS }));
}

/** One or two of these locks, or permits of a semaphore now and then. */
export function itemsOf(
  keys: readonly string[],
  modes: readonly ("exclusive" | "shared")[],
): fc.Arbitrary<readonly Item[]> {
  const lock = fc.record({ key: fc.constantFrom(...keys), mode: fc.constantFrom(...modes) });
  const permits = fc.record({
    key: kind("s"),
    mode: kind("permits"),
    permits: fc.constantFrom(1, 2),
    limit: fc.constant(3),
  });
  return fc.uniqueArray(
    fc.oneof({ weight: 4, arbitrary: lock }, { weight: 1, arbitrary: permits }),
    { minLength: 1, maxLength: 2, selector: ({ key }) => key },
  );
}

export interface TurnsOptions {
  /** The first turn, in which everybody comes. */
  readonly first: Turn;
  readonly elapsedMs: fc.Arbitrary<number>;
  readonly action: fc.Arbitrary<Action>;
  readonly actionsMax: number;
  readonly turns: { readonly least: number; readonly most: number };
}

export function turnsOf({
  first,
  elapsedMs,
  action,
  actionsMax,
  turns: { least, most },
}: TurnsOptions): fc.Arbitrary<readonly Turn[]> {
  const actions = fc.array(action, { minLength: 1, maxLength: actionsMax, size: "max" });
  return fc
    .array(fc.record({ elapsedMs, actions }), { minLength: least, maxLength: most, size: "max" })
    .map((turns) => [first, ...turns]);
}

/**
 * Limits of sessions and of the table that refuse nothing; limits of identities do now and then.
 */
export const roomySettings: fc.Arbitrary<TableSettings> = settings.map((limits) => ({
  ...limits,
  sessionsMax: 100,
  bytesPerSessionMax: 1_000_000,
  tableBytesMax: 1_000_000,
}));
