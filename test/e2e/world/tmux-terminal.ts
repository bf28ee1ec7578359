/**
 * A real terminal for a test: a shell in `tmux`, on a server of its own that ends with the test. It is
 * typed into and read from; waits are bounded.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findTool } from "../../../bin/run/find-executable.js";
import { bareEnvironment } from "./command-line.js";
import { until } from "./process-life.js";

export const TMUX = findTool("tmux");
const run = promisify(execFile);

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export class TmuxTerminal implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "holdfast-tmux-"));
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = { ...bareEnvironment(), LC_ALL: "C.UTF-8", ...env };
  }

  async start({ columns, rows }: TerminalSize): Promise<void> {
    const size = ["-x", String(columns), "-y", String(rows)];
    await this.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "exec sh");
    // What is typed does not contain it.
    await this.line("PS1='rea''dy> '");
    await this.shows("ready>");
  }

  /** Each word is a name that tmux knows (`Enter`, `C-c`), or text that is typed as it is. */
  async type(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async line(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
    await this.type("Enter");
  }

  async resize({ columns, rows }: TerminalSize): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** What is on the screen, line by line. */
  async screen(): Promise<string[]> {
    const { stdout } = await this.#tmux("capture-pane", "-p");
    return stdout.split("\n").map((line) => line.trimEnd());
  }

  /** Whether a program has taken the whole screen. */
  async isAlternate(): Promise<boolean> {
    const { stdout } = await this.#tmux("display-message", "-p", "#{alternate_on}");
    return stdout.trim() === "1";
  }

  /** What the terminal is set to, as `stty -a` says. */
  async isCursorShown(): Promise<boolean> {
    const { stdout } = await this.#tmux("display-message", "-p", "#{cursor_flag}");
    return stdout.trim() === "1";
  }

  /** Resolves to the screen once it shows `text`. */
  async shows(text: string | RegExp): Promise<string[]> {
    let lines: string[] = [];
    const isShown = async (): Promise<boolean> => {
      lines = await this.screen();
      const all = lines.join("\n");
      return typeof text === "string" ? all.includes(text) : text.test(all);
    };
    await until(`${text} on the screen`, isShown).catch((error: unknown) => {
      throw new Error(`not on the screen: ${text}\n${lines.join("\n")}`, { cause: error });
    });
    return lines;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => undefined);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #tmux(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
    return run(TMUX ?? "", ["-S", join(this.#directory, "s"), ...args], { env: this.#env });
  }
}
