/**
 * Bundles the page that nodes serve (`dashboard/`) into files whose names contain the hash of their
 * content, so that browsers may keep them forever. Only `index.html` keeps its name. Must not let
 * anything of Node into the bundle.
 */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, type Plugin } from "esbuild";
import { putInPlace } from "./build-output.js";

/** The SDK loads this file only in Node, so a page has an empty one in its place. */
const withoutNodePlatform: Plugin = {
  name: "without-node-platform",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]client[\\/]transport[\\/]node-platform\.ts$/ }, () => ({
      contents: "export {};",
    }));
  },
};

/** The SDK reads checked plain data only, for which the page has a reader of its own. */
const withSmallReader: Plugin = {
  name: "with-small-reader",
  setup({ onResolve, initialOptions }) {
    onResolve({ filter: /^msgpackr\/unpack$/ }, () => ({
      path: join(initialOptions.absWorkingDir ?? "", "plain-unpackr.ts"),
    }));
  },
};

/** @throws what could not be bundled */
export async function bundleDashboard(sources: string, target: string): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: sources,
    entryPoints: { dashboard: "main.tsx", icon: "icon.svg" },
    outdir: target,
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2022", "chrome110", "firefox115", "safari16.4"],
    // The tour is loaded only by those who take it, and what a page never runs by nobody.
    splitting: true,
    chunkNames: "part-[hash]",
    legalComments: "none",
    charset: "utf8",
    write: false,
    logLevel: "warning",
    plugins: [withoutNodePlatform, withSmallReader],
  });
  const files = outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    content: contents,
  }));
  const names = files.map(({ name }) => name);
  const nameOf = (ending: string): string => {
    const name = names.find((one) => !one.startsWith("part-") && one.endsWith(ending));
    if (name === undefined) throw new Error(`the bundle has no ${ending}`);
    return name;
  };
  const template = await readFile(join(sources, "index.html"), "utf8");
  const page = template
    .replace("PROGRAM", nameOf(".js"))
    .replace("STYLE", nameOf(".css"))
    .replace("ICON", nameOf(".svg"));
  await putInPlace(target, [
    ...files,
    { name: "index.html", content: page },
    // What nodes serve; nothing else that lies there.
    { name: "files.json", content: `${JSON.stringify(["index.html", ...names])}\n` },
  ]);
}
