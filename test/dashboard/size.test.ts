/** How much a browser has to load before it shows a cluster. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const BYTES_MAX = 60_000;
const directory = new URL("../../dist/dashboard/", import.meta.url);

test("the page is smaller than 60 kB when packed, all files together", () => {
  const names = readdirSync(fileURLToPath(directory));
  expect(names).toContain("index.html");
  const sizes = names.map((name) => {
    return gzipSync(readFileSync(new URL(name, directory)), { level: 9 }).length;
  });
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BYTES_MAX);
});
