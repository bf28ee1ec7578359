/** The table of rules in `docs/internals/raft-rules.md` names tests that exist. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RULE_COUNT = 25;

interface Row {
  readonly rule: string;
  readonly title: string;
  readonly file: string;
}

function rowsOf(document: string): Row[] {
  return document.split("\n").flatMap((line) => {
    const match = /^\| (.*?) ?\| (.+) \| `(test\/.+\.test\.ts)` \|$/.exec(line);
    const [, rule = "", title = "", file = ""] = match ?? [];
    return match === null ? [] : [{ rule, title, file }];
  });
}

const rows = rowsOf(readFileSync(`${root}/docs/internals/raft-rules.md`, "utf8"));

test("every rule has a test", () => {
  const numbers = rows.flatMap(({ rule }) => /^(\d+)\./.exec(rule)?.[1] ?? []).map(Number);
  expect(numbers).toEqual(Array.from({ length: RULE_COUNT }, (_, i) => i + 1));
});

test.each(rows)("$file has a test called: $title", ({ title, file }) => {
  expect(readFileSync(`${root}/${file}`, "utf8")).toContain(title);
});
