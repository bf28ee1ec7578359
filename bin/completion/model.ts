/**
 * What a shell has to know to complete a command line: commands, flags and what follows them, read
 * from the definitions themselves, so that nothing can be completed that does not exist.
 */
import type { Argument, Command, Option } from "commander";
import { TableOption } from "../config/flags.js";

/** What may stand at a place of the command line. */
export type Wanted =
  | { readonly kind: "nothing" | "anything" | "file" | "directory" | "key" }
  | { readonly kind: "words"; readonly words: readonly string[] };

export interface CompletedFlag {
  /** As typed, the short one first: `-w`, `--wait`. */
  readonly names: readonly string[];
  readonly summary: string;
  /** `undefined`: it takes no value. */
  readonly value: Wanted | undefined;
}

export interface CompletedCommand {
  /** The words that lead to it; none of the program itself. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  readonly commands: readonly CompletedCommand[];
  /** What stands where neither a flag nor a command does. */
  readonly operand: Wanted;
  /** Whether another command line follows behind `--`. */
  readonly runsCommand: boolean;
}

const NOTHING: Wanted = Object.freeze({ kind: "nothing" });
/** Operands that are names of locks, by what their commands call them. */
const KEY_ARGUMENTS: ReadonlySet<string> = new Set(["key", "keys", "prefix", "operands"]);

/** An operand that is the name of a command has that command's flags behind it. */
const COMMAND_ARGUMENT = "command";

/** Every command of the program, which must be fully defined. */
export function completionModel(command: Command, path: readonly string[] = []): CompletedCommand {
  const [operand] = command.registeredArguments;
  const children =
    operand?.name() === COMMAND_ARGUMENT
      ? namedCommands(command, path)
      : command.commands.map((child) => completionModel(child, [...path, child.name()]));
  return {
    path,
    summary: command.description(),
    flags: flagsOf(command),
    commands: children,
    operand: path.join(" ") === "help" ? topics(command) : operandOf(operand),
    runsCommand: /(?:^|[ [])-- /.test(command.usage()),
  };
}

/** What may stand behind the name of each command where `command` takes one. */
function namedCommands(command: Command, path: readonly string[]): CompletedCommand[] {
  return commandsOfProgram(command).map((named) => {
    const flags = [...flagsOf(named), ...flagsOf(command)];
    return {
      path: [...path, named.name()],
      summary: named.description(),
      flags: flags.filter(({ names }, at) => {
        return flags.findIndex((flag) => flag.names.at(-1) === names.at(-1)) === at;
      }),
      commands: [],
      operand: NOTHING,
      runsCommand: false,
    };
  });
}

/** The command itself and all below it, parents first. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function flagsOf(command: Command): CompletedFlag[] {
  const help = { names: ["-h", "--help"], summary: "show help", value: undefined };
  return [...command.options.filter(({ hidden }) => !hidden).map(flagOf), help];
}

function flagOf(option: Option): CompletedFlag {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const takesValue = option.required || option.optional;
  const summary = option.description.split(/[(;]/)[0]?.trim() ?? "";
  return { names, summary, value: takesValue ? wantedValue(option) : undefined };
}

function wantedValue(option: Option): Wanted {
  const { argChoices, flags } = option;
  const words = option instanceof TableOption ? option.words : argChoices;
  if (words !== undefined) return { kind: "words", words };
  const placeholder = /[<[]([^>\]]*)[>\]]/.exec(flags)?.[1] ?? "";
  if (placeholder === "file" || placeholder === "directory") return { kind: placeholder };
  return { kind: "anything" };
}

function operandOf(first: Argument | undefined): Wanted {
  if (first === undefined) return NOTHING;
  if (first.argChoices !== undefined) return { kind: "words", words: first.argChoices };
  if (first.name() === "file") return { kind: "file" };
  return { kind: KEY_ARGUMENTS.has(first.name()) ? "key" : "anything" };
}

function topics(help: Command): Wanted {
  return {
    kind: "words",
    words: [...commandsOfProgram(help).map((command) => command.name()), "exit-codes"],
  };
}

/** All that the program around `command` has, but for its help. */
function commandsOfProgram(command: Command): readonly Command[] {
  let program = command;
  while (program.parent !== null) program = program.parent;
  return program.commands.filter((child) => child.name() !== "help");
}
