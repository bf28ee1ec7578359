/**
 * The parts that the command lines of bench, jepsen-lite and the simulator share, based on
 * commander: checked values, help within 80 columns, and one line for any mistake. Must never print
 * or end the process: help is returned, and a wrong command line is thrown as `UsageError`.
 */
import {
  Command,
  CommanderError,
  Help,
  InvalidArgumentError,
  type Option,
  type OptionValues,
} from "commander";
import { closestMatch } from "leven";

const HELP_COLUMNS = 80;
/** The largest distance of a misspelt name; a swap of two letters counts twice. */
const SLIPS_MAX = 2;

/** A command line that makes no sense. The message is one line without a full stop. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

export interface Named {
  readonly name: string;
  readonly about: string;
}

export interface CommandLine<Flags> {
  readonly flags: Flags;
  /** The words that are not flags, in the order in which they were typed. */
  readonly words: readonly string[];
}

/**
 * @param name the command that a person types, as help shows it
 */
export function commandLine(name: string): Command {
  return (
    new Command(name)
      .helpOption("-h, --help", "show help")
      // Commander's own message does not contain the word.
      .allowExcessArguments()
      .configureHelp({ minWidthToWrap: 20, optionDescription })
      .configureOutput({ outputError: () => undefined, getOutHelpWidth: () => HELP_COLUMNS })
      .exitOverride()
  );
}

/** Shows the values of an option and its default in one pair of parentheses. */
function optionDescription(this: Help, option: Option): string {
  const { range } = (option.parseArg ?? {}) as Partial<ValueParser<unknown>>;
  const shown = Help.prototype.optionDescription.call(this, option);
  if (range === undefined) return shown;
  const [about = "", standard] = shown.split(" (default");
  const values = standard === undefined ? `${range})` : `${range}; default${standard}`;
  return `${about} (${values}`.replaceAll(") (", "; ");
}

/**
 * The parsed command line, or the text of the help that was requested.
 * @throws {UsageError} when the command line is wrong
 */
export function readCommandLine<Flags extends OptionValues>(
  command: Command,
  argv: readonly string[],
): CommandLine<Flags> | string {
  let help = "";
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
  });
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return help;
    throw new UsageError(sentenceOf(error), { cause: error });
  }
  const { args, registeredArguments: known } = command;
  const excess = known.at(-1)?.variadic === true ? undefined : args[known.length];
  if (excess !== undefined) throw new UsageError(`unexpected argument '${excess}'`);
  return { flags: command.opts<Flags>(), words: args };
}

/** The beginning of commander's message about a value, before the reason. */
const WRONG_VALUE = /^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. (\w)/s;

function sentenceOf({ message }: CommanderError): string {
  return message
    .replace(/^error: /, "")
    .replace(WRONG_VALUE, (_, flag, value, first) => `${flag} ${value}: ${first.toLowerCase()}`)
    .replace(/\.?\s*$/, "")
    .replaceAll("\n", " ");
}

/** Parses the value of a flag; help shows `range`. */
export interface ValueParser<Value> {
  (text: string, before: Value): Value;
  readonly range?: string;
}

/** Numbers as people write them: 5, 0.5, .5, 1e6. */
const NUMBER = /^\d*\.?\d+(e\d+)?$/;

/** A number between two bounds, both included. */
export function numberFrom(min: number, max?: number): ValueParser<number> {
  return numberParser("number", Number.isFinite, min, max);
}

/** A whole number between two bounds, both included. */
export function wholeFrom(min: number, max?: number): ValueParser<number> {
  return numberParser("whole number", Number.isSafeInteger, min, max);
}

function numberParser(
  kind: string,
  isOfKind: (value: number) => boolean,
  min: number,
  max = Number.POSITIVE_INFINITY,
): ValueParser<number> {
  const isOpen = max === Number.POSITIVE_INFINITY;
  const range = isOpen ? `${min} or more` : `${min} to ${max}`;
  const parse = (text: string): number => {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN;
    if (isOfKind(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`a ${kind} ${isOpen ? "of" : "from"} ${range} is needed`);
  };
  return Object.assign(parse, { range });
}

/** One of a few values. */
export function oneOf<Value extends string | number>(all: readonly Value[]): ValueParser<Value> {
  const range = all.join(", ");
  const parse = (text: string): Value => {
    const found = all.find((value) => String(value) === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`one of ${range} is needed`);
  };
  return Object.assign(parse, { range });
}

/** The name of a file, a directory or the like. Another flag in its place is a mistake. */
export function nonEmpty(text: string): string {
  if (text !== "" && !text.startsWith("-")) return text;
  throw new InvalidArgumentError("a value is needed");
}

/** Words separated by commas; if the flag is repeated, they add up. */
export function words(text: string, before: readonly string[] = []): readonly string[] {
  const added = text.split(",").filter((word) => word !== "");
  nonEmpty(added[0] ?? "");
  return [...before, ...added];
}

/** Adds a list of names after the end of the help. */
export function addNames(command: Command, heading: string, all: readonly Named[]): Command {
  return command.addHelpText("after", () => {
    const help = Object.assign(new Help(), { helpWidth: HELP_COLUMNS, minWidthToWrap: 20 });
    const width = help.padWidth(command, help);
    const items = all.map(({ name, about }) => help.formatItem(name, width, about, help));
    return ["", heading, ...items].join("\n");
  });
}

/**
 * The item of that name.
 * @throws {UsageError} for an unknown name, with the name that was probably meant
 */
export function findNamed<Known extends { readonly name: string }>(
  kind: string,
  name: string,
  all: readonly Known[],
): Known {
  const found = all.find((known) => known.name === name);
  if (found !== undefined) return found;
  const names = all.map((known) => known.name);
  const near =
    closestMatch(name, names, { maxDistance: SLIPS_MAX }) ??
    names.find((known) => name !== "" && known.startsWith(name));
  const hint = near === undefined ? "" : ` (did you mean ${JSON.stringify(near)}?)`;
  throw new UsageError(
    `unknown ${kind} ${JSON.stringify(name)}${hint}: there are ${names.join(", ")}`,
  );
}
