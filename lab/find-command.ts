/** Finds a program as a shell would, and where Debian puts programs that are not in the PATH. */
import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

/** `undefined` if there is none. `directories` are searched first. */
export function findCommand(name: string, directories: readonly string[] = []): string | undefined {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  return [...directories, ...path].map((each) => join(each, name)).find(isExecutable);
}

/** The directory of each installed version of something, the newest first. */
export function versionedDirectories(parent: string, below: string): string[] {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    return []; // Not Debian, or not installed: only the PATH remains.
  }
  const versions = names.map(Number).filter((version) => Number.isFinite(version));
  return versions.sort((a, b) => b - a).map((version) => join(parent, String(version), below));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
