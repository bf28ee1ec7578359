/** Type-checks a piece of a program against the sources, with the libraries that a test names. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");

/** The SDK, as the program may import it. */
export const SDK = JSON.stringify(join(ROOT, "src/index.js"));

/**
 * What the compiler says of the program; nothing when all is well. Problems of the sources are left
 * out: who uses the package has its declarations, which are made without the library for browsers.
 */
export async function diagnosticsOf(source: string, lib: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-types-"));
  try {
    await writeFile(join(directory, "program.ts"), source);
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
    const config = {
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions: { lib, typeRoots: [join(ROOT, "node_modules/@types")] },
      files: ["program.ts"],
      include: [],
    };
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify(config));
    return await new Promise((resolve) => {
      const args = [COMPILER, "--pretty", "false", "-p", directory];
      execFile(process.execPath, args, (_error, stdout, stderr) => {
        // A diagnostic is one line and those below it that are indented.
        const diagnostics = stdout.split(/\n(?! )/).filter((text) => text.trim() !== "");
        const own = diagnostics.filter((text) => !/^\S*src\/\S+\(\d/.test(text));
        resolve([...own, stderr].join("\n").trim());
      });
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}
