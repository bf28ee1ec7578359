/**
 * Where the commands write: data to standard output, everything else to standard error. Colour is
 * used only on a terminal and only without NO_COLOR. A reader that went away (`| head`) is not an
 * error: from then on nothing is written, and `isOutputClosed` lets long outputs stop early.
 */

import { printable } from "../../src/text/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf, isDebugging, systemCodeOf } from "../exit/failure.js";
import { jsonLine, withoutCredentials } from "../text/printable.js";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "reverse";

const ESCAPES: Readonly<Record<Style, readonly [number, number]>> = Object.freeze({
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  reverse: [7, 27],
});

/** Error codes of a stream whose reader or terminal went away. */
const GONE: ReadonlySet<string> = new Set(["EPIPE", "EIO"]);

let outputClosed = false;
let outputError: Error | undefined;

/** Must be called before anything is written. */
export function guardOutput(): void {
  process.stdout.on("error", (error) => {
    outputClosed = true;
    if (!GONE.has(systemCodeOf(error))) outputError ??= error;
  });
  // There is nowhere left to report it.
  process.stderr.on("error", () => undefined);
}

/** Whether standard output has no reader any more. */
export function isOutputClosed(): boolean {
  return outputClosed;
}

/** Why data was lost that was still wanted, for example because of a full disk. */
export function outputFailure(): Failure | undefined {
  if (outputError === undefined) return undefined;
  const message = `cannot write to standard output: ${outputError.message}`;
  return new Failure(EXIT.failed, message, { cause: outputError });
}

/** One line of data. */
export function print(line: string): void {
  if (!outputClosed) process.stdout.write(`${line}\n`);
}

/**
 * Lines that stand nowhere else: resolves when the system has taken all of them, and fails with exit
 * code 1 if it does not, or if nobody is there to read them. The caller undoes what they are about.
 */
export async function printOnlyCopy(lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join("");
  const error = outputClosed ? new Error("nobody reads it") : await writeError(text);
  if (error === undefined) return;
  const isUnread = outputClosed && outputError === undefined;
  const reason = isUnread ? "nobody reads it" : error.message;
  throw new Failure(EXIT.failed, `cannot write to standard output: ${reason}`, { cause: error });
}

function writeError(text: string): Promise<Error | undefined> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(error ?? undefined));
  });
}

/** One document, on a line of its own. */
export function printJson(document: unknown): void {
  print(jsonLine(document));
}

/** One line for a person, safe for any quoted text. */
export function note(line: string): void {
  process.stderr.write(`holdfast: ${printable(withoutCredentials(line))}\n`);
}

/** How commander's message about an argument begins, before our own words. */
const ARGUMENT = /^command-argument value '(.*?)' is invalid for argument '([^']*)'\. ("?)/s;

/**
 * Prints commander's message about a wrong command line in one line, with its suggestions and a
 * pointer to the help.
 */
export function noteUsage(text: string, command: string): void {
  const said = text
    .replace(/^error: /, "")
    // Words of ours that begin with a quotation mark name the value themselves.
    .replace(ARGUMENT, (_, value, name, quote) => quote || `<${name}> cannot be '${value}'. `)
    .replace(/\.?\s*$/, "")
    .replaceAll("\n", " ");
  note(`${said}; see ${command} --help`);
}

/** One line for an error; its stack if HOLDFAST_DEBUG asks for it. Returns the exit code. */
export function reportFailure(error: unknown): number {
  const failure = failureOf(error);
  note(failure.message);
  if (isDebugging())
    process.stderr.write(`${printableLines(withoutCredentials(stackOf(failure)))}\n`);
  return failure.exitCode;
}

/** `text` in a style, if `stream` shows styles. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream): string {
  if (!showsStyles(stream)) return text;
  const [on, off] = ESCAPES[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

function showsStyles(stream: NodeJS.WriteStream): boolean {
  const noColor = process.env["NO_COLOR"];
  if (noColor !== undefined && noColor !== "") return false;
  return stream.isTTY && process.env["TERM"] !== "dumb";
}

/** Text of others keeps only its line feeds as control characters. */
function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`;
}
