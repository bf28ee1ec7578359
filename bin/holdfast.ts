#!/usr/bin/env node
/**
 * The `holdfast` command: finds the subcommand, loads its file and nothing else, and turns whatever
 * comes back into an exit code. Commands resolve to their exit code or throw; only this file ends
 * the process, after what was written has left it.
 */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { endpointsOption, examplesText } from "./command-options.js";
import { EXIT, exitCodesText } from "./exit-codes.js";
import { exitNow, guardProcess } from "./last-resort.js";
import { guardOutput, outputFailure, reportFailure } from "./terminal.js";

/** Defines options and action of a subcommand. The action calls `finish` with its exit code. */
export type DefineCommand = (command: Command, finish: (exitCode: number) => void) => void;

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<DefineCommand>;
}

const COMMANDS: readonly CommandEntry[] = [
  {
    name: "cluster",
    summary: "start a local cluster of real processes",
    load: async () => (await import("./commands/cluster.js")).defineCluster,
  },
  {
    name: "server",
    summary: "start one node",
    load: async () => (await import("./commands/server.js")).defineServer,
  },
  {
    name: "run",
    summary: "run a command while holding a lock",
    load: async () => (await import("./commands/run.js")).defineRun,
  },
  {
    name: "status",
    summary: "show the nodes of the cluster",
    load: async () => (await import("./commands/status.js")).defineStatus,
  },
  {
    name: "member",
    summary: "show, add, promote, demote and remove nodes of the cluster",
    load: async () => (await import("./commands/member.js")).defineMember,
  },
  {
    name: "transfer",
    summary: "hand leadership to another node",
    load: async () => (await import("./commands/transfer.js")).defineTransfer,
  },
  {
    name: "settings",
    summary: "show and change the settings of the whole cluster",
    load: async () => (await import("./commands/settings.js")).defineSettings,
  },
  {
    name: "recover",
    summary: "bring back a node whose data are damaged or lost",
    load: async () => (await import("./commands/recover.js")).defineRecover,
  },
  {
    name: "inspect",
    summary: "show who holds a lock and who waits for it",
    load: async () => (await import("./commands/inspect.js")).defineInspect,
  },
  {
    name: "ls",
    summary: "list the locks in use",
    load: async () => (await import("./commands/ls.js")).defineLs,
  },
];

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast cluster", "start three nodes on this machine"],
  ["holdfast run deploy -- ./deploy.sh", "run a script while holding the lock deploy"],
  ["holdfast run -n nightly -- ./job", "do not wait if another holds it"],
  ["holdfast inspect deploy", "who holds it, who waits"],
  ["holdfast status", "the nodes and their leader"],
];

async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.done;
  const finish = (code: number): void => {
    exitCode = code;
  };
  const program = buildProgram(finish);
  try {
    if (argv.length === 0) {
      program.outputHelp();
      return EXIT.done;
    }
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has written its line (or the help that was asked for) by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return reportFailure(error);
  }
}

function buildProgram(finish: (exitCode: number) => void): Command {
  const program = new Command("holdfast");
  program
    .description("A lock service: leases, fair queues and fencing tokens.")
    .usage("<command> [options]")
    .version(readVersion(), "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    .addOption(endpointsOption())
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      // One line, suggestions included.
      outputError: (text, write) =>
        write(
          `holdfast: ${text
            .replace(/^error: /, "")
            .trimEnd()
            .replaceAll("\n", " ")}\n`,
        ),
    })
    .addHelpText("before", examplesText(EXAMPLES))
    .addHelpText("after", "\nExit codes: holdfast help exit-codes");
  const loaders = new Map<Command, CommandEntry>();
  for (const entry of COMMANDS) {
    loaders.set(program.command(entry.name).description(entry.summary), entry);
  }
  defineHelp(program);
  program.hook("preSubcommand", async (_program, command) => {
    const entry = loaders.get(command);
    if (entry !== undefined) (await entry.load())(command, finish);
  });
  return program;
}

function defineHelp(program: Command): void {
  program
    .command("help")
    .description("show help for a command, or the table of exit codes")
    .argument("[topic...]", "a command, or exit-codes")
    .action(async (topic: readonly string[]) => {
      const [name] = topic;
      if (name === undefined) program.outputHelp();
      else if (name === "exit-codes") process.stdout.write(`${exitCodesText()}\n`);
      else await program.parseAsync(helpArguments(program, topic), { from: "user" });
    });
}

/** Without `--help` an unknown command is an error, with a suggestion. */
function helpArguments(program: Command, topic: readonly string[]): string[] {
  const isKnown = program.commands.some((command) => command.name() === topic[0]);
  return isKnown ? [...topic, "--help"] : [...topic];
}

/** The nearest package.json above this file is ours, built or not. */
function readVersion(): string {
  for (const path of ["../package.json", "../../package.json"]) {
    const parsed = readPackage(new URL(path, import.meta.url));
    if (parsed !== undefined) return parsed;
  }
  return "unknown";
}

function readPackage(url: URL): string | undefined {
  let text: string;
  try {
    text = readFileSync(url, "utf8");
  } catch {
    return undefined;
  }
  const parsed: { name?: unknown; version?: unknown } = JSON.parse(text);
  return parsed.name === "holdfast" ? String(parsed.version) : undefined;
}

/** What was written must have left first: an exit does not wait for a pipe that is slow. */
async function writtenExitCode(exitCode: number): Promise<number> {
  await Promise.all([process.stdout, process.stderr].map(written));
  const failure = outputFailure();
  return failure === undefined || exitCode !== EXIT.done ? exitCode : reportFailure(failure);
}

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (!stream.writable) resolve();
    else stream.write("", () => resolve());
  });
}

guardOutput();
guardProcess();
exitNow(await writtenExitCode(await main(process.argv.slice(2))));
