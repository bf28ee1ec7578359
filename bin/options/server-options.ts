/**
 * The options of `holdfast server`: the options of a node, which are rows of its own table
 * (`src/node-options/table.ts`), and some that only the command has.
 */
import {
  type GivenOptions,
  NODE_OPTION_ROWS,
  type NODE_OPTIONS,
  type OptionValue,
} from "../../src/node-options/index.js";
import type { LogFormat } from "../output/node-log.js";
import { definitionOf } from "./node-option-kinds.js";
import { type OptionDefinition, optionWithDefault, switchOption } from "./option-definition.js";
import { choiceKind } from "./option-kinds.js";
import { JOIN_TOKEN_OPTIONS } from "./token-options.js";

type Table = typeof NODE_OPTIONS;
type Flagged = {
  [Name in keyof Table]: Table[Name] extends { isInternal: true } ? never : Name;
}[keyof Table];
type FlagOf<Name extends keyof Table> = Table[Name] extends { flag: infer Flag extends string }
  ? Flag
  : Name;

/** A definition for each row, by its name for people. */
type NodeDefinitions = {
  readonly [Name in Flagged as FlagOf<Name>]: OptionDefinition<OptionValue<Name>>;
};

const flagged = [...NODE_OPTION_ROWS].filter(([, row]) => row.isInternal !== true);

const nodeDefinitions = Object.fromEntries(
  flagged.map(([name, row]) => [row.flag ?? name, definitionOf(row)]),
) as unknown as NodeDefinitions;

export const SERVER_OPTIONS = {
  ...nodeDefinitions,
  ...JOIN_TOKEN_OPTIONS,
  logFormat: optionWithDefault<LogFormat>(
    choiceKind("format", ["text", "json"]),
    "format of log lines: text or json",
    "text",
  ),
  stopOnStdinEnd: switchOption(
    "stop when standard input ends, which ties the node to the process that started it",
    { reach: "flag" },
  ),
};

/** The values that were given by people, by the names that programs have for the options. */
export function givenToNode(flags: GivenOptions): {
  readonly settings: GivenOptions;
  readonly tuning: GivenOptions;
} {
  const given = flagged
    .map(([name, row]) => ({ name, row, value: flags[row.flag ?? name] }))
    .filter(({ value }) => value !== undefined);
  const valuesWhere = (isTuning: boolean): GivenOptions =>
    Object.fromEntries(
      given
        .filter(({ row }) => (row.isTuning ?? false) === isTuning)
        .map(({ name, value }) => [name, value]),
    );
  return { settings: valuesWhere(false), tuning: valuesWhere(true) };
}
