/**
 * Loads a user's module, in JavaScript or TypeScript, that exports a workload or a nemesis under
 * the expected name.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { findNamed } from "../../lab/command-line.js";
import { RefusedError } from "./refused-error.js";

const NAME = /^[a-z][a-z0-9-]*$/;

/**
 * Each once: the named ones, then the ones from modules. Throws `UsageError` for an unknown name.
 */
export async function loadNamed<T extends { readonly name: string }>(
  kind: "workload" | "nemesis",
  builtIn: readonly T[],
  names: readonly string[],
  modules: readonly string[],
): Promise<T[]> {
  const own = await Promise.all(modules.map((file) => loadModule<T>(file, kind)));
  const all = [...builtIn, ...own];
  const wanted = new Set([...names, ...own.map(({ name }) => name)]);
  return [...wanted].map((name) => findNamed(kind, name, all));
}

/** Rejects with a `RefusedError` that names the file. */
export async function loadModule<T extends { readonly name: string }>(
  file: string,
  exported: "workload" | "nemesis",
): Promise<T> {
  const path = resolve(file);
  if (!existsSync(path)) throw new RefusedError(`there is no file ${path}`);
  let module: Record<string, unknown>;
  try {
    const url = pathToFileURL(path).href;
    module = await (path.endsWith(".ts") ? importTypeScript(url) : import(url));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new RefusedError(`${file} cannot be loaded: ${reason}`, { cause });
  }
  const value = module[exported] as T | undefined;
  if (typeof value?.name !== "string") {
    throw new RefusedError(`${file} does not export a ${exported} with a name`);
  }
  if (!NAME.test(value.name)) {
    throw new RefusedError(`${file}: ${JSON.stringify(value.name)} must match ${NAME.source}`);
  }
  return value;
}

async function importTypeScript(url: string): Promise<Record<string, unknown>> {
  const { tsImport } = await import("tsx/esm/api");
  return (await tsImport(url, import.meta.url)) as Record<string, unknown>;
}
