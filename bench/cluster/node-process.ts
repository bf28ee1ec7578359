/**
 * One node of the bench's own cluster: a real `holdfast server` process that may be killed, stopped
 * and started again on its data. It ends with this process: its standard input is a pipe that breaks
 * when this process is gone, whatever ended it. What it logs is kept as events with their times.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fetchFigures } from "./node-pages.js";

const ANSWER_MS_MAX = 60_000;
const POLL_INTERVAL_MS = 10;
const EVENTS_MAX = 10_000;
const TEXTS_MAX = 20;

/** A line of a node's log. */
export interface NodeEvent {
  /** By the wall clock of this machine. */
  readonly wallMs: number;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How Node.js itself runs the node, where that is not as usual. */
export interface NodeRuntime {
  /** Of Node.js. */
  readonly flags?: readonly string[];
  /** Takes what Node.js writes to standard output; a node itself writes nothing there. */
  readonly onOutput?: (node: number, line: string) => void;
}

export class NodeProcess {
  readonly id: number;
  readonly endpoint: string;
  /** The latest events over all its lives. */
  readonly events: NodeEvent[] = [];
  readonly #arguments: readonly string[];
  readonly #onDeath: (error: Error) => void;
  readonly #runtime: NodeRuntime;
  /** What it wrote beside events: why it could not start, for one. */
  readonly #texts: string[] = [];
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  /** `onDeath`: it ended although nobody here had wanted it to. `runtime`: see there. */
  constructor(
    id: number,
    endpoint: string,
    serverArguments: readonly string[],
    onDeath: (error: Error) => void,
    runtime: NodeRuntime = {},
  ) {
    this.id = id;
    this.endpoint = endpoint;
    this.#arguments = serverArguments;
    this.#onDeath = onDeath;
    this.#runtime = runtime;
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.#isRunning ? (this.#child?.pid ?? 0) : 0;
  }

  /** Starts the process. It does not answer yet. */
  spawn(): void {
    if (this.#isRunning) throw new Error(`node ${this.id} runs already`);
    const { flags = [], onOutput } = this.#runtime;
    const server = [findCommand(), "server", "--log-format=json", "--stop-on-stdin-end"];
    const child = spawn(process.execPath, [...flags, ...server, ...this.#arguments], {
      // In a session of its own: Ctrl-C is for this process, which then ends its nodes.
      detached: true,
      stdio: ["pipe", onOutput === undefined ? "ignore" : "pipe", "pipe"],
    });
    this.#child = child;
    this.#isEnding = false;
    const { stdin, stdout, stderr } = child;
    stdin?.on("error", () => undefined);
    if (stderr !== null) createInterface(stderr).on("line", (line) => this.#keep(line));
    if (stdout !== null && onOutput !== undefined) {
      createInterface(stdout).on("line", (line) => onOutput(this.id, line));
    }
    this.#exited = once(child, "close").then(() => {
      if (this.#isEnding) return;
      this.#onDeath(new Error(`node ${this.id} ended by itself\n${this.#texts.join("\n")}`));
    });
  }

  /** Resolves when the node answers over HTTP. */
  async answers(signal: AbortSignal): Promise<void> {
    const deadlineMs = performance.now() + ANSWER_MS_MAX;
    while ((await fetchFigures(this.endpoint)) === undefined) {
      signal.throwIfAborted();
      if (performance.now() > deadlineMs) throw new Error(`node ${this.id} does not answer`);
      await delay(POLL_INTERVAL_MS, undefined, { signal });
    }
  }

  /** Sends the signal, which is to end the node; `exited` tells when it is gone. */
  signal(name: "SIGKILL" | "SIGTERM"): void {
    this.#isEnding = true;
    this.#child?.kill(name);
  }

  /** Resolves when the process is gone; ends it after `milliseconds`. False: it had to be. */
  async exited(milliseconds: number): Promise<boolean> {
    let isForced = false;
    const timer = setTimeout(() => {
      isForced = true;
      this.signal("SIGKILL");
    }, milliseconds);
    await this.#exited;
    clearTimeout(timer);
    return !isForced;
  }

  get #isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  #keep(line: string): void {
    const event = parseEvent(line);
    if (event === undefined) {
      this.#texts.push(line);
      if (this.#texts.length > TEXTS_MAX) this.#texts.shift();
      return;
    }
    this.events.push(event);
    if (this.events.length > EVENTS_MAX) this.events.shift();
  }
}

function parseEvent(line: string): NodeEvent | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined; // Text, which is kept as such.
  }
  const { time, event, ...fields } = parsed as Record<string, unknown>;
  if (typeof time !== "string" || typeof event !== "string") return undefined;
  return { wallMs: Date.parse(time), event, fields };
}

/** The built command, seen from `dist/bench/cluster` and from `bench/cluster`. */
function findCommand(): string {
  for (const path of ["../../bin/holdfast.js", "../../dist/bin/holdfast.js"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error("dist/bin/holdfast.js is missing: run npm run build");
}
