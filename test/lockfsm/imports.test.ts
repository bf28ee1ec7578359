/**
 * No cycle of imports in any folder of the table. Which folder may import which, the linter
 * checks.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const ROOT = "src/lockfsm";

/** The files that each file imports, types included. */
function importsOf(): Map<string, string[]> {
  const files = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(ROOT, name));
  return new Map(
    files.map((file) => {
      const found = readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)\.js"/g);
      const imported = [...found].map(([, path = ""]) => normalize(join(dirname(file), path)));
      return [file, imported.map((path) => `${path}.ts`).filter((path) => files.includes(path))];
    }),
  );
}

/** Takes away files that import none of the rest, until there are no more of them. */
function inCycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(imports);
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const [file, imported] of left) {
      if (!imported.some((other) => left.has(other))) left.delete(file);
    }
  }
  return [...left.keys()];
}

test("no file of the table imports itself by way of others", () => {
  const imports = importsOf();
  expect(imports.get(join(ROOT, "table.ts"))).toContain(join(ROOT, "commands/execute.ts"));
  expect(inCycles(imports)).toEqual([]);
  const [bottom, top] = [join(ROOT, "records/session.ts"), join(ROOT, "table.ts")];
  const tied = new Map(imports).set(bottom, [...(imports.get(bottom) ?? []), top]);
  expect(inCycles(tied)).toEqual(expect.arrayContaining([bottom, top]));
});
