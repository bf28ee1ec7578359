/**
 * Arguments and variables that are not UTF-8, such as names of files from another time. Node.js holds
 * both as text and replaces such bytes, so a command would get others than `run` was given. They are
 * put together again by a shell that then becomes the command, with the same process id. Nothing of
 * this process's own may be such bytes: two names that look alike would be one lock.
 */
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";

/** What stands for bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";
const SEPARATOR = "--";
const SHELL = "/bin/sh";
/** What every shell passes on; some drop variables with other names. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What the system says of this process; both undefined where it does not. */
export interface GivenWords {
  /** The arguments, in bytes. */
  readonly words: readonly Uint8Array[] | undefined;
  /** The variables with their names, in bytes. */
  readonly variables: readonly Uint8Array[] | undefined;
}

/** The words of this process. */
export function givenWords(): GivenWords {
  return { words: listIn("/proc/self/cmdline"), variables: listIn("/proc/self/environ") };
}

/** Fails with exit code 2 if a word before `--` is not UTF-8. */
export function requireText(typed: readonly string[], given: () => GivenWords): void {
  if (!typed.some((word) => word.includes(REPLACEMENT))) return;
  const { words } = given();
  const separator = typed.indexOf(SEPARATOR);
  const own = typed.slice(0, separator < 0 ? typed.length : separator);
  const wrong = own.findIndex((word, at) => {
    return word.includes(REPLACEMENT) && !isText(words?.at(at - typed.length));
  });
  if (wrong < 0) return;
  throw new Failure(EXIT.usage, `argument ${wrong + 1} is not valid UTF-8: ${own[wrong]}`);
}

/** `undefined`: not known, and then suspected. */
function isText(word: Uint8Array | undefined): boolean {
  return word !== undefined && isUtf8(word);
}

export interface WantedCommand {
  /** The last words of this process. */
  readonly argv: readonly string[];
  /** What it should find in its environment, in which this process's own is contained. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * The words to start: `argv`, or a shell that becomes it with the bytes that were given. Fails with
 * exit code 2 if that cannot be done.
 */
export function carried({ argv, environment }: WantedCommand, given: GivenWords): string[] {
  const words = argv.map((word, at) => rawWord(word, given.words?.at(at - argv.length)));
  const variables = (given.variables ?? []).filter((each) => {
    return !isUtf8(each) && environment[nameIn(each)] === valueIn(each);
  });
  if (words.every((word) => word === undefined) && variables.length === 0) return [...argv];
  if (words[0] !== undefined) throw refusal(argv[0] ?? "");
  const raw = new Set(variables.map(nameIn));
  const odd = Object.entries(environment)
    .filter(([name]) => !PLAIN_NAME.test(name) && !raw.has(name))
    .map(([name, value]) => `${name}=${value ?? ""}`);
  const lines: string[] = [];
  const keep = (bytes: Uint8Array): string => {
    const name = `raw${lines.length}`;
    // The full stop keeps line feeds at the end, which a substitution would drop.
    lines.push(`${name}=$(printf '${octal(bytes)}.')`);
    return `"\${${name}%.}"`;
  };
  const command = words.map((word, at) => (word === undefined ? `"\${${at + 1}}"` : keep(word)));
  const assignments = [
    ...odd.map((_, at) => `"\${${argv.length + at + 1}}"`),
    ...variables.map(keep),
  ];
  const env = assignments.length === 0 ? "" : `env ${assignments.join(" ")} `;
  const script = `${lines.join("\n")}\nexec ${env}${command.join(" ")}`;
  return [SHELL, "-c", script, SHELL, ...argv, ...odd];
}

/** The bytes of a word that is not UTF-8. */
function rawWord(word: string, bytes: Uint8Array | undefined): Uint8Array | undefined {
  if (!word.includes(REPLACEMENT)) return undefined;
  if (bytes === undefined || Buffer.from(bytes).toString() !== word) throw refusal(word);
  return isUtf8(bytes) ? undefined : bytes;
}

function refusal(word: string): Failure {
  return new Failure(EXIT.usage, `${word}: is not valid UTF-8, and cannot be passed on unchanged`);
}

function octal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

function nameIn(variable: Uint8Array): string {
  return textOf(variable).split("=", 1)[0] ?? "";
}

function valueIn(variable: Uint8Array): string {
  return textOf(variable).slice(nameIn(variable).length + 1);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/** The parts of a file of the kernel, each of which ends with a zero. */
function listIn(path: string): Uint8Array[] | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    // Another system has no such file: what cannot be known there is refused where it matters.
    return undefined;
  }
  const list: Uint8Array[] = [];
  for (let at = 0, end = bytes.indexOf(0); end >= 0; at = end + 1, end = bytes.indexOf(0, at)) {
    list.push(bytes.subarray(at, end));
  }
  return list;
}
