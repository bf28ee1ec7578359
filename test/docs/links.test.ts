/** Links between documents: each leads somewhere, and every page for users can be found. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./document-project.js";

const CODE = /^```[\s\S]*?^```$/gm;
const LINK = /\]\(([^)\s]+)\)/g;

const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

function prose(page: string): string {
  return readFileSync(join(ROOT, page), "utf8").replaceAll(CODE, "");
}

/** As it is made of a heading by the places where such pages are read. */
function anchorsOf(page: string): Set<string> {
  const headings = prose(page).matchAll(/^#+ (.*)$/gm);
  const anchors = Array.from(headings, ([, text = ""]) => {
    return text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-");
  });
  return new Set(anchors);
}

function* linksOf(page: string): Generator<{ file: string; anchor: string }> {
  for (const [, target = ""] of prose(page).matchAll(LINK)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path = "", anchor = ""] = target.split("#");
    yield { file: path === "" ? page : normalize(join(dirname(page), path)), anchor };
  }
}

describe("a link in the documents", () => {
  test.each(pages)("of %s leads to a file, and to a heading where it names one", (page) => {
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
    expect(pages.filter((page) => page.startsWith("docs/") && !isFound(page))).toEqual([]);
  });
});
