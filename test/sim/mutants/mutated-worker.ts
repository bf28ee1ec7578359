/**
 * The worker of the simulator with one bug in its sources, bundled into a file inside the checkout's own
 * cache, so that packages are found as they are from the sources themselves.
 */
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Mutant } from "./mutant.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CACHE = `${ROOT}node_modules/.cache/holdfast-sim/mutants`;
const WORKER = `${ROOT}test/sim/run/seed-worker.ts`;

/** The text of the file with the bug in it. Throws unless `find` is there exactly once. */
export function mutated(text: string, { name, file, find, replace }: Mutant): string {
  const parts = text.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`mutant ${name}: its place is found ${parts.length - 1} times in ${file}`);
}

export function readMutated(mutant: Mutant): string {
  return mutated(readFileSync(`${ROOT}${mutant.file}`, "utf8"), mutant);
}

/** Where it lies. */
export async function buildMutatedWorker(mutant: Mutant): Promise<string> {
  const path = `${CACHE}/${mutant.name}-${process.pid}.mjs`;
  const withBug = readMutated(mutant);
  await build({
    entryPoints: [WORKER],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
    plugins: [
      {
        name: "seeded bug",
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/ }, (file) => {
            return file.path === `${ROOT}${mutant.file}`
              ? { contents: withBug, loader: "ts" }
              : undefined;
          });
        },
      },
    ],
  });
  return path;
}

export function removeMutatedWorker(path: string): void {
  rmSync(path, { force: true });
}
