/**
 * The files of this installation: built into one file or many, or run from its sources. Its directory
 * is the nearest one above this file that has a package.json.
 */
import { existsSync } from "node:fs";

const PACKAGE = "package.json";

let found: URL | undefined;

/** The URL of a file of the installation, named from its directory. It need not be there. */
export function installed(path: string): URL {
  found ??= directory();
  return new URL(path, found);
}

function directory(): URL {
  for (let at = new URL("./", import.meta.url); ; at = new URL("../", at)) {
    if (existsSync(new URL(PACKAGE, at))) return at;
    if (at.pathname === "/") return new URL("./", import.meta.url);
  }
}
