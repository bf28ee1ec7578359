/**
 * `holdfast completion SHELL`: prints the script by which a shell completes commands, flags, files
 * and the names of locks in use. It asks `holdfast __complete` for them.
 */
import { Argument, type Command } from "commander";
import { SHIMS } from "../../completion/shims.js";
import { examplesText } from "../../config/command-options.js";
import { print } from "../../output/terminal.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["source <(holdfast completion bash)", "in ~/.bashrc"],
  ["source <(holdfast completion zsh)", "in ~/.zshrc, after compinit"],
  ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "once"],
];

const NOTES = `
While you complete a name of a lock, the cluster of HOLDFAST_ENDPOINTS is asked
for names, for half a second at most. The words after "--" are completed as a
command of their own. The script asks "holdfast" for everything else too, so a
saved script need not be renewed with a new version.`;

export function defineCompletion(command: Command): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHIMS)))
    .addHelpText("after", NOTES)
    .action((shell: keyof typeof SHIMS) => {
      print(SHIMS[shell]);
    });
}
