/** Programs in Go: a module in the sources of the bench, whose commands are built together. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findCommand } from "../../lab/find-command.js";
import { cachedFolder, type Making, runTool, sourceFile } from "./cached-folder.js";

const GO = "go";

/** The reason why a module cannot be built here; `undefined` if it can. */
export function lackOfGo(module: string): string | undefined {
  const text = readFileSync(sourceFile(`${module}/go.mod`), "utf8");
  const needed = /^go (\d+\.\d+)/m.exec(text)?.[1] ?? "";
  const file = findCommand(GO);
  if (file === undefined)
    return `Go ${needed} is not installed (Debian: apt-get install golang-go)`;
  const said = execFileSync(file, ["version"], { encoding: "utf8" });
  const installed = /\bgo(\d+\.\d+)/.exec(said)?.[1] ?? "";
  return isOlder(installed, needed)
    ? `Go ${needed} is needed, and here is ${installed}`
    : undefined;
}

function isOlder(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

/**
 * The folder with the commands of a module, each under the name of its folder.
 *
 * @param module the folder of the module, from `bench` on
 */
export async function goPrograms(module: string, name: string, making: Making): Promise<string> {
  const folder = sourceFile(module);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const sources = files.filter((file) => /\.(go|mod|sum)$/.test(file));
  const paths = sources.map((file) => join(folder, file));
  return cachedFolder(name, paths, making, async (unfinished) => {
    // The versions that go.sum confirms, and no others.
    const flags = ["-C", folder, "-mod=readonly", "-buildvcs=false", "-o", unfinished];
    await runTool(GO, ["build", ...flags, "./..."], making);
  });
}
