/**
 * How the processes of the harness are started: the built script if there is one of it;
 * the source, through `tsx`, if this file itself is a source.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RefusedError } from "./refused-error.js";

const isSource = import.meta.url.endsWith(".ts");

/** Command and arguments for a script of jepsen-lite, named from its folder without extension. */
export function runnerOf(script: string): string[] {
  const file = fileURLToPath(new URL(`../${script}${isSource ? ".ts" : ".js"}`, import.meta.url));
  return isSource
    ? [process.execPath, "--import", import.meta.resolve("tsx"), file]
    : [process.execPath, file];
}

/** How a client process is started. `HOLDFAST_TEST_CLIENT` names another build of its script. */
export function clientRunner(): string[] {
  const given = process.env["HOLDFAST_TEST_CLIENT"];
  return given === undefined ? runnerOf("clients/client-main") : [process.execPath, given];
}

/** The built command, which is attacked. `HOLDFAST_TEST_COMMAND` names another build. */
export function builtCommand(): string {
  const given = process.env["HOLDFAST_TEST_COMMAND"];
  if (given !== undefined) return given;
  for (const path of ["../../bin/holdfast.js", "../../dist/bin/holdfast.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new RefusedError("dist/bin/holdfast.js is missing: run npm run build");
}
