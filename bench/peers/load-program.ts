/**
 * A program that makes the load of a peer whose best client is not one of Node.js: closed loops with
 * a witness, as in this process, which it reports line by line (`load-lines.ts`). It ends with this
 * process, and by itself after a time.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { endWithProcess } from "../../lab/end-with-process.js";
import { Histogram } from "../load/histogram.js";
import type { MeasuredLoad } from "../load/measured-load.js";
import { type ProgramAnswer, type ProgramReport, parseAnswer, startLines } from "./load-lines.js";
import type { PeerLoad } from "./peer-load.js";

export const CLOSED_LOOPS_ONLY = "its load program has closed loops only";
/** Longer than any measurement whose time is limited. */
const SECONDS_MAX = 90_000;
const ANSWER_MS_MAX = 60_000;
const GONE_MS_MAX = 5_000;
const LINES_MAX = 20;

export class LoadProgram implements MeasuredLoad {
  readonly acquireTimes = new Histogram();
  readonly acquireTimesByKind: MeasuredLoad["acquireTimesByKind"] = new Map();
  cycles = 0;
  errors: ReadonlyMap<string, number> = new Map();
  violations = { token: 0, overlap: 0, limit: 0, slot: 0 };
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #start: string;
  readonly #gone: Promise<unknown>;
  readonly #lastWords: string[] = [];
  /** The request that waits for its answer. */
  #waiting:
    | { resolve: (answer: ProgramAnswer) => void; reject: (error: Error) => void }
    | undefined;
  #failure: Error | undefined;

  /** Starts the process, which does nothing yet. `addresses`: of the servers. */
  constructor(command: readonly string[], addresses: readonly string[], load: PeerLoad) {
    const [file = "", ...words] = command;
    this.#start = startLines(addresses, load, SECONDS_MAX);
    // In a session of its own: Ctrl-C is for this process, which then ends it.
    this.#child = spawn(file, words, { stdio: ["pipe", "pipe", "pipe"], detached: true });
    endWithProcess(this.#child);
    this.#child.stdin.on("error", () => undefined);
    this.#child.on("error", (error) => this.#fail(error));
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(line));
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#lastWords.push(line);
      if (this.#lastWords.length > LINES_MAX) this.#lastWords.shift();
    });
    this.#gone = once(this.#child, "close").then(
      () => this.#fail(new Error(`the load program ended\n${this.#lastWords.join("\n")}`)),
      () => undefined,
    );
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when its workers run. */
  async begin(): Promise<void> {
    await this.#ask(this.#start);
  }

  async reset(): Promise<void> {
    await this.#ask("reset\n");
  }

  async collect(): Promise<void> {
    const answer = await this.#ask("report\n");
    if (answer.event !== "report") throw new Error(`the load program answered ${answer.event}`);
    this.#adopt(answer);
  }

  async stop(): Promise<void> {
    this.#child.stdin.end("stop\n");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), GONE_MS_MAX);
    await this.#gone;
    clearTimeout(timer);
  }

  #adopt({ cycles, acquires, maxMicros, errors, violations }: ProgramReport): void {
    this.cycles = cycles;
    this.errors = new Map(Object.entries(errors));
    this.violations = { ...this.violations, ...violations };
    this.acquireTimes.clear();
    // The pairs are bounds of the same buckets as here, of which the largest value has its own.
    for (const [micros, count] of acquires) {
      this.acquireTimes.record(Math.min(micros, maxMicros) / 1_000, count);
    }
  }

  async #ask(lines: string): Promise<ProgramAnswer> {
    const answered = new Promise<ProgramAnswer>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    if (this.#failure !== undefined) throw this.#failure;
    const timer = setTimeout(() => {
      this.#fail(new Error(`the load program did not answer in ${ANSWER_MS_MAX / 1_000} s`));
    }, ANSWER_MS_MAX);
    try {
      this.#child.stdin.write(lines);
      return await answered;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(line: string): void {
    try {
      const answer = parseAnswer(line);
      if (answer.event === "failed") throw new Error(`the load program failed: ${answer.message}`);
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(answer);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }
}
