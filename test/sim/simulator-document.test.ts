/** The table of seeded bugs in `docs/internals/simulator.md`, compared with the catalogue. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MUTANTS } from "./mutants/catalogue.js";

const text = readFileSync(new URL("../../docs/internals/simulator.md", import.meta.url), "utf8");

test("the document lists every seeded bug with its rule, its scenario and its seed", () => {
  const rows = text.split("\n").filter((line) => /^\| `[a-z-]+` \|/.test(line));
  const expected = MUTANTS.map(({ name, rule, scenario, seeds }) => {
    return `| \`${name}\` | ${rule} | ${scenario} | ${seeds[0] ?? "not found yet"} |`;
  });
  expect(rows).toEqual(expected);
});
