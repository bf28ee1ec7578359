/**
 * The pages of the repository as the tests of links and citations see them: their text without
 * code, their headings, and the anchors that a link may name. Reads files and judges nothing.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "./document-project.js";

const CODE = /^```[\s\S]*?^```$/gm;
const LINK = /\]\(([^)\s]+)\)/g;
const HEADING = /^#+ (.*)$/gm;
const ANCHOR = /<a id="([^"]+)"><\/a>/g;

export const PAGES: readonly string[] = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "bench/README.md",
  "jepsen-lite/README.md",
  ...filesBelow("clients", ".md"),
  ...filesBelow("docs", ".md"),
];

/** Files below a folder whose names end so, relative to the root of the repository; no packages. */
export function filesBelow(folder: string, end: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end) && !name.includes("node_modules/"))
    .map((name) => join(folder, name));
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** A page without its blocks of code. */
export function prose(page: string): string {
  return read(page).replaceAll(CODE, "");
}

export function headingsOf(page: string): string[] {
  return Array.from(prose(page).matchAll(HEADING), ([, text = ""]) => text);
}

/** The anchor of a heading or of the title of a decision, as GitHub makes it. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

export function anchorsOf(page: string): Set<string> {
  const named = Array.from(prose(page).matchAll(ANCHOR), ([, id = ""]) => id);
  return new Set([...headingsOf(page).map(slugOf), ...named]);
}

export function* linksOf(page: string): Generator<{ file: string; anchor: string }> {
  for (const [, target = ""] of prose(page).matchAll(LINK)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path = "", anchor = ""] = target.split("#");
    yield { file: path === "" ? page : normalize(join(dirname(page), path)), anchor };
  }
}
