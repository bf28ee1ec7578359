/** What is not UTF-8 reaches a command as it was given, or is refused. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { Failure } from "../../../bin/exit/failure.js";
import { carried, type GivenWords, requireText } from "../../../bin/run/raw-words.js";

const LATIN = Buffer.from("caf\xe9 'x'\n\n", "latin1");
const unknown: GivenWords = { words: undefined, variables: undefined };

function exitCodeOf(work: () => unknown): number | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.exitCode;
    throw error;
  }
}

test("an argument in other bytes reaches the command unchanged, between others", () => {
  const argv = ["printf", "%s|", "größe \ufffd", LATIN.toString(), ""];
  const words = argv.map((word, at) => (at === 3 ? LATIN : Buffer.from(word)));
  const given = { words: [Buffer.from("node"), ...words], variables: [] };
  const [file = "", ...rest] = carried({ argv, environment: {} }, given);
  const { stdout } = spawnSync(file, rest);
  const expected = [Buffer.from("größe \ufffd|"), LATIN, Buffer.from("||")];
  expect(stdout.toString("latin1")).toBe(Buffer.concat(expected).toString("latin1"));
});

test("a variable in other bytes reaches the command unchanged, and so do odd names", () => {
  const raw = Buffer.concat([Buffer.from("PLACE="), LATIN]);
  const environment = { PATH: process.env["PATH"], PLACE: LATIN.toString(), "odd.name": "1" };
  const given = { words: [], variables: [Buffer.from("PLAIN=1"), raw] };
  const [file = "", ...rest] = carried({ argv: ["env", "-0"], environment }, given);
  const lines = spawnSync(file, rest, { env: environment }).stdout.toString("latin1").split("\0");
  expect(lines).toContain(raw.toString("latin1"));
  expect(lines).toContain("odd.name=1");
});

test("no variable with an odd name is lost, though only an argument is in other bytes", () => {
  const environment = { PATH: process.env["PATH"], "odd.name": "a\ufffdb" };
  const bytes = Buffer.from("caf\xe9=1", "latin1");
  const argv = ["env", bytes.toString(), "env", "-0"];
  const words = [Buffer.from("env"), bytes, Buffer.from("env"), Buffer.from("-0")];
  const [file = "", ...rest] = carried({ argv, environment }, { words, variables: [] });
  const lines = spawnSync(file, rest, { env: environment }).stdout.toString().split("\0");
  expect(lines).toContain("odd.name=a\ufffdb");
});

test("a variable that the command gets with another value is not put back", () => {
  const raw = Buffer.concat([Buffer.from("HOLDFAST_KEY="), LATIN]);
  const wanted = { argv: ["true"], environment: { HOLDFAST_KEY: "inner" } };
  expect(carried(wanted, { words: [], variables: [raw] })).toEqual(["true"]);
});

test("what is UTF-8 is started as it is", () => {
  const argv = ["echo", "größe \ufffd"];
  const words = argv.map((word) => Buffer.from(word));
  expect(carried({ argv, environment: {} }, { words, variables: [] })).toEqual(argv);
});

test("where the system does not show its bytes, a suspicious argument is refused: 2", () => {
  const wanted = { argv: ["cat", "caf\ufffd"], environment: {} };
  expect(exitCodeOf(() => carried(wanted, unknown))).toBe(2);
});

test("a key in other bytes is refused, and words after -- are not looked at: 2", () => {
  const typed = ["run", "caf\ufffd", "--", "cat", "caf\ufffd"];
  const latin = Buffer.from("caf\xe9", "latin1");
  const words = [Buffer.from("run"), latin, Buffer.from("--"), Buffer.from("cat"), latin];
  expect(exitCodeOf(() => requireText(typed, () => ({ ...unknown, words })))).toBe(2);
  const fine = ["run", "k", "--", "cat", "caf\ufffd"];
  expect(exitCodeOf(() => requireText(fine, () => unknown))).toBeUndefined();
  const literal = typed.slice(0, 2);
  const asText = { ...unknown, words: literal.map((word) => Buffer.from(word)) };
  expect(exitCodeOf(() => requireText(literal, () => asText))).toBeUndefined();
});
