/**
 * Replays every file under `transcripts` against the core and compares the result to the letter.
 * `UPDATE_TRANSCRIPTS=1` writes the effects again, except in CI and where a replay breaks; then the
 * difference shows what a rule decides, and must be read.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { replay } from "./cluster/transcript/transcript.js";

const FOLDER = "test/raft/transcripts";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RULES_DOCUMENT = `${ROOT}/docs/internals/raft-rules.md`;
const COMMAND = "UPDATE_TRANSCRIPTS=1 npx vitest run test/raft/transcripts.test.ts";

const isUpdate = process.env["UPDATE_TRANSCRIPTS"] === "1" && process.env["CI"] === undefined;
const names = readdirSync(`${ROOT}/${FOLDER}`, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".txt"))
  .sort();

/** The comment that a transcript begins with. */
function headingOf(text: string): string {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("# "));
  return lines
    .slice(0, end)
    .map((line) => line.slice(2))
    .join(" ");
}

/** The rules that a heading names, as in "Rules 23 and 24". */
function rulesOf(heading: string): string[] {
  const lists = heading.match(/\brules? \d+(?:(?:, | and )\d+)*/gi) ?? [];
  return lists.flatMap((list) => list.match(/\d+/g) ?? []);
}

/** The transcripts of the document, each under the number of its rule; "" where it has none. */
function listed(): { readonly rule: string; readonly name: string }[] {
  let rule = "";
  return readFileSync(RULES_DOCUMENT, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, first, last] = /^\| (.*?) ?\|.* `(.+)` \|$/.exec(line) ?? [];
      if (first === undefined || last === undefined) return [];
      if (first !== "") rule = /^(\d+)\./.exec(first)?.[1] ?? "";
      return last.startsWith(`${FOLDER}/`) ? [{ rule, name: last.slice(FOLDER.length + 1) }] : [];
    });
}

describe("a transcript is what the core does", () => {
  it.each(names)("%s", (name) => {
    const path = `${ROOT}/${FOLDER}/${name}`;
    const text = readFileSync(path, "utf8");
    const { text: replayed, error } = replay(text);
    if (isUpdate && error === undefined) writeFileSync(path, replayed);
    else expect(replayed, `${name}; if it is to be so: ${COMMAND}`).toBe(text);
  });
});

describe("the table of rules", () => {
  it("names every transcript and no other", () => {
    expect([...new Set(listed().map(({ name }) => name))].sort()).toEqual(names);
  });

  it.each(names)("has %s under the rules that it begins with", (name) => {
    const heading = headingOf(readFileSync(`${ROOT}/${FOLDER}/${name}`, "utf8"));
    expect(heading).not.toBe("");
    const rules = rulesOf(heading);
    const rows = listed().filter((row) => row.name === name);
    expect(rows.map(({ rule }) => rule)).toEqual(rules.length === 0 ? [""] : rules);
  });
});

describe("a replay", () => {
  it("writes effects again and keeps every other line", () => {
    const start = ["# Why.", "new-cluster 1 voter, timeouts 100", "", "start"];
    const effects = ["  1 is candidate of term 1", "  1 write 1: term 1, vote 1"];
    const told = replay([...start, "  1 is leader of term 7", "# It stands.", ""].join("\n"));
    expect(told.text).toBe([...start, ...effects, "# It stands.", ""].join("\n"));
    expect(told.error).toBeUndefined();
  });

  it.each([
    ["is not a command", ["start", "explode 1"]],
    ["delivers what was not sent", ["start", "deliver 1->2"]],
    ["waits for a write that was not made", ["start", "durable 1 2"]],
    ["asks a node that is down", ["propose 1"]],
  ])("ends with an error where a line %s", (_, commands) => {
    const lines = ["new-cluster 2 voters, timeouts 100 150", ...commands];
    expect(replay(lines.join("\n")).error).toBeInstanceOf(Error);
  });
});
