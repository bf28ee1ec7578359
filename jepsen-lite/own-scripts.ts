/**
 * How the processes of the harness are started: the built script where there is one beside this
 * file, the source through `tsx` where this file itself is a source.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RefusedError } from "./refused-error.js";

const isSource = import.meta.url.endsWith(".ts");

/** Command and arguments for a script of this room, named from its folder without extension. */
export function runnerOf(script: string): string[] {
  const file = fileURLToPath(new URL(`${script}${isSource ? ".ts" : ".js"}`, import.meta.url));
  return isSource
    ? [process.execPath, "--import", import.meta.resolve("tsx"), file]
    : [process.execPath, file];
}

/** The built command, which is what is attacked. */
export function builtCommand(): string {
  for (const path of ["../bin/holdfast.js", "../dist/bin/holdfast.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new RefusedError("dist/bin/holdfast.js is missing: run npm run build");
}
