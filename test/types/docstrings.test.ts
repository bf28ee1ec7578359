/** Everything that the package's door lets out says what it is, where it is declared. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../../src");
const ROOMS = [
  "client",
  "client/options",
  "client/transport",
  "client/session",
  "client/session-lease",
  "client/calls",
  "client/locks",
  "client/leases",
  "client/reads",
  "client/admin",
  "client/web-locks",
  "protocol",
  "errors",
  ".",
];

/** Text of every file in which the SDK's exports may be declared. */
const texts = ROOMS.flatMap((room) => {
  const directory = join(SOURCES, room);
  const files = readdirSync(directory).filter((file) => file.endsWith(".ts"));
  return files.map((file) => readFileSync(join(directory, file), "utf8"));
});

function exportedNames(): string[] {
  const door = readFileSync(join(SOURCES, "index.ts"), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
  const lists = [...door.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = ""]) => list);
  return lists.flatMap((list) => {
    const names = list.split(",").map((name) => name.replace(/^\s*(?:type\s)?\s*/, "").trim());
    return names.filter((name) => name !== "");
  });
}

/** Where it is declared: whether a docstring stands right before it. */
function isDocumented(name: string): boolean | undefined {
  const declaration = new RegExp(
    `^export (?:async )?(?:interface|type|class|function|const) ${name}\\b`,
    "m",
  );
  for (const text of texts) {
    const at = text.search(declaration);
    if (at !== -1) return text.slice(0, at).trimEnd().endsWith("*/");
  }
  return undefined;
}

test("every export of the SDK is declared under a docstring", () => {
  const names = exportedNames();
  expect(names.length).toBeGreaterThan(70);
  expect(names.filter((name) => isDocumented(name) === undefined)).toEqual([]);
  expect(names.filter((name) => isDocumented(name) !== true)).toEqual([]);
});

/** Members whose meaning is not their name; the rest of an interface may be plain. */
const OPTIONS = /^export interface (\w*Options)\b[^{]*\{([\s\S]*?)^\}/gm;

test("every option says its meaning", () => {
  const bare: string[] = [];
  let count = 0;
  for (const text of texts) {
    for (const [, owner = "", body = ""] of text.matchAll(OPTIONS)) {
      if (!exportedNames().includes(owner)) continue;
      for (const { index, 1: name } of body.matchAll(/^ {2}(\w+)\?:/gm)) {
        count += 1;
        if (!body.slice(0, index).trimEnd().endsWith("*/")) bare.push(`${owner}.${name}`);
      }
    }
  }
  expect(count).toBeGreaterThan(40);
  expect(bare).toEqual([]);
});
