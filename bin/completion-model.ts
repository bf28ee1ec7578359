/**
 * What a shell has to know to complete a command line: commands, flags and what follows them, read
 * from the definitions themselves, so that nothing can be completed that does not exist.
 */
import type { Argument, Command, Option } from "commander";

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

/** Every command of the program, which must be fully defined. */
export function completionModel(command: Command, path: readonly string[] = []): CompletedCommand {
  const commands = command.commands.map((child) => completionModel(child, [...path, child.name()]));
  const help = { names: ["-h", "--help"], summary: "show help", value: undefined };
  const visible = command.options.filter(({ hidden }) => !hidden);
  return {
    path,
    summary: command.description(),
    flags: [...visible.map(flagOf), help],
    commands,
    operand: path.join(" ") === "help" ? topics(command) : operandOf(command.registeredArguments),
    runsCommand: /(?:^|[ [])-- /.test(command.usage()),
  };
}

/** The command itself and all below it, parents first. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function flagOf(option: Option): CompletedFlag {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const takesValue = option.required || option.optional;
  const summary = option.description.split(/[(;]/)[0]?.trim() ?? "";
  return { names, summary, value: takesValue ? wantedValue(option) : undefined };
}

function wantedValue({ argChoices, flags }: Option): Wanted {
  if (argChoices !== undefined) return { kind: "words", words: argChoices };
  const placeholder = /[<[]([^>\]]*)[>\]]/.exec(flags)?.[1] ?? "";
  if (placeholder === "file" || placeholder === "directory") return { kind: placeholder };
  return { kind: "anything" };
}

function operandOf([first]: readonly Argument[]): Wanted {
  if (first === undefined) return NOTHING;
  if (first.argChoices !== undefined) return { kind: "words", words: first.argChoices };
  return { kind: KEY_ARGUMENTS.has(first.name()) ? "key" : "anything" };
}

function topics({ parent }: Command): Wanted {
  const names = parent?.commands.map((command) => command.name()) ?? [];
  return { kind: "words", words: [...names.filter((name) => name !== "help"), "exit-codes"] };
}
