/** What the doors may take from the platform: the input of a client comes through the meter alone. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const DOORS = "src/doors";
/** An import of values, from a module that opens ports or connections. */
const OPENS_PORTS =
  /^(?:import|export) (?!type\b)[^;]*? from "(?:node:)?(?:net|tls|http|https|http2|dgram|ws)"/m;

test("no door can open a port or connection past the meter: of such modules it has types alone", async () => {
  const names = await readdir(DOORS, { recursive: true });
  const sources = names.filter((name) => name.endsWith(".ts"));
  expect(sources.length).toBeGreaterThan(50);
  for (const name of sources) {
    expect(OPENS_PORTS.exec(await readFile(join(DOORS, name), "utf8")), name).toBeNull();
  }
});

test("an import of such values would be seen", () => {
  expect(
    OPENS_PORTS.test('import { a } from "./a.js";\nimport { createServer } from "node:net";'),
  ).toBe(true);
  expect(OPENS_PORTS.test('import type { Socket } from "node:net";')).toBe(false);
});
