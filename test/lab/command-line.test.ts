import { Option } from "commander";
import { expect, test } from "vitest";
import {
  addNames,
  commandLine,
  findNamed,
  nonEmpty,
  numberFrom,
  oneOf,
  readCommandLine,
  wholeFrom,
  words,
} from "../../lab/command-line.js";

function sample() {
  return commandLine("npm run sample --")
    .argument("[file]")
    .option("-c, --count <n>", "how many", wholeFrom(1, 1_000_000), 3)
    .option("--minutes <m>", "how long", numberFrom(0.5))
    .option("--how <how>", "in which way", oneOf(["each", "all"]), "each")
    .option("--names <names>", "which of them", words)
    .option("--out <file>", "where to", nonEmpty)
    .addOption(new Option("--quick", "in a hurry").conflicts("minutes"));
}

function read(...argv: string[]) {
  const got = readCommandLine(sample(), argv);
  if (typeof got === "string") throw new Error(got);
  return got;
}

test("values are read as what they are, and what is left out has its default", () => {
  expect(read()).toEqual({ flags: { count: 3, how: "each" }, words: [] });
  const argv = ["-c", "1e3", "a.json", "--minutes=.5", "--how", "all", "--names", "a,b"];
  expect(read(...argv, "--names=c,", "--out=x")).toEqual({
    flags: { count: 1_000, minutes: 0.5, how: "all", names: ["a", "b", "c"], out: "x" },
    words: ["a.json"],
  });
});

test.each([
  [["--coutn", "3"], "unknown option '--coutn' (Did you mean --count?)"],
  [["--nothing-like-it"], "unknown option '--nothing-like-it'"],
  [["--count"], "option '-c, --count <n>' argument missing"],
  [["--count", "many"], "--count many: a whole number from 1 to 1000000 is needed"],
  [["-c", "0"], "--count 0: a whole number from 1 to 1000000 is needed"],
  [["--count", "-3"], "--count -3: a whole number from 1 to 1000000 is needed"],
  [["--count", "1.5"], "--count 1.5: a whole number from 1 to 1000000 is needed"],
  [["--count", ""], "--count : a whole number from 1 to 1000000 is needed"],
  [["--minutes", "0.4"], "--minutes 0.4: a number of 0.5 or more is needed"],
  [["--minutes", "Infinity"], "--minutes Infinity: a number of 0.5 or more is needed"],
  [["--minutes", "1e999"], "--minutes 1e999: a number of 0.5 or more is needed"],
  [["--how", "al"], "--how al: one of each, all is needed"],
  [["--out", "--quick"], "--out --quick: a value is needed"],
  [["--out", ""], "--out : a value is needed"],
  [["--names", ","], "--names ,: a value is needed"],
  [["--names", "--out"], "--names --out: a value is needed"],
  [["--names", "it's\nodd", "x", "y"], "unexpected argument 'y'"],
  [["--quick", "--minutes", "3"], "option '--quick' cannot be used with option '--minutes <m>'"],
])("%j is refused in one line", (argv, message) => {
  expect(() => read(...argv)).toThrow(expect.objectContaining({ name: "UsageError", message }));
});

test("help fits into 80 columns and shows ranges, defaults and names", () => {
  const about = "what is said at such a length that it has to go on in the next line of the list";
  const help = readCommandLine(addNames(sample(), "Things:", [{ name: "one", about }]), ["-h"]);
  expect(help).toBe(`Usage: npm run sample -- [options] [file]

Options:
  -c, --count <n>  how many (1 to 1000000; default: 3)
  --minutes <m>    how long (0.5 or more)
  --how <how>      in which way (each, all; default: "each")
  --names <names>  which of them
  --out <file>     where to
  --quick          in a hurry
  -h, --help       show help

Things:
  one              what is said at such a length that it has to go on in the
                   next line of the list
`);
});

test("an unknown name is refused with the one that was probably meant", () => {
  const all = ["mutex", "semaphore", "partition"].map((name) => ({ name }));
  expect(findNamed("thing", "mutex", all)).toBe(all[0]);
  const there = "there are mutex, semaphore, partition";
  const refusal = (name: string) => {
    try {
      return findNamed("thing", name, all).name;
    } catch (error) {
      return String(error);
    }
  };
  expect(refusal("mutx")).toBe(
    `UsageError: unknown thing "mutx" (did you mean "mutex"?): ${there}`,
  );
  expect(refusal("partitoin")).toContain('(did you mean "partition"?)');
  expect(refusal("sema")).toContain('(did you mean "semaphore"?)');
  expect(refusal("lease")).toBe(`UsageError: unknown thing "lease": ${there}`);
  expect(refusal("")).toBe(`UsageError: unknown thing "": ${there}`);
});
