/**
 * The table of rules in `docs/internals/raft-rules.md` names tests that exist, and the sources
 * cite the rules.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RULE_COUNT = 31;
const RULES = Array.from({ length: RULE_COUNT }, (_, at) => at + 1);

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
  expect(numbers).toEqual(RULES);
});

/** The core says "rule 4" of these rules, the other rooms "consensus rule 20". */
function rulesCitedIn(path: string): number[] {
  const isCore = path.startsWith("src/raft/");
  // A comment may go over several lines.
  const text = readFileSync(`${root}/${path}`, "utf8").replace(/\s+\*\s+/g, " ");
  const citation = isCore
    ? /\brules? (\d+(?:(?:, | and )\d+)*)/g
    : /\bconsensus rules? (\d+(?:(?:, | and )\d+)*)/g;
  return [...text.matchAll(citation)].flatMap(([, list = ""]) =>
    (list.match(/\d+/g) ?? []).map(Number),
  );
}

test("every rule is named where the sources keep it, and no other", () => {
  const names = readdirSync(`${root}/src`, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts"));
  const cited = new Set(files.flatMap((name) => rulesCitedIn(`src/${name}`)));
  expect([...cited].sort((a, b) => a - b)).toEqual(RULES);
});

test.each(rows)("$file has a test called: $title", ({ title, file }) => {
  expect(readFileSync(`${root}/${file}`, "utf8")).toContain(title);
});
