/** Makes the flags of a command from the table of options. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { OptionDefinition, OptionDefinitions } from "../options/option-definition.js";
import { formatValue, type OptionKind, ValueProblem } from "../options/option-kind.js";
import { flagOf, variableOf } from "../text/option-spelling.js";

/** A flag of the table, which knows its possible values. */
export class TableOption extends Option {
  readonly kind: OptionKind<unknown>;

  constructor(flags: string, description: string, kind: OptionKind<unknown>) {
    super(flags, description);
    this.kind = kind;
  }
}

/**
 * Adds a section of the table. No defaults are set here: an option that was not typed may still
 * have a value elsewhere. A switch that may be on from elsewhere can be turned off.
 */
export function addOptions(command: Command, options: OptionDefinitions): void {
  for (const [name, definition] of Object.entries(options)) {
    if (definition.reach === "secret") continue;
    const flag = flagOption(name, definition);
    const { negation } = definition;
    if (negation !== undefined) {
      addEither(command, flag, new Option(negation.flags, negation.description));
      continue;
    }
    command.addOption(flag);
    if (definition.kind.placeholder === "" && definition.reach === "everywhere") {
      // After the flag itself: alone it would make "on" the default.
      command.addOption(new Option(flagOf(name).replace("--", "--no-"), "").hideHelp());
    }
  }
}

/** Adds two flags for one value; they exclude each other. */
export function addEither(command: Command, flag: Option, negation: Option): Command {
  let typed: Option | undefined;
  for (const option of [flag, negation]) {
    command.addOption(option).on(`option:${option.name()}`, () => {
      typed ??= option;
      if (typed !== option) command.error(`${flag.long} and ${negation.long} exclude each other`);
    });
  }
  return command;
}

export function flagOption(name: string, definition: OptionDefinition<unknown>): Option {
  const { kind, short } = definition;
  const prefix = short === undefined ? "" : `-${short}, `;
  const flags = `${prefix}${flagText(name, definition)}`;
  const made = new TableOption(flags, helpText(name, definition), kind);
  if (kind.placeholder === "") return made;
  return made.argParser((typed: string, before: unknown) => {
    const value = readTyped(definition, typed);
    if (kind.merge === undefined || before === undefined || before === null) return value;
    return kind.merge(before, value);
  });
}

/** `--ttl <duration>` */
export function flagText(name: string, { kind }: OptionDefinition<unknown>): string {
  return `${flagOf(name)} ${kind.placeholder}`.trimEnd();
}

/** "" if there is none. */
export function defaultText({
  kind,
  defaultText,
  defaultValue,
}: OptionDefinition<unknown>): string {
  return defaultText ?? (defaultValue === undefined ? "" : formatValue(kind, defaultValue));
}

function helpText(name: string, definition: OptionDefinition<unknown>): string {
  const shown = defaultText(definition);
  const notes = [
    ...(shown === "" ? [] : [`default: ${shown}`]),
    ...(definition.reach === "flag" ? [] : [`env: ${variableOf(name)}`]),
  ];
  const { description } = definition;
  return notes.length === 0 ? description : `${description} (${notes.join(", ")})`;
}

function readTyped({ kind }: OptionDefinition<unknown>, typed: string): NonNullable<unknown> {
  try {
    return kind.parse(typed);
  } catch (error) {
    if (!(error instanceof ValueProblem)) throw error;
    throw new InvalidArgumentError(sentence(error.message));
  }
}

/** Like commander's own messages: with a capital and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
