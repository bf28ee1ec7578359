/**
 * Files of `bin` that import each other in a cycle cannot be read one at a time. The linter keeps the
 * folders apart, but follows neither `import()` nor a `.js` to its `.ts`.
 */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../bin", import.meta.url));
/** Static or not, of values or types. */
const IMPORTS = /\b(?:from|import)[\s(]+"(\.[^"]+)\.js"/g;

type Graph = ReadonlyMap<string, readonly string[]>;

async function importsBelow(root: string): Promise<Graph> {
  const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith(".ts"));
  const graph = new Map<string, string[]>();
  for (const path of files.map((file) => join(root, file))) {
    const specifiers = [...(await readFile(path, "utf8")).matchAll(IMPORTS)];
    graph.set(
      path,
      specifiers.map(([, name]) => join(dirname(path), `${name}.ts`)),
    );
  }
  return graph;
}

/** All that `file` imports, directly or not. */
function reach(graph: Graph, file: string): Set<string> {
  const reached = new Set<string>();
  const open = [...(graph.get(file) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(graph.get(next) ?? []));
  }
  return reached;
}

test("no file of bin imports itself by way of others, in whatever way they are imported", async () => {
  const graph = await importsBelow(ROOT);
  // The list of commands imports them when they are needed: if that is seen, so is the rest.
  const list = reach(graph, join(ROOT, "program", "command-list.ts"));
  expect([...list].filter((file) => file.includes("/commands/")).length).toBeGreaterThan(20);
  expect([...graph.keys()].filter((file) => reach(graph, file).has(file))).toEqual([]);
});
