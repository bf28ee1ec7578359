/** Links between documents: each leads somewhere, and every page for users can be found. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./document-project.js";
import { anchorsOf, headingsOf, linksOf, PAGES, slugOf } from "./pages.js";

describe("a link in the documents", () => {
  test.each(PAGES)("of %s leads to a file, and to an anchor where it names one", (page) => {
    const dead: string[] = [];
    for (const { file, anchor } of linksOf(page)) {
      if (!existsSync(join(ROOT, file))) dead.push(file);
      else if (anchor !== "" && !anchorsOf(file).has(anchor)) dead.push(`${file}#${anchor}`);
    }
    expect(dead).toEqual([]);
  });

  test("leads from docs/README.md to every page of docs, or to its folder", () => {
    const targets = new Set(Array.from(linksOf("docs/README.md"), ({ file }) => file));
    const isFound = (page: string): boolean => {
      return targets.has(page) || targets.has(dirname(page)) || page === "docs/README.md";
    };
    expect(PAGES.filter((page) => page.startsWith("docs/") && !isFound(page))).toEqual([]);
  });
});

describe("a decision", () => {
  const decisions = PAGES.filter((page) => page.startsWith("docs/decisions/")).sort();

  test.each(decisions)("has its number and title in its name: %s", (page) => {
    const [number = "", title = ""] = (headingsOf(page)[0] ?? "").split(/\. (.*)/);
    expect(basename(page)).toBe(`${number.padStart(4, "0")}-${slugOf(title)}.md`);
  });

  test("has the number after the number of the one before", () => {
    const numbers = decisions.map((page) => Number(basename(page).slice(0, 4)));
    expect(numbers).toEqual(decisions.map((_, at) => at + 1));
  });
});
