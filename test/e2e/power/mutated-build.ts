/**
 * A copy of the build with one bug in it. It is inside the cache of the checkout, so that it finds
 * packages as the build does.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Mutant, mutated } from "../../sim/mutants/mutant.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CACHE = `${ROOT}node_modules/.cache/holdfast-power`;

/** `file` is one of the build. No seed of the simulator finds these: its disks stand in for the code. */
export type BuildMutant = Omit<Mutant, "seeds">;

export const UNSYNCED_LOG: BuildMutant = {
  name: "log-written-without-dsync",
  rule: "a write to a file of the log is durable when it is over",
  file: "dist/src/storage/node-file-system.js",
  find: "syncFile === undefined ? O_DSYNC : 0",
  replace: "0",
};

export const UNSYNCED_STORE: BuildMutant = {
  name: "store-written-without-sync",
  rule: "a batch of the store is durable when it is over",
  file: "dist/src/storage/level-store.js",
  find: "sync: true",
  replace: "sync: false",
};

export class MutatedBuild implements Disposable {
  readonly #directory: string;

  constructor(mutant: BuildMutant) {
    const text = mutated(readFileSync(`${ROOT}${mutant.file}`, "utf8"), { ...mutant, seeds: [] });
    mkdirSync(CACHE, { recursive: true });
    this.#directory = mkdtempSync(`${CACHE}/${mutant.name}-`);
    for (const part of ["package.json", "dist", "jepsen-lite/report/page"]) {
      cpSync(`${ROOT}${part}`, `${this.#directory}/${part}`, { recursive: true });
    }
    writeFileSync(`${this.#directory}/${mutant.file}`, text);
  }

  /** Of `holdfast`. */
  get command(): string {
    return `${this.#directory}/dist/bin/holdfast.js`;
  }

  /** Of a module of the sources. */
  pathOf(module: string): string {
    return `${this.#directory}/dist/${module}`;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
