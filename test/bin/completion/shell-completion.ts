/**
 * Asks real shells, without a person, what they would complete. bash runs the function with the
 * words that readline would give it, fish has a command for it, and zsh runs on a terminal of its
 * own and reports what it offered.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findTool } from "../../../bin/run/find-executable.js";
import { COMMAND } from "../../e2e/world/command-line.js";

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;
/** What readline breaks words at, besides blanks, as bash has it by default. */
const WORD_BREAKS = /([=:])/;

export type Shell = "bash" | "zsh" | "fish";

/** The path of the shell; says so loudly when it is not installed. */
export function installed(shell: Shell): string | undefined {
  const path = findTool(shell);
  if (path === undefined) {
    console.warn(`\n*** ${shell} is not installed: its completion is NOT tested here ***\n`);
  }
  return path;
}

export class CompletionBench implements AsyncDisposable {
  readonly #directory: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(directory: string, endpoints: string) {
    this.#directory = directory;
    this.#environment = {
      ...process.env,
      PATH: `${directory}:${process.env["PATH"]}`,
      HOME: directory,
      ZDOTDIR: directory,
      TERM: "dumb",
      HOLDFAST_ENDPOINTS: endpoints,
    };
  }

  /** With `holdfast` in the path; `endpoints` is where it asks for names of locks. */
  static async create(endpoints: string): Promise<CompletionBench> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-completion-"));
    const command = `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`;
    await writeFile(join(directory, "holdfast"), command, { mode: 0o755 });
    await mkdir(join(directory, "data-n1"));
    await writeFile(join(directory, "data.json"), "{}");
    return new CompletionBench(directory, endpoints);
  }

  /** What `shell` offers for `line`, with the cursor at its end; sorted. */
  async offered(shell: Shell, line: string): Promise<string[]> {
    const text = await this.#ask(shell, await this.#script(shell), line);
    const offers = text.split("\n").filter((offer) => offer !== "");
    return [...new Set(offers.map((offer) => plain(offer)))].sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Printed once, as somebody would who saves it. */
  async #script(shell: Shell): Promise<string> {
    const path = join(this.#directory, `completion.${shell}`);
    if (!existsSync(path)) {
      const { stdout } = await run(process.execPath, [COMMAND, "completion", shell]);
      await writeFile(path, stdout);
    }
    return path;
  }

  #ask(shell: Shell, script: string, line: string): Promise<string> {
    switch (shell) {
      case "bash":
        return this.#shell("bash", [
          "--norc",
          "--noprofile",
          "-c",
          BASH,
          "bash",
          script,
          line,
          ...bashWords(line),
        ]);
      case "fish":
        return this.#shell("fish", [
          "-N",
          "-c",
          'source $argv[1]; complete -C "$argv[2]"',
          script,
          line,
        ]);
      case "zsh":
        return this.#askZsh(script, line);
    }
  }

  async #askZsh(script: string, line: string): Promise<string> {
    const offers = join(this.#directory, "offers");
    await writeFile(offers, "");
    await writeFile(join(this.#directory, "inner.zsh"), ZSH_INNER);
    await this.#shell("zsh", ["-f", "-c", ZSH_OUTER, "zsh", this.#directory, script, offers, line]);
    return readFile(offers, "utf8");
  }

  async #shell(shell: Shell, args: readonly string[]): Promise<string> {
    const options = { env: this.#environment, cwd: this.#directory, timeout: TIMEOUT_MS };
    const { stdout, stderr } = await run(shell, args, options);
    if (stderr !== "") throw new Error(`${shell} wrote to somebody who types: ${stderr}`);
    return stdout;
  }
}

/** Without what fish says of it, the blank of zsh, and the slash that some put behind directories. */
function plain(offer: string): string {
  return (offer.split("\t")[0] ?? "").trimEnd().replace(/\/$/, "");
}

/** As readline splits: blanks separate that no backslash keeps, `=` and `:` are words of their own. */
function bashWords(line: string): string[] {
  return line.split(/(?<!\\)\s+/).flatMap((word) => {
    return word === "" ? [""] : word.split(WORD_BREAKS).filter((part) => part !== "");
  });
}

const BASH = `
set -u
source "$1"
COMP_LINE=$2
COMP_POINT=\${#COMP_LINE}
COMP_WORDS=("\${@:3}")
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_holdfast
for reply in \${COMPREPLY[@]+"\${COMPREPLY[@]}"}; do echo "$reply"; done`;

/** Runs on the terminal: whatever is offered is written to a file. */
const ZSH_INNER = `
PS1='' PS2='' RPS1=''
unsetopt beep zle_bracketed_paste 2>/dev/null
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
source $COMPLETION_SCRIPT
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a offers
  builtin compadd -A offers "$@"
  print -rl -- $offers >>$COMPLETION_OFFERS
  builtin compadd "$@"
}
told() { print -r >$COMPLETION_OFFERS.done }
zle -N told
bindkey '^X' told
bindkey '^I' complete-word
print -r >$COMPLETION_OFFERS.ready
`;

const ZSH_OUTER = `
zmodload zsh/zpty
export COMPLETION_SCRIPT=$2 COMPLETION_OFFERS=$3
wait_for() { local -i i; for ((i = 0; i < 1000; i++)); do [[ -e $1 ]] && return; sleep 0.02; done; exit 9 }
rm -f $3.ready $3.done
zpty shell "zsh -f -i"
zpty -w shell "source $1/inner.zsh"
wait_for $3.ready
zpty -w -n shell "$4"$'\\t\\x18'
wait_for $3.done
zpty -d shell`;
