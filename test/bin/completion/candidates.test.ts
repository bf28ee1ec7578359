/** What `holdfast __complete` answers a shell: the words of a line, and what the last may become. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { candidateLines } from "../../../bin/completion/candidates.js";
import { COMMANDS } from "../../../bin/program/command-list.js";
import { buildProgram } from "../../../bin/program/program.js";
import { runCli } from "../../e2e/world/command-line.js";

const NAMES = COMMANDS.map(({ name }) => name);
const CONNECTION = ["--endpoints", "--connect-timeout"];
const EVERY = ["--config", "-h", "--help"];
const FILES = ["--local", "--ca", "--cert", "--cert-key", "--token-file"];
const MEMBER_ADD = [
  ...["--json", ...CONNECTION, "--promote", "--move", "--wait", ...FILES, ...EVERY],
];
const GET = ["--json", ...CONNECTION, ...FILES, ...EVERY];
const RUN = [
  ...["-w", "--wait", "-n", "--no-wait", "-s", "--shared", "--permits", "--limit", "--priority"],
  ...["--value", "--ttl", "--max-hold", "--min-hold", "--lock-delay", "--kill-grace", "-E"],
  ...[
    "--conflict-exit-code",
    "-q",
    "--quiet",
    "-c",
    "--command",
    ...CONNECTION,
    ...FILES,
    ...EVERY,
  ],
];

/** Words are separated by single blanks: a line that ends with one completes an empty word. */
async function answer(line: string): Promise<readonly string[]> {
  const { command, load } = buildProgram(() => undefined);
  return candidateLines(command, load, line.split(" ").slice(1));
}

/** Without descriptions. */
async function words(line: string): Promise<string[]> {
  const lines = await answer(line);
  expect(lines[0] ?? "words").toBe("words");
  return lines.slice(1).map((text) => text.split("\t")[0] ?? "");
}

function without(flags: readonly string[], ...given: readonly string[]): string[] {
  expect(flags).toEqual(expect.arrayContaining([...given]));
  return flags.filter((flag) => !given.includes(flag));
}

test.each<[line: string, expected: readonly string[]]>([
  ["holdfast ", [...NAMES, "help"]],
  ["holdfast se", [...NAMES, "help"]],
  ["holdfast --endpoints ws://a:1 session ", ["ls", "end"]],
  ["holdfast --endpoints=ws://a:1 session ", ["ls", "end"]],
  ["holdfast config ", ["print", "reference"]],
  ["holdfast help ", [...NAMES, "exit-codes"]],
  ["holdfast completion ", ["bash", "zsh", "fish"]],
  ["holdfast config print ", NAMES],
  ["holdfast config print --json ", NAMES],
])("%j: commands, and operands of which there are few", async (line, expected) => {
  expect(await words(line)).toEqual(expected);
});

test.each<[line: string, expected: readonly string[]]>([
  ["holdfast -", ["-V", "--version", "--endpoints", "--config", "-h", "--help"]],
  ["holdfast member add -", MEMBER_ADD],
  ["holdfast member add 4 a:1 --pro", MEMBER_ADD],
  ["holdfast settings get -", GET],
  ["holdfast run -", RUN],
  ["holdfast run key --va", RUN],
  ["holdfast completion --", EVERY],
])("%j: the flags of the command", async (line, expected) => {
  expect(await words(line)).toEqual(expected);
});

test.each<[line: string, expected: readonly string[]]>([
  ["holdfast member add --promote -", without(MEMBER_ADD, "--promote")],
  ["holdfast member add --wait 3s -", without(MEMBER_ADD, "--wait")],
  ["holdfast member add --wait=3s -", without(MEMBER_ADD, "--wait")],
  // A value may look like anything.
  ["holdfast member add --wait --move -", without(MEMBER_ADD, "--wait")],
  ["holdfast settings get --help -", without(GET, "-h", "--help")],
  ["holdfast run -s --", without(RUN, "-s", "--shared")],
  ["holdfast run -sq --", without(RUN, "-s", "--shared", "-q", "--quiet")],
  ["holdfast run -qE 3 --", without(RUN, "-q", "--quiet", "-E", "--conflict-exit-code")],
  ["holdfast run -qE3 --", without(RUN, "-q", "--quiet", "-E", "--conflict-exit-code")],
  // One may not be given with the other.
  ["holdfast run -n --", without(RUN, "-w", "--wait", "-n", "--no-wait")],
  ["holdfast run -w3s --", without(RUN, "-w", "--wait", "-n", "--no-wait")],
  // The value may be missing.
  ["holdfast run -c -s --", without(RUN, "-c", "--command", "-s", "--shared")],
  ["holdfast run -c line -s --", without(RUN, "-c", "--command", "-s", "--shared")],
  // The flag belongs to the program, not to the command.
  ["holdfast --config hf.json settings get --", GET],
  ["holdfast settings get --nonsense -z --", GET],
])("%j: no flag that was given", async (line, expected) => {
  expect(await words(line)).toEqual(expected);
});

test("a flag that may be repeated is offered again", async () => {
  const flags = await words("holdfast server --");
  expect(flags.length).toBeGreaterThan(20);
  const again = await words("holdfast server --allow-host a --allow-origin https://b --id 1 --");
  expect(again).toEqual(without(flags, "--id"));
});

test.each<[line: string, expected: readonly string[]]>([
  ["holdfast server --log-format ", ["words", "text", "json"]],
  ["holdfast server --log-format j", ["words", "text", "json"]],
  ["holdfast server --log-format=", ["words", "--log-format=text", "--log-format=json"]],
  ["holdfast server --log-format=j", ["words", "--log-format=text", "--log-format=json"]],
  ["holdfast config print server --log-format ", ["words", "text", "json"]],
  ["holdfast recover --data ", ["directories"]],
  ["holdfast recover --data=di", ["directories"]],
  ["holdfast --config ", ["files"]],
  ["holdfast status --config=", ["files"]],
  ["holdfast snapshot save ", ["files"]],
  ["holdfast snapshot save --config x fi", ["files"]],
  ["holdfast run --ttl ", []],
  ["holdfast run --value -", []],
  ["holdfast run --quiet=", []],
  ["holdfast run --nonsense=", []],
])("%j: what is its value", async (line, expected) => {
  expect(await answer(line)).toEqual(expected);
});

test.each<[line: string, expected: readonly string[]]>([
  ["holdfast run key -- ", ["command"]],
  ["holdfast run -n key -- ls --", ["command"]],
  ["holdfast elect name value -- tr", ["command"]],
  // This one is the value of a flag.
  ["holdfast member add --wait -- 4 -- --", []],
  ["holdfast completion -- ", ["words", "bash", "zsh", "fish"]],
  ["holdfast snapshot save -- -", ["files"]],
])("%j: what follows the dashes", async (line, expected) => {
  expect(await answer(line)).toEqual(expected);
});

test("of the command whose configuration is printed, and of the printing", async () => {
  const server = await words("holdfast server --");
  const printing = without(["--json", ...EVERY], ...EVERY);
  const both = [...server, ...printing];
  expect(await words("holdfast config print server --")).toEqual(both);
  expect(await words("holdfast config print server --id 1 --json --")).toEqual(
    without(both, "--id", "--json"),
  );
  expect(await words("holdfast config print nonsense --")).toEqual(["--json", ...EVERY]);
  expect(await words("holdfast config print server ")).toEqual([]);
});

test("every command and every flag that its help shows is offered, with what the help says", async () => {
  const program = buildProgram(() => undefined);
  await program.loadAll();
  const paths = [...program.command.commands].flatMap((command) => {
    return [[command], ...command.commands.map((below) => [command, below])];
  });
  expect(paths.length).toBeGreaterThan(35);
  for (const path of paths) {
    const line = ["holdfast", ...path.map((command) => command.name())].join(" ");
    const help = path.at(-1)?.helpInformation() ?? "";
    const shown = [...help.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm)];
    const flags = shown.flatMap(([, short, long]) => [short, long].filter(Boolean));
    expect([line, await words(`${line} -`)]).toEqual([line, flags]);
    expect([line, help]).toEqual([line, expect.not.stringContaining("__complete")]);
    if (path.at(-1)?.commands.length === 0) continue;
    const commands = [...help.matchAll(/^ {2}([a-z]+)(?: .*)? {2,}\S/gm)].map(([, name]) => name);
    expect([line, await words(`${line} `)]).toEqual([line, commands]);
  }
  expect(await answer("holdfast settings ")).toEqual([
    "words",
    "get\tshow the settings of the cluster",
    "set\tchange a setting of the cluster",
  ]);
  expect(await answer("holdfast member promote --w")).toContain(
    "--wait\thow long to wait until it has caught up",
  );
});

test("no line makes it fail", async () => {
  const word = fc.constantFrom(
    ...["config", "print", "server", "member", "add", "session", "end", "help", "snapshot", "save"],
    ...["--", "-", "--=", "--json", "--id", "--log-format=", "-w", "-hV", "-=", "", "4", "ä", "=x"],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 7 }), async (line) => {
      const { command, load } = buildProgram(() => undefined);
      const [wanted, ...candidates] = await candidateLines(command, load, line);
      if (wanted === "words") expect(candidates.length).toBeGreaterThan(0);
      else expect(candidates).toEqual([]);
      expect([undefined, "words", "files", "directories", "command"]).toContain(wanted);
    }),
    { numRuns: 300 },
  );
});

describe("the hidden command", () => {
  test("prints the answer", async () => {
    const { code, stdout, stderr } = await runCli(["__complete", "snapshot", "--help", "-"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe("words\n--config\ta JSON file with options\n");
  });

  test.each<[what: string, line: string, env: Record<string, string>]>([
    ["an unknown command", "nonsense ", {}],
    ["too many operands", "inspect a b ", {}],
    ["a name that cannot be one", `inspect ${"k".repeat(2_000)}`, {}],
    ["a cluster that is away", "inspect a", { HOLDFAST_ENDPOINTS: "ws://127.0.0.1:1" }],
    ["endpoints that are none", "inspect a", { HOLDFAST_ENDPOINTS: "ftp://nonsense" }],
    ["an unknown variable", "inspect a", { HOLDFAST_NONSENSE: "1" }],
    ["a file that is not there", "inspect a", { HOLDFAST_CONFIG: "/nonsense.json" }],
  ])("says nothing of %s", async (_what, line, env) => {
    const { code, stdout, stderr } = await runCli(["__complete", ...line.split(" ")], { env });
    expect([code, stdout, stderr]).toEqual([0, "", ""]);
  });

  test("tells what went wrong to those who look for it", async () => {
    const env = { HOLDFAST_DEBUG: "1", HOLDFAST_ENDPOINTS: "ftp://nonsense" };
    const { code, stdout, stderr } = await runCli(["__complete", "inspect", ""], { env });
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("HOLDFAST_ENDPOINTS=ftp://nonsense");
  });

  test("is in no help, and cannot be used as the name of a topic", async () => {
    const [help, asked] = await Promise.all([runCli(["--help"]), runCli(["help", "__complete"])]);
    expect(help.stdout).not.toContain("__complete");
    expect([asked.code, asked.stderr]).toEqual([
      2,
      "holdfast: unknown command '__complete'; see holdfast --help\n",
    ]);
  });
});
