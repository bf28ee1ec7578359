/**
 * Citations, in comments and in documents, and whether what they cite exists. They have these forms:
 *
 *     docs/protocol.md             a page, by its path or by its name alone
 *     semantics.md, 2.3 – 2.5      its rules, by number; "semantics.md, 3" is a whole section
 *     protocol.md, "Watching"      a section by its title; a title in parentheses names its page
 *     decision 20                  a record in docs/decisions
 *     rule 4, consensus rule 20    a rule of docs/internals/raft-rules.md
 *     rule: "8.5: a session …"     of a seeded bug: of the semantics; without a point, of the core
 *     `src/raft/raft.ts`           a file or a folder, by its path or by its name alone
 *
 * Whether a page is right in what it says of what it cites, no test can know.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ROOT } from "./document-project.js";
import { anchorsOf, filesBelow, headingsOf, PAGES, read } from "./pages.js";

const SOURCE_FOLDERS = [
  "src",
  "bin",
  "dashboard",
  "bench",
  "jepsen-lite",
  "lab",
  "scripts",
  "test",
  "examples",
];
export const SOURCES = SOURCE_FOLDERS.flatMap((folder) => filesBelow(folder, ".ts"));

/** The next line of a comment goes on with the sentence. */
const LINE_BREAK = /\s*\n[ \t]*(?:\*|\/\/)?[ \t]*/g;
const NUMBERS = String.raw`\d+(?:\.\d+)?(?:(?: – |, | and | to )\d+(?:\.\d+)?)*(?![\w.]*\w)`;
const TITLES = `"[A-Z][^"]*"(?:, "[A-Z][^"]*")*`;
/** What may stand between the name of a page and the comma: the end of a code span or of a link. */
const PAGE_END = String.raw`\.md(?:#[\w.-]+)?[\`\])]*`;

const PAGE = /(?<![\w./*-])((?:\.\.\/)*\w[\w./-]*\.md)\b/g;
const RULES_OF_PAGE = new RegExp(`([\\w./-]*\\w)${PAGE_END}, (${NUMBERS})`, "g");
const TITLES_OF_PAGE = new RegExp(`([\\w./-]*\\w)${PAGE_END}, (${TITLES})`, "g");
const LONE_TITLES = new RegExp(String.raw`(?<=\s)\(${TITLES}\.?\)`, "g");
const DECISIONS = new RegExp(String.raw`\bdecisions? (${NUMBERS})`, "gi");
const CORE_RULES = new RegExp(String.raw`\brules? (${NUMBERS})`, "gi");
const BROKEN_RULE = /\brule: "(\d+(?:\.\d+)?): /g;
const SOURCE_PATH = new RegExp(`\`((?:${SOURCE_FOLDERS.join("|")})/[\\w./-]*)\``, "g");
const SOURCE_NAME = /`(?:[\w-]+\/)*([\w-]+\.ts)`/g;

const sourceNames = new Set(SOURCES.map((path) => basename(path)));
const coreRules = new Set(
  Array.from(read("docs/internals/raft-rules.md").matchAll(/^\| (\d+)\. /gm), ([, n = ""]) => n),
);
const decisions = new Set(
  PAGES.filter((page) => dirname(page) === "docs/decisions").map((page) =>
    String(Number(basename(page).slice(0, 4))),
  ),
);

/** What the file cites and what does not exist, as it is cited. */
export function wrongCitationsIn(file: string, source: string): string[] {
  const text = source.replaceAll(LINE_BREAK, " ");
  const wrong: string[] = [];
  const check = (pattern: RegExp, isThere: (...groups: string[]) => boolean): void => {
    for (const [cited, ...groups] of text.matchAll(pattern)) {
      if (!isThere(...groups)) wrong.push(cited);
    }
  };
  const among = (known: ReadonlySet<string>) => (list: string) =>
    numbersIn(list).every((n) => known.has(n));
  check(PAGE, (name) => pageOf(name, file) !== undefined);
  check(RULES_OF_PAGE, (name, list) =>
    numbersIn(list).every((n) => hasRule(`${name}.md`, n, file)),
  );
  check(TITLES_OF_PAGE, (name, list) => {
    const page = pageOf(`${name}.md`, file);
    return page !== undefined && titlesIn(list).every((title) => headingsOf(page).includes(title));
  });
  // In a document it is a quotation.
  if (!file.endsWith(".md")) check(LONE_TITLES, () => false);
  check(DECISIONS, among(decisions));
  check(CORE_RULES, among(coreRules));
  check(BROKEN_RULE, (n) =>
    n.includes(".") ? hasRule("semantics.md", n, file) : coreRules.has(n),
  );
  check(SOURCE_PATH, (path) => existsSync(join(ROOT, path)));
  check(SOURCE_NAME, (name) => sourceNames.has(name));
  return wrong;
}

/** The page of that name: a path from the root or from the folder of the file, or a name alone. */
function pageOf(name: string, file: string): string | undefined {
  const places = [name, join(dirname(file), name)];
  const byName = PAGES.filter((page) => basename(page) === name);
  return (
    PAGES.find((page) => places.includes(page)) ?? (byName.length === 1 ? byName[0] : undefined)
  );
}

/** A number with a point is an anchor; one without is a section whose title begins with it. */
function hasRule(name: string, number: string, file: string): boolean {
  const page = pageOf(name, file);
  if (page === undefined) return false;
  if (number.includes(".")) return anchorsOf(page).has(number);
  return headingsOf(page).some((title) => title.startsWith(`${number}. `));
}

function numbersIn(list: string): string[] {
  return list.match(/\d+(?:\.\d+)?/g) ?? [];
}

function titlesIn(list: string): string[] {
  return Array.from(list.matchAll(/"([^"]*)"/g), ([, title = ""]) => title);
}
