/** What comments and documents cite exists, and every rule of the semantics has a test. */
import { describe, expect, test } from "vitest";
import { SOURCES, wrongCitationsIn } from "./citations.js";
import { anchorsOf, linksOf, PAGES, prose, read } from "./pages.js";

/** Both have wrong ones on purpose. */
const FIXTURES = ["test/docs/citations.test.ts", "test/docs/document-page.test.ts"];

const SEMANTICS = "docs/internals/semantics.md";
const isRule = (anchor: string): boolean => /^\d+\.\d+$/.test(anchor);

test("what the sources cite exists", () => {
  const files = SOURCES.filter((file) => !FIXTURES.includes(file));
  const wrong = files.map((file) => ({ file, cited: wrongCitationsIn(file, read(file)) }));
  expect(wrong.filter(({ cited }) => cited.length > 0)).toEqual([]);
});

/** The log of changes speaks of files as they were. */
test.each(PAGES.filter((page) => page !== "CHANGELOG.md"))("what %s cites exists", (page) => {
  expect(wrongCitationsIn(page, prose(page))).toEqual([]);
});

describe("a citation is found out", () => {
  test.each([
    ["a page", " * The format is in docs/internals/formats.md.", "docs/internals/formats.md"],
    ["a page without its folder", "// as semantic.md says", "semantic.md"],
    ["a rule", " * (`docs/internals/semantics.md`, 3.19)", "docs/internals/semantics.md`, 3.19"],
    ["the last of a list", "// semantics.md, 2.3 – 2.55", "semantics.md, 2.3 – 2.55"],
    ["a section", " * (docs/internals/semantics.md,\n * 14)", "docs/internals/semantics.md, 14"],
    [
      "of a linked page",
      "([semantics](../internals/semantics.md), 2 and 99)",
      "semantics.md), 2 and 99",
    ],
    ["a title", '// protocol.md, "Watchers"', 'protocol.md, "Watchers"'],
    [
      "a title without its page",
      ' * again. ("Watching", "What\n * renews".)',
      '("Watching", "What renews".)',
    ],
    ["a decision", "// decisions 20 and 400", "decisions 20 and 400"],
    ["a rule of the core", " * rules 4 and 99", "rules 4 and 99"],
    ["one of the semantics, as of the core", "/** What rule 2.3 forbids. */", "rule 2.3"],
    ["what a seeded bug breaks", 'rule:\n      "8.55: a hold is adopted",', 'rule: "8.55: '],
    ["what a seeded bug of the core breaks", 'rule: "99: one change at a time",', 'rule: "99: '],
    ["a file", "See `src/raft/node.ts`, which is not there.", "`src/raft/node.ts`"],
    ["a file without its folder", " * (`raft-nodes.ts`)", "`raft-nodes.ts`"],
    ["a folder", "in `src/consensus/`", "`src/consensus/`"],
  ])("where it is wrong: %s", (_, text, cited) => {
    const wrong = wrongCitationsIn("docs/decisions/x.ts", text);
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toContain(cited);
  });

  test.each([
    "docs/protocol.md; semantics.md, 2.3 – 2.5; `docs/internals/semantics.md`, 3.2 and 8.",
    '(protocol.md, "Watching"), `src/raft/raft.ts`, `raft.ts`, decisions 5 and 20, consensus rules 4, 5, 7.',
    'rule: "8.5: a session …", rule: "4: a vote …"',
    'other people\'s: ("Testing for linearizability", 2017), (W3C, "Web Locks API", section 4)',
  ])("and passes where it is right: %s", (text) => {
    expect(wrongCitationsIn("src/x.ts", ` * ${text}`)).toEqual([]);
  });
});

describe("the rules of the semantics", () => {
  const rules = [...anchorsOf(SEMANTICS)].filter(isRule);

  test("are numbered in their order, each with its anchor", () => {
    let section = "";
    let last = 0;
    const expected = prose(SEMANTICS)
      .split("\n")
      .flatMap((line) => {
        const heading = /^## (\d+)\. /.exec(line)?.[1];
        if (heading !== undefined) [section, last] = [heading, 0];
        if (!/^\d+\. /.test(line)) return [];
        last += 1;
        expect(line).toMatch(new RegExp(`^${last}\\. <a id="${section}\\.${last}"></a>`));
        return [`${section}.${last}`];
      });
    expect(rules).toEqual(expected);
    expect(rules.length).toBeGreaterThan(60);
  });

  test("have a line each in the table of tests", () => {
    const links = linksOf("docs/internals/semantics-tests.md");
    const tested = new Set(Array.from(links, ({ anchor }) => anchor));
    expect(rules.filter((rule) => !tested.has(rule))).toEqual([]);
  });
});
