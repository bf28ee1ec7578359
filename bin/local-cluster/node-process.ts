/**
 * One `holdfast server` process of a local cluster. It runs in a session of its own, so that Ctrl-C
 * in the terminal reaches only the process that started it, which then stops all nodes in order.
 * Its standard input is a pipe that closes when that process ends for any reason, and then the node
 * stops. Its standard error goes directly into its log file, so that the last messages of a node
 * are kept even if no process is left to read them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, openSync, readSync, statfsSync } from "node:fs";
import type { HostPort } from "../../src/server/index.js";
import { adviceOn, MAKE_ROOM } from "../exit/start-failure.js";
import { formatHostPort } from "../text/addresses.js";
import type { ClusterPlan, NodePlan } from "./cluster-plan.js";

/** How much of the log is searched for the reason of an end. */
const LAST_WORDS_BYTES_MAX = 8_192;
const FAILURE_PREFIX = "holdfast: ";

export interface NodeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class NodeProcess {
  readonly plan: NodePlan;
  /** Undefined if the process could not be created. */
  readonly pid: number | undefined;
  /** Resolves when the process is gone. */
  readonly ended: Promise<NodeEnd>;
  readonly #child: ChildProcess | undefined;
  /** Where the lines of this process begin in the log file. */
  readonly #logStart: number = 0;
  #spawnError: Error | undefined;
  #isGone = false;

  constructor(plan: NodePlan, cluster: ClusterPlan, furtherArguments: readonly string[]) {
    this.plan = plan;
    let log: number;
    try {
      log = openSync(plan.logFile, "a");
    } catch (error) {
      // A full disk, or a directory that was removed: only this node cannot be started.
      this.#spawnError = error instanceof Error ? error : new Error(String(error));
      this.#isGone = true;
      this.ended = Promise.resolve({ code: null, signal: null });
      return;
    }
    let child: ChildProcess;
    try {
      this.#logStart = fstatSync(log).size;
      const given = [...serverArguments(plan, cluster), ...furtherArguments];
      const stdio = ["pipe", "ignore", log] as const;
      const env = childEnvironment();
      child = spawn(process.execPath, given, { detached: true, stdio: [...stdio], env });
    } finally {
      closeSync(log);
    }
    this.#child = child;
    this.pid = child.pid;
    child.stdin?.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => {
        // Also emitted if a signal could not be sent; then the process still lives.
        if (child.pid !== undefined) return;
        this.#spawnError = error;
        this.#isGone = true;
        resolve({ code: null, signal: null });
      });
      child.once("exit", (code, signal) => {
        this.#isGone = true;
        resolve({ code, signal });
      });
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Asks for an orderly stop, even of a node that is paused. */
  terminate(): void {
    if (this.#isGone) return;
    this.#child?.kill("SIGTERM");
    this.#child?.kill("SIGCONT");
  }

  kill(): void {
    if (!this.#isGone) this.#child?.kill("SIGKILL");
  }

  /** Stops it where it is, as if its machine were suspended; `resume` lets it go on. */
  pause(): void {
    if (!this.#isGone) this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    if (!this.#isGone) this.#child?.kill("SIGCONT");
  }

  /** The failure that the node itself logged before it ended, if there is one. */
  lastWords(): string | undefined {
    const error = this.#spawnError;
    if (error !== undefined) return `${error.message}${adviceOn(error)}`;
    const { logFile } = this.plan;
    try {
      const lines = readTail(logFile, this.#logStart).split("\n");
      const last = lines.findLast((line) => line.startsWith(FAILURE_PREFIX));
      if (last !== undefined) return last.slice(FAILURE_PREFIX.length);
      if (hasRoom(logFile)) return undefined;
      return `the disk is full, so it could not log the reason: ${MAKE_ROOM}`;
    } catch {
      // Whatever happened to the file or its directory, the other nodes must keep running.
      return undefined;
    }
  }
}

/** `exit code 1`, `SIGKILL`. */
export function describeEnd(end: NodeEnd): string {
  if (end.signal !== null) return end.signal;
  return end.code === null ? "not started" : `exit code ${end.code}`;
}

function serverArguments(plan: NodePlan, cluster: ClusterPlan): string[] {
  const entry = process.argv[1] ?? "";
  return [
    ...process.execArgv,
    entry,
    "server",
    `--id=${plan.id}`,
    `--data=${plan.dataDirectory}`,
    `--listen=${formatHostPort(plan.listen)}`,
    `--peer-listen=${formatHostPort(plan.peerListen)}`,
    ...addressFlag("--redis-listen", plan.redisListen),
    ...addressFlag("--redis-sentinel-listen", plan.redisSentinelListen),
    `--initial-cluster=${cluster.initialCluster}`,
    `--cluster-name=${cluster.clusterName}`,
    "--stop-on-stdin-end",
  ];
}

function addressFlag(flag: string, address: HostPort | undefined): string[] {
  return address === undefined ? [] : [`${flag}=${formatHostPort(address)}`];
}

/** Environment variables of a server must not configure all nodes alike. */
function childEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("HOLDFAST_") || name === "HOLDFAST_DEBUG",
  );
  return Object.fromEntries(kept);
}

/** Whether a line could be written there. */
function hasRoom(file: string): boolean {
  const { bavail, bsize } = statfsSync(file);
  return bavail * bsize > LAST_WORDS_BYTES_MAX;
}

function readTail(file: string, from: number): string {
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const start = Math.max(from, size - LAST_WORDS_BYTES_MAX);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, bytes.length, start));
  } finally {
    closeSync(descriptor);
  }
}
