import { expect, test } from "vitest";
import { UsageError } from "../../lab/command-line.js";
import { readFuzzOptions } from "./engine/fuzz-options.js";

const TARGETS = [
  { name: "frames", about: "what comes in frames" },
  { name: "files", about: "what lies in files" },
];
const read = (...argv: readonly string[]) => readFuzzOptions(argv, TARGETS);

test("without flags all targets are run for two minutes", () => {
  expect(read()).toEqual({
    ...{ targets: ["frames", "files"], minutes: 2, seed: 1, jobs: 1, countsCoverage: true },
    ...{ folder: "coverage/fuzz", inputFile: undefined, isJson: false },
  });
});

test("flags say which, how long and how", () => {
  const argv = ["files", "--minutes", ".5", "--seed", "7", "--jobs", "2", "--blind", "--json"];
  expect(read(...argv)).toMatchObject({
    ...{ targets: ["files"], minutes: 0.5, seed: 7, jobs: 2, countsCoverage: false, isJson: true },
  });
});

test("help names the targets", () => {
  expect(read("--help")).toMatch(/Targets:\s+frames +what comes in frames/);
});

test.each([
  [["fils"], /unknown target "fils" \(did you mean "files"\?\)/],
  [["--input", "a.hex"], /--input needs the name of one target/],
  [["--minutes", "0"], /--minutes 0: a number/],
])("%j is refused with what is wrong", (argv, message) => {
  expect(() => read(...argv)).toThrow(message);
  expect(() => read(...argv)).toThrow(UsageError);
});
