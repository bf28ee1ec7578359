/**
 * `holdfast redis check FILE.lua …`: says beforehand whether the Redis port of a node serves lock
 * scripts, by the understanding of the port itself. It contacts no cluster and runs nothing.
 */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { checkScript, type ScriptCheck } from "../../../src/doors/index.js";
import { printable } from "../../../src/text/index.js";
import { examplesText, jsonOption } from "../../config/command-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import { print, printJson } from "../../output/terminal.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast redis check unlock.lua", "one script of a lock client"],
  ["holdfast redis check node_modules/some-lock/lua/*.lua", "all of them"],
];

const NOTES = `
For each file it says what the script does to a key that is free, held by the
value of the call, and held by another, or why it is refused. Which arguments
are values and which are times is guessed. A client can be used only if its
release and its extension are served as well as its take.

Exit code 0 if all are served, 5 if one is refused, 1 if a file cannot be read.
With --json each line is one file:
  {"file":"unlock.lua","sha1":"3f8a…","clients":["redsync"],"isServed":true,
   "reason":null,"states":[{"state":"held by the caller","does":"releases",
   "reason":null}]}
state: free, held by the caller, held by another. does: takes, extends,
releases, changes nothing, is refused.`;

/** Larger than any text that a node reads. */
const FILE_BYTES_MAX = 1 << 20;

export function defineRedis(command: Command, finish: Finish): void {
  command
    .helpCommand(false)
    .usage("<command> [options]")
    .addHelpText("before", examplesText(EXAMPLES.slice(0, 1)))
    .command("check")
    .description("say whether the Redis port serves lock scripts")
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("<file...>", "files of one Lua script each")
    .addOption(jsonOption("print one JSON document for each file"))
    .addHelpText("after", NOTES)
    .action(async (files: readonly string[], { json }: { json?: boolean }) => {
      const exitCodes: number[] = [];
      for (const file of files) {
        const check = checkScript(await textOf(file));
        exitCodes.push(check.isServed ? EXIT.done : EXIT.refused);
        if (json === true) printJson({ file, ...check, ...plain(check) });
        else for (const line of linesOf(file, check)) print(line);
      }
      finish(Math.max(...exitCodes));
    });
}

async function textOf(file: string): Promise<Buffer> {
  try {
    const text = await readFile(file);
    if (text.length <= FILE_BYTES_MAX) return text;
  } catch (error) {
    const why = systemCodeOf(error) ?? String(error);
    throw new Failure(EXIT.failed, `${printable(file)} cannot be read: ${why}`);
  }
  throw new Failure(EXIT.failed, `${printable(file)} is larger than any script`);
}

/** What is absent is null. */
function plain({ reason, states }: ScriptCheck): Record<string, unknown> {
  return {
    reason: reason ?? null,
    states: states.map((state) => ({ ...state, reason: state.reason ?? null })),
  };
}

function linesOf(file: string, { clients, isServed, reason, states }: ScriptCheck): string[] {
  const known = clients.length === 0 ? "" : ` (${clients.join(", ")})`;
  const verdict = isServed ? "served" : `refused: ${printable(reason ?? "")}`;
  return [
    `${printable(file)}: ${verdict}${known}`,
    ...states.map(({ state, does, reason: why }) => {
      const because = why === undefined ? "" : `: ${printable(why)}`;
      return `  ${state}: ${does}${because}`;
    }),
  ];
}
