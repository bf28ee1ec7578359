/**
 * A command line while it is typed: which command it has reached, and what that command was given.
 * Reads the words as commander would, but never checks a value: an unfinished line must not be
 * refused.
 */
import type { Command, Option } from "commander";
import { TableOption } from "../config/flags.js";
import { programCommands } from "../config/program-commands.js";

/** Defines the options, arguments and commands of a command. */
export type LoadCommand = (command: Command) => Promise<void>;

/** An argument with this name is the name of a command, whose flags may follow it. */
export const COMMAND_ARGUMENT = "command";

export class TypedLine {
  /** The command that the words have led to. */
  command: Command;
  /** Its operands so far. */
  readonly operands: string[] = [];
  /** Whether `--` was among the words: no flag can follow. */
  isAfterDashes = false;
  /** The flag whose value is the next word. */
  valued: Option | undefined;
  /** The commands whose flags may follow. */
  #scope: readonly Command[];
  readonly #given = new Set<string>();
  readonly #load: LoadCommand;

  constructor(program: Command, load: LoadCommand) {
    this.command = program;
    this.#scope = [program];
    this.#load = load;
  }

  /** Takes the next word, which is complete. */
  async add(word: string): Promise<void> {
    const { valued } = this;
    this.valued = undefined;
    if (valued !== undefined && isValue(valued, word)) return;
    if (this.isAfterDashes) this.operands.push(word);
    else if (word === "--") this.isAfterDashes = true;
    else if (word.startsWith("--")) this.valued = this.#longFlag(word);
    else if (word.startsWith("-")) this.valued = this.#shortFlags(word);
    else await this.#operand(word);
  }

  /** The flags that may follow: those that were not given, or that may be repeated. */
  get flags(): Option[] {
    return this.#options().filter((option) => {
      const repeats = option instanceof TableOption && option.kind.merge !== undefined;
      return repeats || !this.#given.has(option.attributeName());
    });
  }

  flag(name: string): Option | undefined {
    return this.#options().find(({ short, long }) => name === short || name === long);
  }

  /** If two commands have the same flag, the first one's counts. */
  #options(): Option[] {
    const all = this.#scope.flatMap((command) => command.createHelp().visibleOptions(command));
    return all.filter(({ long }, at) => all.findIndex((option) => option.long === long) === at);
  }

  #longFlag(word: string): Option | undefined {
    const [name = ""] = word.split("=");
    const option = this.#give(name);
    return name === word ? option : undefined;
  }

  /** `-q`, `-qn`, `-w30s`: returns the flag whose value is missing. */
  #shortFlags(word: string): Option | undefined {
    for (let at = 1; at < word.length; at += 1) {
      const option = this.#give(`-${word[at]}`);
      if (option !== undefined) return at === word.length - 1 ? option : undefined;
    }
    return undefined;
  }

  /** Notes a flag; returns it if it takes a value. */
  #give(name: string): Option | undefined {
    const option = this.flag(name);
    if (option === undefined) return undefined;
    this.#given.add(option.attributeName());
    return takesValue(option) ? option : undefined;
  }

  async #operand(word: string): Promise<void> {
    const isFirst = this.operands.length === 0;
    const below = isFirst ? named(this.command.commands, word) : undefined;
    if (below !== undefined) {
      await this.#load(below);
      this.command = below;
      this.#scope = [below];
      this.#given.clear();
      return;
    }
    this.operands.push(word);
    const isCommand = this.command.registeredArguments[0]?.name() === COMMAND_ARGUMENT;
    const other = isFirst && isCommand ? named(programCommands(this.command), word) : undefined;
    if (other === undefined) return;
    await this.#load(other);
    this.#scope = [other, this.command];
  }
}

export function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** An optional value must not look like a flag. */
export function isValue({ required }: Option, word: string): boolean {
  return required || !word.startsWith("-");
}

function named(commands: readonly Command[], name: string): Command | undefined {
  return commands.find((command) => command.name() === name);
}
