/** Programs in Go: a module in the sources of the bench, whose commands are built together. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { findCommand } from "../../lab/find-command.js";
import { cachedFolder, type Making, runTool, sourceFile } from "./cached-folder.js";

const GO = "go";

export function lackOfGo(): string | undefined {
  return findCommand(GO) === undefined
    ? "Go is not installed (Debian: apt-get install golang-go)"
    : undefined;
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
