/**
 * The built command in one file. Loading its many small modules is half the cost of a `holdfast
 * run`, so a test that starts a thousand of them uses this. The bundler joins the files of the
 * build and changes nothing in them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { COMMAND } from "./command-line.js";

/** `require`, which packages that are no modules call for what belongs to the platform. */
const BANNER =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

export interface BundledCommand extends AsyncDisposable {
  readonly path: string;
}

export async function bundledCommand(): Promise<BundledCommand> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-bundle-"));
  await build({
    entryPoints: [COMMAND],
    bundle: true,
    platform: "node",
    format: "esm",
    splitting: true,
    // A native part; only nodes load it.
    external: ["level"],
    banner: { js: BANNER },
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    logLevel: "error",
  });
  return {
    path: join(directory, "holdfast.mjs"),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
