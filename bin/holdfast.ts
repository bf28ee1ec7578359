#!/usr/bin/env node
/**
 * The `holdfast` command: finds the subcommand, loads only its file, and turns its result into an
 * ending. Commands resolve to their exit code or a signal, or throw; this file then ends the process, after all
 * output was written. Only a stop that is forced ends it elsewhere, also by `exitNow`.
 *
 * - `program`: the list of commands, and help
 * - `commands`: one file for each command, in folders by the groups of the help
 * - `access`: the subcommands of `access`
 * - `run`: what `run` and `elect` do with their command, and requests to stop
 * - `cluster`: what commands ask of any cluster
 * - `local-cluster`: the processes of `holdfast cluster`
 * - `tour`: what the page of a local cluster can do to it
 * - `views`: keys, members, snapshots and certificates as text
 * - `top`: the screen of `holdfast top`
 * - `completion`: what a shell offers after Tab
 * - `bench`: the load of `holdfast bench`
 * - `config`: options from flags, environment and file, all from one table
 * - `output`: the terminal, tables, logs and files
 * - `text`: addresses, times and sizes as they are read and shown
 * - `exit`: failures and exit codes
 */
import { CommanderError } from "commander";
import type { Ending } from "./exit/ending.js";
import { EXIT } from "./exit/exit-codes.js";
import { guardOutput, outputFailure, reportFailure } from "./output/terminal.js";
import { exitNow, guardProcess } from "./output/unplanned-exit.js";
import { buildProgram } from "./program/program.js";
import { givenWords, requireText } from "./run/raw-words.js";

/** What the scripts of `holdfast completion` call; commander must not read the words after it. */
const COMPLETE = "__complete";

async function main(argv: readonly string[]): Promise<Ending> {
  let ending: Ending = EXIT.done;
  const { command, load } = buildProgram((of) => {
    ending = of;
  });
  try {
    if (argv.length === 0) {
      command.outputHelp();
      return EXIT.done;
    }
    if (argv[0] === COMPLETE) {
      const { printCandidates } = await import("./completion/candidates.js");
      return await printCandidates(command, load, argv.slice(1));
    }
    requireText(argv, givenWords);
    await command.parseAsync(argv, { from: "user" });
    return ending;
  } catch (error) {
    // Commander has already written its line, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return reportFailure(error);
  }
}

/** All output must be written first: an exit does not wait for a slow pipe. */
async function writtenEnding(ending: Ending): Promise<Ending> {
  await Promise.all([process.stdout, process.stderr].map(written));
  const failure = outputFailure();
  return failure === undefined || ending !== EXIT.done ? ending : reportFailure(failure);
}

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (!stream.writable) resolve();
    else stream.write("", () => resolve());
  });
}

guardOutput();
guardProcess();
exitNow(await writtenEnding(await main(process.argv.slice(2))));
