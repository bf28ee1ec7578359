/**
 * Inputs as files: hex digits in lines, and comments that begin with "#". They were found once,
 * each has a name that says what it is, and they are run before anything else.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CORPUS = fileURLToPath(new URL("../corpus/", import.meta.url));
const DIGITS_PER_LINE = 96;

export interface CorpusFile {
  readonly name: string;
  readonly input: Uint8Array;
}

/** The files of a target, by name. */
export function corpusFiles(target: string): CorpusFile[] {
  const folder = join(CORPUS, target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).sort();
  return names.map((name) => ({ name, input: readInput(join(folder, name)) }));
}

/** Every folder there is. */
export function corpusFolders(): string[] {
  return readdirSync(CORPUS).sort();
}

/** Throws for a file that is not made of hex digits and comments. */
export function readInput(path: string): Uint8Array {
  const lines = readFileSync(path, "utf8").split("\n");
  const digits = lines
    .filter((line) => !line.startsWith("#"))
    .join("")
    .replaceAll(/\s/g, "");
  if (!/^([0-9a-f]{2})*$/.test(digits)) throw new Error(`${path} is not made of hex digits`);
  return Uint8Array.from(Buffer.from(digits, "hex"));
}

/** Writes `input` into `folder` under a name that follows from it; returns the path. */
export function writeInput(folder: string, input: Uint8Array, comment: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${createHash("sha256").update(input).digest("hex").slice(0, 12)}.hex`);
  const digits = Buffer.from(input).toString("hex");
  const lines = digits.match(new RegExp(`.{1,${DIGITS_PER_LINE}}`, "g")) ?? [];
  const told = comment.split("\n").map((line) => `# ${line}`.trimEnd());
  writeFileSync(path, [...told, ...lines, ""].join("\n"));
  return path;
}
