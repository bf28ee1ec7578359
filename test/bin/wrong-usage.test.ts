/** The answer to a wrong command line: what was probably meant, and where to read more. */
import { expect, test } from "vitest";
import { COMMANDS } from "../../bin/program/command-list.js";
import { runCli } from "../e2e/world/command-line.js";

test("wrong usage is one line that ends with where to read what would be right", async () => {
  const wrong: readonly (readonly [string, string])[] = [
    ["lockk", "unknown command 'lockk' (Did you mean run?); see holdfast --help"],
    ["statsu", "unknown command 'statsu' (Did you mean status?); see holdfast --help"],
    ["help statsu", "unknown command 'statsu' (Did you mean status?); see holdfast --help"],
    ["help nope", "unknown command 'nope'; see holdfast --help"],
    ["help node", "unknown command 'node' (Did you mean server?); see holdfast --help"],
    ["help rnu", "unknown command 'rnu' (Did you mean run?); see holdfast --help"],
    ["xyzzy --all", "unknown command 'xyzzy'; see holdfast --help"],
    ["--zzz", "unknown option '--zzz'; see holdfast --help"],
    ["ls --zzz", "unknown option '--zzz'; see holdfast ls --help"],
    ["ls --jsn", "unknown option '--jsn' (Did you mean --json?); see holdfast ls --help"],
    ["run --zzz k -- true", "unknown option '--zzz'; see holdfast run --help"],
    [
      "member promot 4",
      "unknown command 'promot' (Did you mean promote?); see holdfast member --help",
    ],
    ["member add 4 --zzz", "unknown option '--zzz'; see holdfast member add --help"],
    ["run -n -w 3s k -- true", "--wait and --no-wait exclude each other; see holdfast run --help"],
    [
      "elect --wait 3s --no-wait k",
      "--wait and --no-wait exclude each other; see holdfast elect --help",
    ],
    [
      "lease take a --ttl 30d",
      "option '--ttl <duration>' argument '30d' is invalid. A duration of 1ms to 7d is required; see holdfast lease take --help",
    ],
    [
      "member promote --no-wait --wait 3s 4",
      "--wait and --no-wait exclude each other; see holdfast member promote --help",
    ],
    [
      "member add 4 foo",
      '"foo" is not an address at which the other nodes can reach this one: ' +
        "such an address looks like db-4:7511 or [fd00::4]:7511; see holdfast member add --help",
    ],
    [
      "session end x",
      "<id> cannot be 'x'. A whole number from 1 to 9007199254740991 is required; " +
        "see holdfast session end --help",
    ],
    ["inspect", "missing required argument 'key'; see holdfast inspect --help"],
    ["config print run --zzz", "unknown option '--zzz'; see holdfast run --help"],
  ];
  const results = await Promise.all(wrong.map(([line]) => runCli(line.split(" "))));
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(
    wrong.map(([, said]) => [2, `holdfast: ${said}\n`]),
  );
});

test("no other word for a command is a command's name, or a word for two of them", () => {
  const words = COMMANDS.flatMap(({ name, otherWords = [] }) => [name, ...otherWords]);
  expect(words.filter((word, index) => words.indexOf(word) < index)).toEqual([]);
});
