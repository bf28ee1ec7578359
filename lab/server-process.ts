/**
 * A server process that is started, killed, stopped, paused and started again. It must not outlive
 * this process, however this one ends: its standard input is a pipe that then breaks (`holdfast
 * server --stop-on-stdin-end`), and this process kills it if it can still do so when it exits.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { endWithProcess } from "./end-with-process.js";

const LAST_WORDS_MAX = 20;

export interface ServerProgram {
  /** The name in errors. */
  readonly name: string;
  readonly command: readonly string[];
  /** The environment, read at every start; by default this process's. */
  readonly env?: () => NodeJS.ProcessEnv;
  /** Whether it gets a session of its own, which Ctrl-C does not reach. */
  readonly isDetached?: boolean;
}

export interface ServerEvents {
  onLine?(line: string, from: "stdout" | "stderr"): void;
  /** Called at its exit. `isWanted` is true if this process ended it. */
  onExit?(isWanted: boolean): void;
}

export interface Patience {
  readonly msMax: number;
  readonly intervalMs: number;
  readonly signal?: AbortSignal | undefined;
}

export class ServerProcess {
  readonly #program: ServerProgram;
  readonly #events: ServerEvents;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  #isPaused = false;
  #words: string[] = [];

  constructor(program: ServerProgram, events: ServerEvents = {}) {
    this.#program = program;
    this.#events = events;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The id of the process, or of the last one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The exit code of the last process; `null` while it runs, or if a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<unknown> {
    return this.#exited;
  }

  /** The last lines of the current process, or of the last one. */
  get lastWords(): string {
    return this.#words.join("\n");
  }

  /** Starts the process, without waiting for it to answer. */
  start(): void {
    const { name, command, env, isDetached = false } = this.#program;
    if (this.isRunning) throw new Error(`${name} runs already`);
    const [file = "", ...words] = command;
    const child = spawn(file, words, { detached: isDetached, stdio: "pipe", env: env?.() });
    this.#child = child;
    this.#isEnding = false;
    this.#isPaused = false;
    this.#words = [];
    endWithProcess(child);
    child.on("error", (error) => this.#words.push(error.message));
    child.stdin.on("error", () => undefined);
    for (const from of ["stdout", "stderr"] as const) {
      createInterface(child[from]).on("line", (line) => this.#keep(line, from));
    }
    this.#exited = once(child, "close").then(() => {
      this.#events.onExit?.(this.#isEnding);
    });
  }

  /**
   * Resolves when `isAnswering` returns true; rejects if the process ends first, or takes too long.
   */
  async answers(
    isAnswering: () => Promise<boolean>,
    { msMax, intervalMs, signal }: Patience,
  ): Promise<void> {
    const { name } = this.#program;
    const deadlineMs = performance.now() + msMax;
    while (!(await isAnswering())) {
      signal?.throwIfAborted();
      if (!this.isRunning) throw new Error(`${name} ended before it answered\n${this.lastWords}`);
      if (performance.now() > deadlineMs) {
        throw new Error(`${name} does not answer after ${msMax} ms\n${this.lastWords}`);
      }
      await delay(intervalMs, undefined, { signal });
    }
  }

  /** Sends a signal that should end the process. */
  signal(name: NodeJS.Signals): void {
    if (!this.isRunning) return;
    this.#isEnding = true;
    this.#child?.kill(name);
    // A paused process gets every signal except SIGKILL only after it is resumed.
    this.resume();
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal);
    await this.#exited;
  }

  /** Asks the process to stop, and kills it after `msMax`. Resolves to false if it was killed. */
  stop(msMax: number): Promise<boolean> {
    this.signal("SIGTERM");
    return this.gone(msMax);
  }

  /**
   * Resolves when the process is gone; kills it after `msMax`. Resolves to false if it was killed.
   */
  async gone(msMax: number): Promise<boolean> {
    let isKilled = false;
    const timer = setTimeout(() => {
      isKilled = true;
      this.signal("SIGKILL");
    }, msMax);
    await this.#exited;
    clearTimeout(timer);
    return !isKilled;
  }

  pause(): void {
    if (!this.isRunning) return;
    this.#isPaused = true;
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#child?.kill("SIGCONT");
  }

  #keep(line: string, from: "stdout" | "stderr"): void {
    this.#words.push(line);
    if (this.#words.length > LAST_WORDS_MAX) this.#words.shift();
    this.#events.onLine?.(line, from);
  }
}
