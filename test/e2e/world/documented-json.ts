/**
 * Compares real `--json` documents with those in docs/reference/cli-json.md: each has the
 * documented fields, of the documented types, and no others.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";

const PAGE = readFileSync(new URL("../../../docs/reference/cli-json.md", import.meta.url), "utf8");

/** The example below the heading of that name. */
function documented(title: string): unknown {
  const [, section] = PAGE.split(`\n## ${title}\n`);
  const block = section?.split("\n## ")[0]?.match(/^```json\n(.*)\n```$/m)?.[1];
  if (block === undefined) throw new Error(`no example of ${title} is documented`);
  return JSON.parse(block);
}

export function expectDocumented(actual: unknown, title: string): void {
  expectShape(actual, documented(title), title);
}

function expectShape(actual: unknown, example: unknown, path: string): void {
  // Null stands for "none" in either.
  if (actual === null || example === null) return;
  if (Array.isArray(example)) {
    expect(Array.isArray(actual), path).toBe(true);
    const [model] = example;
    if (model === undefined) return;
    for (const [index, each] of (actual as unknown[]).entries()) {
      expectShape(each, model, `${path}[${index}]`);
    }
    return;
  }
  expect(typeof actual, path).toBe(typeof example);
  if (typeof example !== "object" || typeof actual !== "object") return;
  expect(Object.keys(actual as object).sort(), path).toEqual(Object.keys(example as object).sort());
  for (const [name, model] of Object.entries(example as object)) {
    expectShape((actual as Record<string, unknown>)[name], model, `${path}.${name}`);
  }
}
