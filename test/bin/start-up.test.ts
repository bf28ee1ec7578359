/**
 * The cost of a start is what it loads. `holdfast --help` must load no command, nothing of the SDK
 * or the server, and no package but commander. The time it takes is measured, not asserted.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { endWithProcess } from "../../lab/end-with-process.js";
import { COMMAND } from "../e2e/world/command-line.js";

const MARK = "loaded ";
const HOOK = `export async function load(url, context, next) {
  process._rawDebug(${JSON.stringify(MARK)} + url);
  return next(url, context);
}`;
const data = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const IMPORT = data(
  `import { register } from "node:module"; register(${JSON.stringify(data(HOOK))});`,
);

/** The bundler says of which modules a file is made: `// src/errors/errors.ts`. */
const MODULE = /^\/\/ ((?:src|bin|node_modules)\/\S+)$/gm;

/** The modules, of the sources and of packages, in the files that a start loads. */
async function loadedBy(...args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [`--import=${IMPORT}`, COMMAND, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  endWithProcess(child);
  let text = "";
  child.stderr.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const [code] = await once(child, "close");
  expect([args, code]).toEqual([args, 0]);
  const urls = text.split("\n").filter((line) => line.startsWith(MARK));
  const files = urls
    .map((line) => line.slice(MARK.length))
    .filter((url) => url.startsWith("file:"))
    .map((url) => readFileSync(new URL(url), "utf8"));
  return files.flatMap((file) => [...file.matchAll(MODULE)].map(([, module = ""]) => module));
}

/** Rooms and files that import nothing of the SDK, what a view means, and the options of a node are not part of it. */
function isOfTheSdk(module: string): boolean {
  return /^src\/(?!(?:errors|text|views|node-options)\/|reach\/(?:endpoint-url|protected-url|within)\.ts$|protocol\/log-level\.ts$|server\/version\.ts$)/.test(
    module,
  );
}

function commandsIn(modules: readonly string[]): string[] {
  return modules.flatMap((module) => /^bin\/commands\/\w+\/([\w-]+)\.ts$/.exec(module)?.[1] ?? []);
}

test("help and version load no command, no SDK, no server and no package but commander", async () => {
  for (const args of [["--help"], ["--version"], ["help", "exit-codes"], ["__complete", "st"]]) {
    const modules = await loadedBy(...args);
    expect(modules.length).toBeGreaterThan(5);
    expect(commandsIn(modules)).toEqual([]);
    expect(modules.filter(isOfTheSdk)).toEqual([]);
    const packages = modules.flatMap(
      (module) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? [],
    );
    expect(new Set(packages)).toEqual(new Set(["commander"]));
  }
});

test("help and completion of a command load that command, and the SDK only where it is used", async () => {
  for (const args of [
    ["inspect", "--help"],
    ["__complete", "inspect", "--"],
  ]) {
    const modules = await loadedBy(...args);
    expect(commandsIn(modules)).toEqual(["inspect"]);
    expect(modules.filter(isOfTheSdk)).toEqual([]);
  }
});
