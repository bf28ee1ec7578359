/** The peers' clients are development packages: an installation without them has none. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";

/** @throws Error that says how to install it, if `name` is not installed */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw missing(name, error);
  }
}

/** The name and version of an installed package. */
export function packageVersion(name: string): string {
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const folder = join("node_modules", name) + sep;
    const file = join(main.slice(0, main.lastIndexOf(folder)), folder, "package.json");
    const { name: own, version } = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
    return `${own} ${version}`;
  } catch (error) {
    throw missing(name, error);
  }
}

function missing(name: string, cause: unknown): Error {
  return new Error(`the package ${name} is missing: npm install --no-save ${name}`, { cause });
}
