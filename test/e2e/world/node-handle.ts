/**
 * One node of a test's cluster: a real `holdfast server` process that the test may kill, pause and
 * start again on its data. It ends with the process of the test, whatever ends that.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { NodeStatus } from "../../../src/client/types.js";
import { COMMAND } from "./command-line.js";
import { endWithTest } from "./end-with-test.js";

const ANSWER_MS_MAX = 20_000;
const STOP_MS_MAX = 10_000;
const STATUS_MS_MAX = 1_000;
const POLL_INTERVAL_MS = 20;
const STDERR_CHARACTERS_MAX = 1 << 20;

export interface NodeProgram {
  /** Another file to run. Default: the build's. */
  readonly command?: string;
  /** Added to the environment of the tests; looked at with every start. */
  readonly env?: () => NodeJS.ProcessEnv;
}

export class NodeHandle {
  readonly id: number;
  readonly endpoint: string;
  readonly #program: NodeProgram;
  readonly #arguments: readonly string[];
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #stderr = "";

  constructor(
    id: number,
    endpoint: string,
    serverArguments: readonly string[],
    program: NodeProgram = {},
  ) {
    this.id = id;
    this.endpoint = endpoint;
    this.#arguments = serverArguments;
    this.#program = program;
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.isRunning ? (this.#child?.pid ?? 0) : 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Of the process that ran last; `null` while it runs, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<unknown> {
    return this.#exited;
  }

  /** Everything this node wrote to standard error, over all its lives; the last megabyte of it. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Starts the process; resolves when it answers. */
  async start(): Promise<void> {
    if (this.isRunning) throw new Error(`node ${this.id} runs already`);
    const { command = COMMAND, env } = this.#program;
    const child = spawn(process.execPath, [command, "server", ...this.#arguments], {
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...process.env, ...env?.() },
    });
    this.#child = child;
    endWithTest(child);
    this.#exited = once(child, "exit");
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS_MAX);
    });
    await this.#answer();
  }

  /** Sends the signal (default SIGKILL) and resolves when the process is gone. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (!this.isRunning) return;
    this.#child?.kill(signal);
    // A paused process would keep every other signal for later.
    if (signal !== "SIGKILL") this.#child?.kill("SIGCONT");
    await this.#exited;
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Stops it in good order if it runs, and starts it on the same data and ports. */
  async restart(): Promise<void> {
    await this.kill("SIGTERM");
    await this.start();
  }

  /** An orderly stop, forced when it takes too long. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill("SIGKILL"), STOP_MS_MAX);
    await this.kill("SIGTERM");
    clearTimeout(timer);
  }

  /** What it says about itself, or `undefined` when it does not answer. */
  async status(): Promise<NodeStatus | undefined> {
    const url = `${this.endpoint.replace(/^ws/, "http")}/status`;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(STATUS_MS_MAX) });
      return response.ok ? ((await response.json()) as NodeStatus) : undefined;
    } catch {
      // Not there, paused, or just being started: that is the answer.
      return undefined;
    }
  }

  async #answer(): Promise<void> {
    const deadlineMs = performance.now() + ANSWER_MS_MAX;
    while ((await this.status()) === undefined) {
      if (!this.isRunning) throw new Error(`node ${this.id} ended:\n${this.#stderr}`);
      if (performance.now() > deadlineMs) {
        throw new Error(`node ${this.id} does not answer:\n${this.#stderr}`);
      }
      await delay(POLL_INTERVAL_MS);
    }
  }
}
