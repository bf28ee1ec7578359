/**
 * One node under attack: a real server process that is killed, stopped, restarted and damaged. Its
 * output goes to a file; the harness gets the lines about its role. Its standard input closes when
 * the harness ends for any reason: Holdfast's servers end then, and, if the system supports it
 * (`parent-death.ts`), every server does.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Platter } from "../../lab/platter.js";
import { ServerProcess } from "../../lab/server-process.js";
import type { Volume } from "./volumes.js";

const PATIENCE = { msMax: 30_000, intervalMs: 25 };
const STOP_MS_MAX = 15_000;

export interface NodePlan {
  readonly id: number;
  readonly dataDirectory: string;
  readonly logFile: string;
  /** Where the harness reaches it, behind every proxy. */
  readonly endpoint: string;
  /** Its local socket, for Holdfast; a connection there may do everything. */
  readonly localEndpoint: string;
  /** Words before the command. */
  readonly prefix: readonly string[];
  /** How the server is started as this member of the cluster; others than the first join it. */
  readonly commandOf: (member: number) => readonly string[];
  /** The numbers that it can have as a member, in order; it begins with the first one. */
  readonly members: readonly number[];
  /** Where other nodes reach it, as the cluster knows it; "" in systems without members. */
  readonly peerAddress: string;
  /** What its processes find in their environment besides the harness's own. */
  readonly environment: NodeJS.ProcessEnv;
  /** The disk below its data directory, if it can lose its power. */
  readonly platter: Platter | undefined;
  /** The file system of limited size that its files lie in, if it can be full. */
  readonly volume: Volume | undefined;
  /** The file whose rate its clocks follow, if they can run at another one. */
  readonly clockFile: string | undefined;
  /** Asks the server itself; `undefined` if it does not answer. */
  readonly status: () => Promise<NodeStatus | undefined>;
}

export interface NodeStatus {
  readonly id: number;
  /** `leader` or another role. */
  readonly role: string;
  /** The node that it follows; itself if it leads. */
  readonly leader?: number | undefined;
  readonly term: number;
}

export type NodeState = "up" | "down" | "paused";

export interface NodeEvents {
  /** A line of its log. */
  onLog(id: number, event: string, fields: Readonly<Record<string, unknown>>): void;
  onState(id: number, state: NodeState): void;
  /** It ended although it was not stopped. */
  onDeath(id: number, words: string): void;
}

export class NodeProcess {
  readonly plan: NodePlan;
  readonly #events: NodeEvents;
  readonly #process: ServerProcess;
  readonly #environment: NodeJS.ProcessEnv;
  #member: number;
  /** How many faults let it end by itself. */
  #endings = 0;
  #isKeptDown = false;
  #isClosed = false;

  constructor(plan: NodePlan, events: NodeEvents) {
    const { id, prefix, members } = plan;
    this.plan = plan;
    this.#events = events;
    this.#environment = { ...plan.environment };
    this.#member = members[0] ?? id;
    const commandNow = () => [...prefix, ...plan.commandOf(this.#member)];
    this.#process = new ServerProcess(
      {
        name: `node ${id}`,
        get command() {
          return commandNow();
        },
        env: () => ({ ...process.env, ...this.#environment }),
        isDetached: true,
      },
      {
        onLine: (line) => this.#onLine(line),
        onExit: (isWanted) => {
          events.onState(id, "down");
          if (!isWanted && this.#endings === 0) events.onDeath(id, this.#process.lastWords);
        },
      },
    );
  }

  /** Its number as a member of the cluster, which a new directory at its place changes. */
  get member(): number {
    return this.#member;
  }

  get hasNextMember(): boolean {
    return this.#nextMember !== undefined;
  }

  get #nextMember(): number | undefined {
    const { members } = this.plan;
    return members[members.indexOf(this.#member) + 1];
  }

  /** From its next start on it is the next member, and joins. */
  becomeNextMember(accessToken: string | undefined): number {
    const next = this.#nextMember;
    if (next === undefined) throw new RangeError(`node ${this.id} has no further number`);
    this.#member = next;
    if (accessToken !== undefined) this.#environment["HOLDFAST_ACCESS_TOKEN"] = accessToken;
    return next;
  }

  /** Until the returned function is called, it may end by itself, which then is not a violation. */
  letEnd(): () => void {
    this.#endings += 1;
    return () => {
      this.#endings -= 1;
    };
  }

  get id(): number {
    return this.plan.id;
  }

  /** The id of the process, or of the last one. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  get isPaused(): boolean {
    return this.#process.isPaused;
  }

  /** Starts the process unless it runs or is kept down. It does not answer yet. */
  start(): void {
    if (this.isRunning || this.#isKeptDown) return;
    this.#process.start();
    this.#events.onState(this.id, "up");
  }

  kill(): Promise<void> {
    return this.#process.end("SIGKILL");
  }

  /** Forever: another fault that ends later cannot start it again. */
  async close(): Promise<void> {
    this.#isKeptDown = true;
    this.#isClosed = true;
    await this.kill();
  }

  /** Nothing may start it while its files are changed. */
  async whileDown<T>(work: () => Promise<T>): Promise<T> {
    this.#isKeptDown = true;
    try {
      await this.kill();
      const { volume } = this.plan;
      return await (volume === undefined
        ? this.#settled(work)
        : volume.withRoom(() => this.#settled(work)));
    } finally {
      this.#isKeptDown = this.#isClosed;
    }
  }

  /** What the harness does with the files is none of the faults of a disk. */
  async #settled<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      if (!this.#isClosed) this.plan.platter?.settle();
    }
  }

  /** Stops it for a moment, as a busy scheduler does; not if it is stopped or down already. */
  async pauseBriefly(milliseconds: number): Promise<void> {
    if (!this.isRunning || this.isPaused) return;
    this.#process.pause();
    await delay(milliseconds);
    this.#process.resume();
  }

  /** An orderly stop, forced if it takes too long. */
  async stop(): Promise<void> {
    await this.#process.stop(STOP_MS_MAX);
  }

  pause(): void {
    if (!this.isRunning || this.isPaused) return;
    this.#process.pause();
    this.#events.onState(this.id, "paused");
  }

  resume(): void {
    if (!this.isPaused) return;
    this.#process.resume();
    this.#events.onState(this.id, "up");
  }

  status(): Promise<NodeStatus | undefined> {
    return this.plan.status();
  }

  /** Resolves when it answers; rejects if it ends or takes too long. */
  answers(signal?: AbortSignal): Promise<void> {
    const isAnswering = async () => (await this.status()) !== undefined;
    return this.#process.answers(isAnswering, { ...PATIENCE, signal });
  }

  #onLine(line: string): void {
    appendFileSync(this.plan.logFile, `${line}\n`);
    if (!line.startsWith("{")) return;
    try {
      const { event, ...fields } = JSON.parse(line) as Record<string, unknown>;
      if (typeof event === "string") this.#events.onLog(this.id, event, fields);
    } catch {
      // Cut short by a kill: it is in the file nevertheless.
    }
  }
}
