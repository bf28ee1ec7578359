/**
 * `holdfast run` with a terminal as its standard input: the command stays in the terminal's job,
 * reads from it and is interrupted by it, and what is sent to the run reaches all of the command and
 * nobody else of the job. The terminal is made by `script` of util-linux.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTool } from "../../../../bin/run/find-executable.js";
import { endWithProcess } from "../../../../lab/end-with-process.js";
import { ClusterScene } from "../../world/cluster-scene.js";
import { bareEnvironment, COMMAND } from "../../world/command-line.js";
import { gone, isRunning } from "../../world/process-life.js";

const SCRIPT = process.platform === "linux" ? findTool("script") : undefined;
/** Ends a loop only if its command died by SIGINT. */
const BASH = findTool("bash");
if (SCRIPT === undefined) {
  console.warn(
    "\n*** script of util-linux is not installed: runs on a terminal are NOT tested ***\n",
  );
}
/** What Ctrl-C is to a terminal. */
const INTERRUPT = "\u0003";

describe.runIf(SCRIPT !== undefined)("on a terminal", () => {
  const scene = new ClusterScene({ nodes: 1 });
  beforeAll(() => scene.start());
  afterAll(() => scene.stop());

  /** A line for a shell whose terminal is written to and read by the test. */
  class Terminal {
    readonly #child: ChildProcess;
    #shown = "";

    constructor(line: string) {
      this.#child = spawn(SCRIPT ?? "", ["-q", "-e", "-c", line, "/dev/null"], {
        env: {
          ...bareEnvironment(),
          SHELL: "/bin/sh",
          NODE: process.execPath,
          HOLDFAST: COMMAND,
          HOLDFAST_ENDPOINTS: scene.endpoints.join(","),
        },
        stdio: ["pipe", "pipe", "inherit"],
      });
      endWithProcess(this.#child);
      this.#child.stdout?.on("data", (chunk: Buffer) => {
        this.#shown += chunk.toString();
        this.#child.emit("shown");
      });
    }

    type(text: string): void {
      this.#child.stdin?.write(text);
    }

    /** The numbers after `word`, once they are shown. */
    async numbers(word: string): Promise<number[]> {
      const line = new RegExp(`${word}((?: \\d+)+)\\r`);
      for (;;) {
        const found = line.exec(this.#shown)?.[1];
        if (found !== undefined) return found.trim().split(" ").map(Number);
        await once(this.#child, "shown");
      }
    }

    /** How often `text` was shown when it ended, and its exit code. */
    async end(text: string): Promise<{ readonly code: number; readonly times: number }> {
      const [code] = (await once(this.#child, "close")) as [number];
      return { code, times: this.#shown.split(text).length - 1 };
    }
  }

  /** Within a line: a run of `key` whose command is `command`, in single quotes. */
  const runOf = (key: string, command: string) =>
    `"$NODE" "$HOLDFAST" run ${key} -- sh -c '${command}'`;

  test("a lease that is waited for is said to be held, and by whom", async () => {
    const lock = await scene.client.acquire("leased");
    const terminal = new Terminal('"$NODE" "$HOLDFAST" lease take leased -w 3s');
    const held = `waiting for leased: place 1 of 1, held by session ${scene.client.session}`;
    expect(await terminal.end(held)).toEqual({ code: 124, times: 1 });
    await lock.release();
  });

  test("the command reads from it, and its exit code passes through", async () => {
    const terminal = new Terminal(runOf("reads", "echo in 1; read word; echo got $word; exit 7"));
    await terminal.numbers("in");
    terminal.type("hello\n");
    expect(await terminal.end("got hello\r\n")).toEqual({ code: 7, times: 1 });
  });

  test("Ctrl-C reaches the command once, which decides what becomes of it", async () => {
    const line = 'trap "echo told 1" INT; echo in 1; until read word; do :; done; exit 7';
    // The shell around it would be interrupted as well.
    const terminal = new Terminal(`exec ${runOf("interrupted", line)}`);
    await terminal.numbers("in");
    terminal.type(INTERRUPT);
    await terminal.numbers("told");
    terminal.type("enough\n");
    expect(await terminal.end("told 1\r\n")).toEqual({ code: 7, times: 1 });
  });

  test.runIf(BASH !== undefined)(
    "Ctrl-C ends the script around it, as it does with other commands",
    async () => {
      const run = "$NODE $HOLDFAST run looped -- sh -c 'echo in 1; exec sleep 600'";
      const loop = `for round in 1 2 3; do ${run}; done; echo went on`;
      const terminal = new Terminal(`exec ${BASH} -c "${loop.replaceAll("$", "\\$")}"`);
      await terminal.numbers("in");
      terminal.type(INTERRUPT);
      expect(await terminal.end("in 1\r\n")).toEqual({ code: 130, times: 1 });
      expect(await scene.client.inspect("looped")).toMatchObject({ holds: [], waiters: [] });
    },
  );

  test("SIGINT to a run in the background is not the terminal's, and reaches the command", async () => {
    const line = 'trap "echo told 1; exit 7" INT; echo in $PPID; while :; do sleep 0.02; done';
    const terminal = new Terminal(`set -m; ${runOf("behind", line)} & wait $!; exit $?`);
    const [run = 0] = await terminal.numbers("in");
    process.kill(run, "SIGINT");
    expect(await terminal.end("told 1\r\n")).toEqual({ code: 7, times: 1 });
  });

  test("SIGTERM to the run ends the command with all it started, and nobody else of the job", async () => {
    const grandchild = 'sh -c "echo in $PPID \\$\\$; exec sleep 600" & wait';
    const line = `sleep 600 & echo bystander $!; ${runOf("ended", grandchild)}; echo ended $?; wait`;
    const terminal = new Terminal(line);
    const [bystander = 0] = await terminal.numbers("bystander");
    const [run = 0, deep = 0] = await terminal.numbers("in");
    process.kill(run, "SIGTERM");
    expect(await terminal.numbers("ended")).toEqual([143]);
    await gone([deep]);
    expect(await scene.client.inspect("ended")).toMatchObject({ holds: [], waiters: [] });
    expect(isRunning(bystander)).toBe(true);
    process.kill(bystander, "SIGKILL");
    await terminal.end("");
  });
});
