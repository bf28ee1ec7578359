/** How much a browser has to load before it shows a cluster. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const BYTES_MAX = 70_000;
const directory = new URL("../../dist/dashboard/", import.meta.url);
const read = (name: string): Buffer => readFileSync(new URL(name, directory));

/** What `name` loads at once; what a call of `import()` names is loaded only when it is needed. */
function loadedBy(name: string): string[] {
  const text = read(name).toString();
  if (name.endsWith(".html")) return [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(second);
  return [...text.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)].map(second);
}

function second([, found = ""]: readonly string[]): string {
  return found;
}

test("the page is smaller than 70 kB when packed, all files together that show a cluster", () => {
  const names = new Set(["index.html"]);
  for (const name of names) for (const next of loadedBy(name)) names.add(next);
  // The page, its style, its icon, its program, and what the program shares with the tour.
  expect(names.size).toBe(5);
  const sizes = [...names].map((name) => gzipSync(read(name), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BYTES_MAX);
});
