/** Where the built `holdfast` command is. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The built command, seen from `dist/bench/cluster` and from `bench/cluster`. */
export function findCommand(): string {
  for (const path of ["../../bin/holdfast.js", "../../dist/bin/holdfast.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error("dist/bin/holdfast.js is missing: run npm run build");
}
