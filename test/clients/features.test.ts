/** The matrix of features in `docs/reference/http-clients.md` says of each client what its driver plays. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { FEATURES, type Feature } from "./features.js";
import { LANGUAGES } from "./languages.js";
import { CLIENTS, readTranscripts } from "./transcript.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(`${ROOT}docs/reference/http-clients.md`, "utf8");
const TRANSCRIPTS = readTranscripts();
/** The clients in a column, by their names in `LANGUAGES`. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  Python: ["python", "python-asyncio"],
  Go: ["go"],
  PHP: ["php"],
  Java: ["java"],
  shell: ["shell"],
};

/** The cells of the matrix, by the title of the row and of the column. */
function matrix(): Map<string, Map<string, string>> {
  const [, part = ""] = PAGE.split("## What each of them can do\n");
  const [head = [], _, ...rows] = part
    .split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim())) ?? [[]];
  return new Map(
    rows.map(([title = "", ...cells]) => {
      return [title, new Map(cells.map((cell, at) => [head[at + 1] ?? "", cell]))];
    }),
  );
}

function plays(language: string, { transcripts, only }: Feature): boolean {
  const played = transcripts.map((name) => {
    const transcript = TRANSCRIPTS.find((each) => each.name === name);
    if (transcript === undefined) throw new Error(`there is no transcript ${name}`);
    return transcript.not?.includes(language) !== true;
  });
  return (only === undefined || only === language) && played.length > 0 && !played.includes(false);
}

const rows = matrix();

test("the matrix has the features that the tests know, and its columns", () => {
  expect([...rows.keys()]).toEqual(FEATURES.map(({ title }) => title));
  for (const row of rows.values())
    expect([...row.keys()]).toEqual(["SDK", ...Object.keys(COLUMNS)]);
});

test("every client has its column", () => {
  expect(Object.values(COLUMNS).flat()).toEqual(
    expect.arrayContaining(LANGUAGES.map(({ name }) => name)),
  );
});

test.each(FEATURES)("the matrix says who has: $title", (feature) => {
  const row = rows.get(feature.title);
  const isYes = (column: string): boolean => row?.get(column)?.startsWith("yes") === true;
  expect(isYes("SDK")).toBe(feature.sdk !== undefined);
  for (const [column, names] of Object.entries(COLUMNS)) {
    const tested = names.filter((name) => LANGUAGES.some((language) => language.name === name));
    // What a client without a driver has, no test can hold.
    if (tested.length === 0) continue;
    const wanted = names.filter((name) => feature.only === undefined || name === feature.only);
    const hasIt = wanted.length > 0 && wanted.every((name) => plays(name, feature));
    expect(isYes(column), column).toBe(hasIt);
  }
});

test("the versions of the clients are the version of the server", () => {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    version: string;
  };
  const read = (path: string, pattern: RegExp): string | undefined => {
    return pattern.exec(readFileSync(`${CLIENTS}${path}`, "utf8"))?.[1];
  };
  expect({
    python: read("python/holdfast/__init__.py", /^__version__ = "(.+)"$/m),
    go: read("go/holdfast/client.go", /^const Version = "(.+)"$/m),
  }).toEqual({ python: version, go: version });
});
