/** The types that follow from the table, and the defaults of tuning. */
import type { ValueKind } from "./kinds.js";
import type { Row } from "./rows.js";
import { NODE_OPTIONS } from "./table.js";

type Table = typeof NODE_OPTIONS;
export type OptionName = keyof Table;

type ValueOf<Name extends OptionName> =
  Table[Name]["kind"] extends ValueKind<infer Value> ? Value : never;
type Required = { readonly isRequired: true };
type Settled = { readonly defaultValue: unknown };
type NameOf<Property> = {
  [Name in OptionName]: Table[Name] extends Property ? Name : never;
}[OptionName];
type TuningName = NameOf<{ readonly isTuning: true }>;
type SettingName = Exclude<OptionName, TuningName>;

/** What an option has when all are settled. */
export type OptionValue<Name extends OptionName> =
  | ValueOf<Name>
  | (Table[Name] extends Required | Settled ? never : undefined);

/** What a program gives a node, besides `tuning`. */
export type NodeSettings = { readonly [Name in NameOf<Required>]: ValueOf<Name> } & {
  readonly [Name in Exclude<SettingName, NameOf<Required>>]?: ValueOf<Name>;
};

/** The same with the defaults. */
export type SettledSettings = { readonly [Name in SettingName]: OptionValue<Name> };

export type NodeTuning = { readonly [Name in TuningName]: number };

/** The table for code that treats all options alike. */
export const NODE_OPTION_ROWS: ReadonlyMap<string, Row<unknown>> = new Map(
  Object.entries(NODE_OPTIONS as unknown as Record<string, Row<unknown>>),
);

function defaultsWhere(isTuning: boolean): Record<string, unknown> {
  const rows = [...NODE_OPTION_ROWS].filter(([, row]) => (row.isTuning ?? false) === isTuning);
  return Object.fromEntries(rows.map(([name, { defaultValue }]) => [name, defaultValue]));
}

export const NODE_TUNING_DEFAULTS = Object.freeze(defaultsWhere(true)) as unknown as NodeTuning;

const SETTING_DEFAULTS = Object.freeze(defaultsWhere(false));

/** Completes settings with their defaults. */
export function withDefaults(given: NodeSettings): SettledSettings {
  const known = Object.entries(given).filter(
    ([name, value]) => Object.hasOwn(SETTING_DEFAULTS, name) && value !== undefined,
  );
  return { ...SETTING_DEFAULTS, ...Object.fromEntries(known) } as unknown as SettledSettings;
}
