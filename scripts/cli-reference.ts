/**
 * Makes docs/reference/cli.md from the definitions of the commands, so that it says what `--help`
 * says: synopsis, examples, arguments, flags, notes and exit codes of each.
 */
import type { EventEmitter } from "node:events";
import type { Argument, Command, Option } from "commander";
import { EXIT, EXIT_CODES } from "../bin/exit/exit-codes.js";
import { COMMANDS, EVERY_EXIT } from "../bin/program/command-list.js";
import { buildProgram } from "../bin/program/program.js";

const INTRODUCTION = `# The command line

Made from the definitions of the commands by \`npm run docs:cli\`; changes belong into \`bin/\`.

Data are written to standard output, everything else to standard error. \`--json\` prints documents whose
shapes are on [a page of their own](cli-json.md). Durations have a unit: \`250ms\`, \`5s\`, \`1.5m\`,
\`1h30m\`, \`30d\`; what is shown can be typed in again, as \`"2m 05s"\`. What many commands share, as
\`--endpoints\`, may come from the environment or a file as well: [options](options.md). Colours are
shown on terminals only, and not with \`NO_COLOR\`; a table that is wider than the terminal loses the
middle of its longest texts there, and nothing elsewhere. Names and values that come from the cluster cannot
write to the terminal: what is invisible in them is shown as \`\\u{1b}\`. \`HOLDFAST_DEBUG=1\` adds a
stack to errors.`;

const EXITS_INTRODUCTION = `## Exit codes

A code never changes its meaning. Every command may end with 0, 2, 70 and 128+n; what else it may end
with is named with it.`;

/** The page, as it is in the repository. */
export async function cliReference(): Promise<string> {
  const program = buildProgram(() => undefined);
  await program.loadAll();
  const parts = [INTRODUCTION, contents(program.command), exitCodes()];
  for (const { name, exits } of COMMANDS) {
    const command = program.command.commands.find((candidate) => candidate.name() === name);
    if (command === undefined) throw new Error(`there is no command ${name}`);
    parts.push(section(command, 2), exitLine(exits));
    for (const below of command.commands) parts.push(section(below, 3));
  }
  return `${parts.join("\n\n")}\n`;
}

function contents(program: Command): string {
  const lines: string[] = ["| | |", "|---|---|"];
  for (const { name, summary } of COMMANDS) {
    const below = program.commands.find((command) => command.name() === name)?.commands ?? [];
    const names = below.map((command) => `\`${command.name()}\``).join(", ");
    lines.push(`| [\`${name}\`](#holdfast-${name}) | ${summary}${names && `: ${names}`} |`);
  }
  return lines.join("\n");
}

function exitCodes(): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`);
  return [EXITS_INTRODUCTION, "", "| code | |", "|---|---|", ...rows].join("\n");
}

function exitLine(exits: readonly number[]): string {
  const all = [...new Set([...EVERY_EXIT, ...exits])].sort((one, other) => one - other);
  const own = exits.includes(EXIT.notFound) ? "; else the command's own" : "";
  return `[Exit codes](#exit-codes): ${all.join(", ")}, 128+n${own}.`;
}

function section(command: Command, depth: number): string {
  const name = pathOf(command).join(" ");
  const isGroup = command.commands.length > 0;
  const parts = [
    `${"#".repeat(depth)} ${name}`,
    sentence(command.description()),
    fenced(`${name} ${command.usage()}`, "text"),
    fenced(examplesOf(command), "text"),
  ];
  const rows = [
    ...command.registeredArguments.filter(({ description }) => description !== "").map(argumentRow),
    ...(isGroup ? [] : command.options.filter(({ hidden }) => !hidden).map(optionRow)),
  ];
  if (rows.length > 0) parts.push(["| | |", "|---|---|", ...rows].join("\n"));
  const notes = helpPart(command, "afterHelp");
  if (notes !== "") parts.push(fenced(notes, "text"));
  return parts.join("\n\n");
}

function pathOf(command: Command): string[] {
  return command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()];
}

/** Without the heading, which a box of its own does not need. */
function examplesOf(command: Command): string {
  const [, ...lines] = helpPart(command, "beforeHelp").split("\n");
  return lines.map((line) => line.replace(/^ {2}/, "")).join("\n");
}

/** What a command adds to its help, by the way in which commander collects it. */
function helpPart(command: Command, event: "beforeHelp" | "afterHelp"): string {
  const chunks: string[] = [];
  const write = (chunk: string): number => chunks.push(chunk);
  const emitter: unknown = command;
  // A command is one, which its types do not say.
  (emitter as EventEmitter).emit(event, { error: false, command, write });
  return chunks.join("").trim();
}

function argumentRow(argument: Argument): string {
  const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  const choices = argument.argChoices?.join(", ");
  const text = choices === undefined ? argument.description : `${argument.description}: ${choices}`;
  return `| \`${name}\` | ${cell(text)} |`;
}

function optionRow(option: Option): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = option;
  const notes = [description];
  if (argChoices !== undefined) notes.push(`: ${argChoices.join(", ")}`);
  const isShown = defaultValue !== undefined && defaultValue !== false;
  if (isShown) notes.push(` (default: ${defaultValueDescription ?? String(defaultValue)})`);
  return `| \`${option.flags}\` | ${cell(notes.join(""))} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/[<>]/g, (sign) => (sign === "<" ? "&lt;" : "&gt;"));
}

function fenced(text: string, language: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
