/**
 * `holdfast completion SHELL`: prints the script by which a shell completes commands, flags, files
 * and the names of locks in use. Made from the definitions of the commands, for this version.
 */
import { Argument, type Command } from "commander";
import { type CompletedCommand, completionModel } from "../completion/model.js";
import { examplesText } from "../config/command-options.js";
import { EXIT } from "../output/exit-codes.js";
import { print } from "../output/terminal.js";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["source <(holdfast completion bash)", "in ~/.bashrc"],
  ["source <(holdfast completion zsh)", "in ~/.zshrc, behind compinit"],
  ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "once"],
];

const NOTES = `
Names of locks are asked of the cluster of HOLDFAST_ENDPOINTS while you
complete, for half a second at most. What follows "--" is completed as the
command that it is.`;

export function defineCompletion(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", NOTES)
    .action(async (shell: Shell) => {
      print((await scriptFor(shell)).trimEnd());
      finish(EXIT.done);
    });
}

async function scriptFor(shell: Shell): Promise<string> {
  const { buildProgram } = await import("../program/program.js");
  const program = buildProgram(() => undefined);
  await program.loadAll();
  const write = await writerFor(shell);
  return write(completionModel(program.command));
}

async function writerFor(shell: Shell): Promise<(program: CompletedCommand) => string> {
  switch (shell) {
    case "bash":
      return (await import("../completion/bash.js")).bashCompletion;
    case "zsh":
      return (await import("../completion/zsh.js")).zshCompletion;
    case "fish":
      return (await import("../completion/fish.js")).fishCompletion;
  }
}
