/**
 * Bundles the `holdfast` command with the packages that it uses: loading its many small modules one by
 * one is half the cost of a `holdfast run`. What a subcommand alone needs stays in files of its own,
 * which only that subcommand loads. Must change nothing but where code lies.
 */
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { putInPlace } from "./build-output.js";

/** `require`, which packages that are not modules call for what belongs to the platform. */
const BANNER =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';
const LICENSE = /^licen[cs]e/i;

export interface CommandBundleOptions {
  /** The directory of the checkout. */
  readonly root: string;
  /** Commands from the build before may run there. */
  readonly target: string;
  readonly plugins?: readonly Plugin[];
}

/** @throws what could not be bundled */
export async function bundleCommand(options: CommandBundleOptions): Promise<void> {
  const { root, target, plugins = [] } = options;
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["bin/holdfast.ts", "bin/tour/tour-worker.ts"],
    entryNames: "[name]",
    chunkNames: "part-[hash]",
    outdir: target,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // Native parts: the first is loaded by nodes only, the other may be missing.
    external: ["level", "msgpackr-extract"],
    banner: { js: BANNER },
    legalComments: "none",
    charset: "utf8",
    metafile: true,
    write: false,
    logLevel: "error",
    plugins: [...plugins],
  });
  await putInPlace(target, [
    { name: "LICENSES.txt", content: await licensesOf(root, metafile) },
    ...outputFiles.map(({ path, contents }) => {
      const name = basename(path);
      return { name, content: contents, isExecutable: name === "holdfast.js" };
    }),
  ]);
}

/** The licenses of the packages in the bundle, each under its name and version. */
async function licensesOf(root: string, { inputs }: Metafile): Promise<string> {
  const names = new Set<string>();
  for (const input of Object.keys(inputs)) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (name !== undefined) names.add(name);
  }
  const texts = [...names].sort().map(async (name) => {
    const directory = join(root, "node_modules", name);
    const file = (await readdir(directory)).find((one) => LICENSE.test(one));
    if (file === undefined) throw new Error(`the package ${name} has no licence`);
    const { version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(directory, file), "utf8").trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}
