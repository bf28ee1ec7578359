/** Finds a program of this machine as a shell would. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** `undefined` if there is none. */
export function installedCommand(name: string): string | undefined {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  return path.map((each) => join(each, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
