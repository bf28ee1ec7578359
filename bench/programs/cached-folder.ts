/**
 * Folders with programs that the bench builds or fetches when they are first needed, in
 * `$XDG_CACHE_HOME/holdfast-bench` or `~/.cache/holdfast-bench`. A folder's name contains a digest of
 * what it is made from, so a change makes another one; a folder appears complete or not at all.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Building a server of Go on a busy machine takes minutes. */
const COMMAND_MS_MAX = 1_200_000;
const OUTPUT_BYTES_MAX = 16 << 20;

export interface Making {
  readonly signal: AbortSignal;
  /** A line for people, before something that takes long. */
  readonly onNote: (text: string) => void;
}

/**
 * The path of the folder, which `make` fills if it is not there yet.
 *
 * @param sources files whose content decides whether an existing folder is the right one
 */
export async function cachedFolder(
  name: string,
  sources: readonly string[],
  { onNote }: Making,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const digest = createHash("sha256");
  for (const file of sources) digest.update(`${basename(file)}\0`).update(readFileSync(file));
  const parent = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "holdfast-bench");
  const folder = join(parent, `${name}-${digest.digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  onNote(`${name} is made in ${folder}, once`);
  await mkdir(parent, { recursive: true });
  const unfinished = await mkdtemp(join(parent, `${name}-unfinished-`));
  try {
    await make(unfinished);
    await rename(unfinished, folder).catch((error: unknown) => {
      // Another bench was faster.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/** Runs a tool to its end. Rejects with what it said if it fails. */
export async function runTool(
  command: string,
  words: readonly string[],
  { signal }: Pick<Making, "signal">,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(command, words, {
    env: { ...process.env, ...environment },
    timeout: COMMAND_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
    signal,
  });
  return stdout;
}

/**
 * The path of a file of the sources, which are not part of the build: seen from
 * `dist/bench/programs` and from `bench/programs`.
 *
 * @param name from `bench` on
 */
export function sourceFile(name: string): string {
  for (const path of [`../../../bench/${name}`, `../${name}`]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error(`bench/${name} is missing`);
}
