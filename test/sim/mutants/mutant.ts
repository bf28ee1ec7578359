/**
 * A seeded bug: a patch of one place in the sources, so that production code carries no switches.
 * `find` must occur exactly once in `file`; else the catalogue is out of date and the run says so.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ScenarioName } from "../plan/scenarios.js";

export interface Mutant {
  readonly name: string;
  /** The rule it breaks, in the words of `docs/internals/raft-rules.md` where it has one. */
  readonly rule: string;
  /** Without which it has no effect. */
  readonly scenario: ScenarioName;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Seeds that found it before; they are tried first. */
  readonly seeds: readonly number[];
}

/** Files of bugs are named from here. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The text of the file with the bug in it. Throws unless `find` is there exactly once. */
export function mutated(
  text: string,
  { name, file, find, replace }: Omit<Mutant, "scenario" | "seeds">,
): string {
  const parts = text.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(`mutant ${name}: its place is found ${parts.length - 1} times in ${file}`);
}

export function readMutated(mutant: Mutant): string {
  return mutated(readFileSync(`${ROOT}${mutant.file}`, "utf8"), mutant);
}
