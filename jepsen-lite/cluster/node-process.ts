/**
 * One node under attack: a real server process that is killed, stopped, restarted and damaged. What
 * it says goes to a file; lines about its role are told to the harness. Its standard input ends with
 * the harness, whatever ends that: Holdfast's servers end with it, and where the system can be asked
 * for it (`parent-death.ts`) every server does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const ANSWER_MS_MAX = 30_000;
const STOP_MS_MAX = 15_000;
const POLL_INTERVAL_MS = 25;
const LAST_WORDS_MAX = 10;

export interface NodePlan {
  readonly id: number;
  readonly dataDirectory: string;
  readonly logFile: string;
  /** Where the harness talks to it, behind every proxy. */
  readonly endpoint: string;
  /** Words before the command. */
  readonly prefix: readonly string[];
  readonly command: readonly string[];
  /** Asks the server itself; `undefined` when it does not answer. */
  readonly status: () => Promise<NodeStatus | undefined>;
}

export interface NodeStatus {
  readonly id: number;
  /** `leader` or something else. */
  readonly role: string;
  /** Whom it follows, itself included. */
  readonly leader?: number | undefined;
  readonly term: number;
}

export type NodeState = "up" | "down" | "paused";

export interface NodeEvents {
  /** A line of its log. */
  onLog(id: number, event: string, fields: Readonly<Record<string, unknown>>): void;
  onState(id: number, state: NodeState): void;
  /** It ended although nobody had wanted it to. */
  onDeath(id: number, words: string): void;
}

export class NodeProcess {
  readonly plan: NodePlan;
  readonly #events: NodeEvents;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  #isPaused = false;
  #isKeptDown = false;
  #isClosed = false;
  #words: string[] = [];

  constructor(plan: NodePlan, events: NodeEvents) {
    this.plan = plan;
    this.#events = events;
  }

  get id(): number {
    return this.plan.id;
  }

  /** Of the process, or of the last one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Starts the process unless it runs or is kept down. It does not answer yet. */
  start(): void {
    if (this.isRunning || this.#isKeptDown) return;
    const { prefix, id } = this.plan;
    const [command = "", ...rest] = [...prefix, ...this.plan.command];
    const child = spawn(command, rest, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    this.#isEnding = false;
    this.#isPaused = false;
    this.#words = [];
    child.on("error", (error) => this.#words.push(error.message));
    child.stdin.on("error", () => undefined);
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on("line", (line) => this.#keep(line));
    }
    this.#events.onState(id, "up");
    this.#exited = once(child, "close").then(() => {
      this.#events.onState(id, "down");
      if (!this.#isEnding) this.#events.onDeath(id, this.#words.join("\n"));
    });
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** For good: whatever still goes on, a fault that ends say, cannot start it again. */
  async close(): Promise<void> {
    this.#isKeptDown = true;
    this.#isClosed = true;
    await this.kill();
  }

  /** While its files are worked on nothing may start it. */
  async whileDown<T>(work: () => Promise<T>): Promise<T> {
    this.#isKeptDown = true;
    try {
      await this.kill();
      return await work();
    } finally {
      this.#isKeptDown = this.#isClosed;
    }
  }

  /** An orderly stop, forced when it takes too long. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill("SIGKILL"), STOP_MS_MAX);
    await this.#end("SIGTERM");
    clearTimeout(timer);
  }

  pause(): void {
    if (!this.isRunning || this.#isPaused) return;
    this.#isPaused = true;
    this.#child?.kill("SIGSTOP");
    this.#events.onState(this.id, "paused");
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#child?.kill("SIGCONT");
    this.#events.onState(this.id, "up");
  }

  status(): Promise<NodeStatus | undefined> {
    return this.plan.status();
  }

  /** Resolves when it answers; rejects when it ends or takes too long. */
  async answers(signal?: AbortSignal): Promise<void> {
    const deadlineMs = performance.now() + ANSWER_MS_MAX;
    while ((await this.status()) === undefined) {
      signal?.throwIfAborted();
      const words = this.#words.join("\n");
      if (!this.isRunning) throw new Error(`node ${this.id} did not start\n${words}`);
      if (performance.now() > deadlineMs) {
        throw new Error(`node ${this.id} does not answer after ${ANSWER_MS_MAX} ms\n${words}`);
      }
      await delay(POLL_INTERVAL_MS);
    }
  }

  async #end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (!this.isRunning) return;
    this.#isEnding = true;
    this.#child?.kill(signal);
    // A stopped process keeps every other signal for later.
    if (this.#isPaused) this.#child?.kill("SIGCONT");
    this.#isPaused = false;
    await this.#exited;
  }

  #keep(line: string): void {
    appendFileSync(this.plan.logFile, `${line}\n`);
    this.#words.push(line);
    if (this.#words.length > LAST_WORDS_MAX) this.#words.shift();
    if (!line.startsWith("{")) return;
    try {
      const { event, ...fields } = JSON.parse(line) as Record<string, unknown>;
      if (typeof event === "string") this.#events.onLog(this.id, event, fields);
    } catch {
      // Cut short by a kill: it is in the file all the same.
    }
  }
}
