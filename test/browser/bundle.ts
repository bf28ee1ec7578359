/**
 * The package as a browser gets it: bundled by a bundler that knows only its published entry point. Any
 * import of Node, or of the package that is WebSocket for Node, ends the bundling.
 */
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOR_NODE_ONLY: ReadonlySet<string> = new Set(["ws", "level", "commander"]);

const nothingOfNode: Plugin = {
  name: "nothing-of-node",
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
      if (!isBuiltin(path) && !FOR_NODE_ONLY.has(path)) return undefined;
      return { errors: [{ text: `${importer} imports ${path}, which no browser has` }] };
    });
  },
};

export interface Bundle {
  readonly text: string;
  /** The files that went in, relative to the package. */
  readonly inputs: readonly string[];
}

/** Rejects with what could not be bundled. */
export async function bundleForBrowser(program: string): Promise<Bundle> {
  const result = await build({
    stdin: { contents: program, resolveDir: ROOT, sourcefile: "page.js" },
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
    logLevel: "silent",
    plugins: [nothingOfNode],
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error("nothing came out of the bundler");
  if (result.warnings.length > 0) throw new Error(JSON.stringify(result.warnings));
  return { text: output.text, inputs: Object.keys(result.metafile.inputs) };
}
