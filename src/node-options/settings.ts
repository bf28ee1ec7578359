/** The types that follow from the table, and the defaults of tuning. */
import type { Row } from "./rows.js";
import { NODE_OPTIONS } from "./table.js";

type Table = typeof NODE_OPTIONS;
export type OptionName = keyof Table;

type ValueOf<Name extends OptionName> = Table[Name] extends Row<infer Value> ? Value : never;

/** What an option has when all are settled. */
export type OptionValue<Name extends OptionName> = Table[Name]["presence"] extends "open"
  ? ValueOf<Name> | undefined
  : ValueOf<Name>;

type TuningName = {
  [Name in OptionName]: Table[Name] extends { isTuning: true } ? Name : never;
}[OptionName];
type SettingName = Exclude<OptionName, TuningName>;
type NameOf<Presence extends string> = {
  [Name in SettingName]: Table[Name]["presence"] extends Presence ? Name : never;
}[SettingName];

/** What a program gives a node, besides `tuning`. */
export type NodeSettings = { readonly [Name in NameOf<"required">]: ValueOf<Name> } & {
  readonly [Name in NameOf<"settled" | "open">]?: ValueOf<Name>;
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
