/**
 * The answer of `holdfast __complete WORD…` to a shell: what the last word, which may be empty or
 * half typed, could become. The commands themselves are asked, so nothing is offered that does not
 * exist. The first line says what can be there:
 *
 * - `words`: one of the following lines, each with a description after a tab if there is one. They
 *   are complete words; the shell picks those that match what was typed, by its own rules.
 * - `files`, `directories`: as the shell completes them; after `--flag=`, the value.
 * - `command`: the words after the first `--` are a command line of their own.
 *
 * No output means nothing. A line that makes no sense, a cluster that does not answer and any other
 * failure must look like that too, because somebody is typing on the terminal.
 */
import type { Argument, Command, Option } from "commander";
import type { Admin } from "../../src/index.js";
import { clusterAccessFor } from "../config/command-options.js";
import { TableOption } from "../config/flags.js";
import { programCommands } from "../config/program-commands.js";
import { EXIT } from "../exit/exit-codes.js";
import { isDebugging } from "../exit/failure.js";
import { print, reportFailure } from "../output/terminal.js";
import {
  COMMAND_ARGUMENT,
  isValue,
  type LoadCommand,
  TypedLine,
  takesValue,
} from "./typed-line.js";

/** `words` with their lines, or one of the other first lines. */
type Wanted = readonly string[] | "files" | "directories" | "command";

const NOTHING: Wanted = Object.freeze([]);
/** Placeholders of flags, and names of arguments. */
const FILES: ReadonlyMap<string, Wanted> = new Map([
  ["file", "files"],
  ["directory", "directories"],
]);
/** Arguments that are names of locks, by their names in the commands. */
const KEY_ARGUMENTS: ReadonlySet<string> = new Set(["key", "prefix", "operands"]);
const IDENTITY_ARGUMENT = "identity";
/** How long to look for a node. */
const CONNECT_MS_MAX = 500;

/** Prints what the last of `words` may become. Never fails; returns the exit code. */
export async function printCandidates(
  program: Command,
  load: LoadCommand,
  words: readonly string[],
): Promise<number> {
  try {
    const lines = await candidateLines(program, load, words);
    if (lines.length > 0) print(lines.join("\n"));
  } catch (error) {
    if (isDebugging()) reportFailure(error);
  }
  return EXIT.done;
}

/** The answer; empty for nothing. */
export async function candidateLines(
  program: Command,
  load: LoadCommand,
  words: readonly string[],
): Promise<readonly string[]> {
  const wanted = await wantedAt(new TypedLine(program, load), words);
  if (typeof wanted === "string") return [wanted];
  return wanted.length === 0 ? [] : ["words", ...wanted];
}

async function wantedAt(line: TypedLine, words: readonly string[]): Promise<Wanted> {
  for (const before of words.slice(0, -1)) await line.add(before);
  const word = words.at(-1) ?? "";
  const { command, operands, valued } = line;
  if (valued !== undefined && isValue(valued, word)) return valuesOf(valued);
  if (line.isAfterDashes) return runsCommand(command) ? "command" : operandsAt(line, word);
  const [name = "", value] = word.split("=");
  if (name.startsWith("--") && value !== undefined) return valuesAfter(line.flag(name), name);
  if (word.startsWith("-")) return line.flags.flatMap(flagLines);
  if (operands.length > 0 || command.commands.length === 0) return operandsAt(line, word);
  return command.createHelp().visibleCommands(command).map(commandLine);
}

/** Whether another command line follows after `--`. */
function runsCommand(command: Command): boolean {
  return /(?:^|[ [])-- /.test(command.usage());
}

function valuesOf(option: Option): Wanted {
  const words = option instanceof TableOption ? option.kind.words : option.argChoices;
  const [, placeholder = ""] = /[<[]([^>\]]*)/.exec(option.flags) ?? [];
  return words ?? FILES.get(placeholder) ?? NOTHING;
}

/** The values after `--flag=`. */
function valuesAfter(option: Option | undefined, name: string): Wanted {
  if (option === undefined || !takesValue(option)) return NOTHING;
  const values = valuesOf(option);
  return typeof values === "string" ? values : values.map((value) => `${name}=${value}`);
}

async function operandsAt({ command, operands }: TypedLine, word: string): Promise<Wanted> {
  const argument = argumentAt(command, operands.length);
  if (argument === undefined) return NOTHING;
  const name = argument.name();
  if (name === COMMAND_ARGUMENT) return programCommands(command).map(commandLine);
  if (name === "topic") return [...programCommands(command).map(commandLine), "exit-codes"];
  if (KEY_ARGUMENTS.has(name)) return keysInUse(command, word);
  if (name === IDENTITY_ARGUMENT) return identities(command);
  return argument.argChoices ?? FILES.get(name) ?? NOTHING;
}

/** The last argument may take all words that follow. */
function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[index] ?? (last?.variadic === true ? last : undefined);
}

async function keysInUse(command: Command, prefix: string): Promise<Wanted> {
  const keys: string[] = [];
  await ask(command, { prefix }, async (admin) => {
    for await (const { key } of admin.query(prefix)) keys.push(key);
  });
  // A line cannot contain a line feed, nor a word a tab.
  return keys.filter((key) => !/\p{Cc}/u.test(key));
}

async function identities(command: Command): Promise<Wanted> {
  const names: string[] = [];
  await ask(command, { prefix: "" }, async ({ access }) => {
    for await (const { name } of access.list()) names.push(name);
  });
  return names;
}

async function ask(
  command: Command,
  about: { readonly prefix: string },
  work: (admin: Admin) => Promise<void>,
): Promise<void> {
  const { askCluster } = await import("../cluster/cluster-connections.js");
  const access = { ...clusterAccessFor(command), connectTimeoutMs: CONNECT_MS_MAX };
  await askCluster(access, work, about);
}

function commandLine(command: Command): string {
  return `${command.name()}\t${command.description()}`;
}

function flagLines({ short, long, description }: Option): string[] {
  const summary = description.split(/[(;]/)[0]?.trim() ?? "";
  return [short, long].flatMap((name) => (name === undefined ? [] : `${name}\t${summary}`));
}
