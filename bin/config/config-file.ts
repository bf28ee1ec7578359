/**
 * Options from a file: one JSON object, whose keys are names of the table. A key that no command
 * knows is an error; a key of another command is not, so that one file may serve them all.
 */
import { readFileSync } from "node:fs";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../exit/failure.js";
import type { OptionDefinition } from "../options/option-definition.js";
import { OPTION_TABLE } from "../options/option-table.js";
import { JsonProblem, keysIn, type PlacedKey } from "./json-places.js";
import { similarName } from "./similar-name.js";

export interface ConfigFile {
  readonly path: string;
  readonly values: ReadonlyMap<string, unknown>;
  /** The line of each of them, from 1. */
  readonly lines: ReadonlyMap<string, number>;
}

const READ_REASONS: Readonly<Record<string, string>> = Object.freeze({
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
});

/** A pipe can be read only once, and several parts of a command ask for the file. */
const read = new Map<string, ConfigFile>();

/** Fails with exit code 2 for a file that cannot be read or has an unknown key. */
export function readConfigFile(path: string): ConfigFile {
  const known = read.get(path);
  if (known !== undefined) return known;
  const file = parseConfigFile(path, textOf(path));
  read.set(path, file);
  return file;
}

export function parseConfigFile(path: string, text: string): ConfigFile {
  const content = text.replace(/^\uFEFF/, "");
  const keys = placedKeys(path, content);
  const json: unknown = JSON.parse(content);
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid(path, 'it must be one object: {"endpoints":["ws://127.0.0.1:7411"]}');
  }
  const lines = new Map<string, number>();
  const names = namesInFiles();
  for (const { name, line } of keys) {
    const place = `${path}:${line}`;
    const before = lines.get(name);
    if (before !== undefined) throw invalid(place, `${name} is already in line ${before}`);
    lines.set(name, line);
    const reach = names.get(name)?.reach;
    if (reach === undefined) throw invalid(place, unknownKey(name, names.keys()));
    if (reach === "everywhere" || reach === "secret") continue;
    throw invalid(place, `${name} cannot be set in a file: give it with each command`);
  }
  return { path, values: new Map<string, unknown>(Object.entries(json)), lines };
}

function placedKeys(path: string, text: string): PlacedKey[] {
  try {
    return keysIn(text);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw invalid(`${path}:${error.line}:${error.column}`, `invalid JSON: ${error.message}`, error);
  }
}

function unknownKey(name: string, names: Iterable<string>): string {
  const all = [...names];
  // The most common mistake is a flag as it is typed.
  const spelled = name
    .replace(/^--/, "")
    .replace(/[-_]([a-z])/g, (_, letter) => letter.toUpperCase());
  const meant = all.includes(spelled) ? spelled : similarName(spelled, all);
  const suggestion = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  return `unknown key ${JSON.stringify(name)}${suggestion}`;
}

function namesInFiles(): Map<string, OptionDefinition<unknown>> {
  const names = new Map<string, OptionDefinition<unknown>>();
  for (const { options } of OPTION_TABLE) {
    for (const [name, definition] of Object.entries(options)) {
      // Of two options with the same name, the one that may be in a file decides.
      if (names.get(name)?.reach !== "everywhere") names.set(name, definition);
    }
  }
  return names;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "") throw error;
    throw new Failure(
      EXIT.usage,
      `the configuration file ${path} cannot be read: ${READ_REASONS[code] ?? code}`,
      { cause: error },
    );
  }
}

function invalid(place: string, problem: string, cause?: unknown): Failure {
  return new Failure(EXIT.usage, `${place}: ${problem}`, { cause });
}
