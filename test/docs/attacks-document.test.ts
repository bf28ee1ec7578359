/** The table of attacks in `docs/internals/verification.md` names tests that exist. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(`${root}/${file}`, "utf8");

const document = read("docs/internals/verification.md");
const from = document.indexOf("## Attacks");
const lines = document
  .slice(from, document.indexOf("\n## ", from + 1))
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (attack|\*\*)/.test(line));
const rows = lines.map((line) => {
  const [, attack = "", file = "", title = ""] =
    /^\| (.+?) \| .+? \| `(test\/[^`]+\.ts)`: (.+?) \|$/.exec(line) ?? [];
  return { line, attack, file, title };
});

test("every attack has a defence and a test", () => {
  expect(rows.length).toBeGreaterThan(30);
  // The simulator defends against one; its faults and seeded bugs have no titles.
  const untested = rows.filter(({ file }) => file === "").map(({ line }) => line);
  expect(untested).toEqual([expect.stringContaining("`known-peers-forgotten`")]);
});

test.each(rows.filter(({ file }) => file !== ""))("$attack: its test exists", ({ file, title }) => {
  // The title of a test for several cases goes on with a colon and the case.
  const literal = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/: …$/, ": %s");
  expect(read(file)).toMatch(new RegExp(`["'\`]${literal}["'\`]`));
});
