/**
 * The tables of `docs/internals/semantics-tests.md` name tests that exist, and leave no sentence
 * out.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(`${root}/${file}`, "utf8");

/** What the semantics are divided into; each part has rules of its own. */
const PARTS = [
  "What a client may rely on",
  "Records",
  "Acquire",
  "While holding",
  "How holds end by themselves",
  "Hand-over",
  "Sessions and replies",
  "Cluster clock",
  "Tokens forever",
  "What `apply` must be",
  "Seeing",
  "Identities and grants",
  "Leases of named owners",
];

const REPORTS = [
  ...["#22082", "#15247", "#12017", "#19597", "#11456", "#9888"].map((id) => `etcd ${id}`),
  ...["604", "527", "621", "498"].map((id) => `Curator ${id}`),
  ...["#1172", "#4902"].map((id) => `Consul ${id}`),
  ...["#4796", "#4462", "#7272", "#4456"].map((id) => `redisson ${id}`),
  ...["#296", "#168"].map((id) => `redlock ${id}`),
  "redis-semaphore #199",
];

interface Row {
  readonly part: string;
  /** For a row that goes on with the rule above: that rule. */
  readonly rule: string;
  readonly title: string;
  readonly file: string;
}

function rowsOf(document: string): Row[] {
  let part = "";
  let rule = "";
  return document.split("\n").flatMap((line) => {
    if (line.startsWith("## ")) part = line.slice(3);
    const cells = /^\| (.*?) ?\| (.+) \| `(test\/.+\.test\.ts)` \|$/.exec(line);
    if (cells === null) return [];
    const [, first = "", title = "", file = ""] = cells;
    if (first !== "") rule = first;
    return [{ part, rule, title, file }];
  });
}

/** Whether something in `source` is called so, word for word. */
function names(source: string, title: string): boolean {
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?:\\(|\\[)\\s*["'\`]${escaped}["'\`]`).test(source);
}

const document = read("docs/internals/semantics-tests.md");
const rows = rowsOf(document);

test("every part of the semantics has rules", () => {
  const parts = new Set(rows.map(({ part }) => part));
  expect([...parts].filter((part) => part !== "Reports from elsewhere")).toEqual(PARTS);
});

test("every rule has a test: no line of a table lacks one", () => {
  const lines = document.split("\n").filter((line) => /^\| (?!rule |report |---)/.test(line));
  expect(lines.length).toBeGreaterThan(PARTS.length);
  expect(rows).toHaveLength(lines.length);
});

test("every report has its tests, under its own name", () => {
  const reported = rows.filter(({ part }) => part === "Reports from elsewhere");
  expect([...new Set(reported.map(({ rule }) => rule.replace(/:.*/, "")))]).toEqual(REPORTS);
  for (const { rule, file } of reported) expect(names(read(file), rule)).toBe(true);
});

describe("a test that is named exists:", () => {
  test.each(rows)("$file: $title", ({ title, file }) => {
    expect(names(read(file), title)).toBe(true);
  });
});
