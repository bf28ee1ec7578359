/**
 * A copy of the sources with one bug in it, inside the checkout's own cache, so that packages are
 * found as they are from the sources themselves.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CACHE = `${ROOT}node_modules/.cache/holdfast-sim/mutants`;
/** What a run needs. */
const PARTS = [
  "package.json",
  "tsconfig.json",
  "src",
  "test/sim",
  "test/seeded-random.ts",
  "test/server/world/event-heap.ts",
  "test/lockfsm",
] as const;

/** The text of the file with the bug in it. Throws unless `find` is there exactly once. */
export function mutated(text: string, { name, file, find, replace }: Mutant): string {
  const parts = text.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`mutant ${name}: its place is found ${parts.length - 1} times in ${file}`);
}

export function readMutated(mutant: Mutant): string {
  return mutated(readFileSync(`${ROOT}${mutant.file}`, "utf8"), mutant);
}

export class MutatedCopy {
  readonly #directory: string;

  constructor(mutant: Mutant) {
    const text = readMutated(mutant);
    this.#directory = `${CACHE}/${mutant.name}-${process.pid}`;
    this.remove();
    for (const part of PARTS) {
      const to = `${this.#directory}/${part}`;
      mkdirSync(to.slice(0, to.lastIndexOf("/")), { recursive: true });
      cpSync(`${ROOT}${part}`, to, { recursive: true });
    }
    writeFileSync(`${this.#directory}/${mutant.file}`, text);
  }

  get workerPath(): string {
    return `${this.#directory}/test/sim/run/seed-worker.ts`;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
