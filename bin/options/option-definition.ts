/** One line of the table of options. Its name is its key in the table (`text/option-spelling.ts`). */
import type { OptionKind } from "./option-kind.js";
import { switchKind } from "./option-kinds.js";

/**
 * Where an option may come from. "flag": it describes one call, so an environment that a nested
 * command inherits must not set it. "secret": not on a command line, which every user of a machine
 * can read, and never shown.
 */
export type OptionReach = "everywhere" | "outsideFiles" | "flag" | "secret";

export interface OptionDefinition<Value> {
  readonly kind: OptionKind<NonNullable<Value>>;
  /** For help and reference: no capital, no full stop. */
  readonly description: string;
  readonly reach: OptionReach;
  readonly isRequired: boolean;
  readonly defaultValue: Value | undefined;
  /** Shown instead of the default; "" shows none. */
  readonly defaultText: string | undefined;
  /** One letter. */
  readonly short: string | undefined;
  /** A second flag, which sets the value to `false`; with its own description. */
  readonly negation: { readonly flags: string; readonly description: string } | undefined;
}

export type OptionDefinitions = Readonly<Record<string, OptionDefinition<unknown>>>;

/** The values of a section of the table, by name. */
export type SettledOptions<Options extends OptionDefinitions> = {
  readonly [Name in keyof Options]: Options[Name] extends OptionDefinition<infer Value>
    ? Value
    : never;
};

type Details = Partial<
  Pick<OptionDefinition<unknown>, "reach" | "defaultText" | "short" | "negation">
>;

/** An option that always has a value. */
export function optionWithDefault<Value>(
  kind: OptionKind<Value & {}>,
  description: string,
  defaultValue: Value,
  details: Details = {},
): OptionDefinition<Value> {
  return { ...define<Value>(kind, description, details), defaultValue };
}

/** An option that may have no value. */
export function option<Value>(
  kind: OptionKind<Value & {}>,
  description: string,
  details: Details = {},
): OptionDefinition<Value | undefined> {
  return define<Value | undefined>(kind, description, details);
}

/** An option that is on or off. */
export function switchOption(
  description: string,
  details: Details = {},
): OptionDefinition<boolean> {
  return optionWithDefault<boolean>(switchKind, description, false, {
    defaultText: "",
    ...details,
  });
}

/** An option without which the command does not run. */
export function requiredOption<Value>(
  kind: OptionKind<Value & {}>,
  description: string,
): OptionDefinition<Value> {
  return { ...define<Value>(kind, description, {}), isRequired: true };
}

function define<Value>(
  kind: OptionKind<NonNullable<Value>>,
  description: string,
  details: Details,
): OptionDefinition<Value> {
  return {
    kind,
    description,
    reach: details.reach ?? "everywhere",
    isRequired: false,
    defaultValue: undefined,
    defaultText: details.defaultText,
    short: details.short,
    negation: details.negation,
  };
}
