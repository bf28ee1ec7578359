/**
 * What a run will show, gathered while it goes on, in limited memory: figures, rate and latency,
 * the operations and holds worth drawing, roles of nodes, faults. It judges nothing; the checker
 * reads the histories for that.
 */

import type { NodeState } from "../cluster/node-process.js";
import { clientOfProcess, type HistoryEvent } from "../history/history-event.js";
import type { DamagedFile } from "../nemeses/nemesis.js";
import { HoldChart } from "./hold-chart.js";
import { KeptSample } from "./kept-sample.js";
import { LatencySeries } from "./latency-series.js";

const NANOSECONDS = 1_000_000;
const OPERATIONS_MAX = 6_000;
const DOTS_MAX = 4_000;
const LANE_CHANGES_MAX = 5_000;

export interface DrawnOperation {
  readonly process: number;
  readonly workload: string;
  readonly f: string;
  readonly key: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: "ok" | "fail" | "info";
  readonly detail: string;
}

export interface DrawnFault {
  readonly nemesis: string;
  readonly what: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly file?: DamagedFile;
}

/** The state of a node from then on. */
export interface LaneChange {
  readonly node: number;
  readonly timeMs: number;
  readonly state: string;
  readonly term: number;
}

export interface OperationCounts {
  ok: number;
  fail: number;
  info: number;
}

interface OpenOperation {
  readonly event: HistoryEvent;
  readonly startMs: number;
}

/** Workloads that end sessions, or leases that count as such, themselves. */
const SHORT_SESSIONS: ReadonlySet<string> = new Set([
  ...["sessions", "leases", "endings", "aborts", "polls", "redis"],
]);

export class Observer {
  readonly series: LatencySeries;
  readonly holds = new HoldChart();
  readonly operations = new KeptSample<DrawnOperation>(OPERATIONS_MAX, tellingOf);
  /** Chosen independently of their results, so that plots show what is usual. */
  readonly evenly = new KeptSample<DrawnOperation>(DOTS_MAX, lotOf);
  readonly lanes: LaneChange[] = [];
  readonly faults: DrawnFault[] = [];
  /** By workload, then by operation. */
  readonly counts = new Map<string, Map<string, OperationCounts>>();
  readonly errors = new Map<string, number>();
  elections = 0;
  termMax = 0;
  sessionsLost = 0;
  holdsLost = 0;
  /** The longest time without a successful operation. */
  longestGapMs = 0;
  #lastOkMs = Number.POSITIVE_INFINITY;
  readonly #open = new Map<string, OpenOperation>();
  /** The session of a process, to see when it is replaced. */
  readonly #sessions = new Map<string, number>();
  readonly #countedSessions = new Set<string>();
  /** Nodes and the terms in which they led. */
  readonly #led = new Set<string>();

  constructor(durationMs: number) {
    this.series = new LatencySeries(durationMs);
  }

  /** From here on time without success counts. */
  begin(timeMs: number): void {
    this.#lastOkMs = timeMs;
  }

  /** Events in the order of the history. */
  event(event: HistoryEvent): void {
    if (event.process === "nemesis") return;
    const timeMs = event.time / NANOSECONDS;
    this.holds.event(event, timeMs);
    this.#session(event);
    const id = `${event.process} ${event.workload}`;
    if (event.type === "invoke") {
      this.#open.set(id, { event, startMs: timeMs });
      return;
    }
    const open = this.#open.get(id);
    if (open === undefined || (event.type === "info" && event.f !== open.event.f)) {
      if (event.f === "lost") this.holdsLost += 1;
      return;
    }
    this.#open.delete(id);
    this.#complete(open, event, timeMs);
  }

  /** No operation of this client will end any more. */
  clientGone(client: number, timeMs: number): void {
    for (const [id, { event, startMs }] of this.#open) {
      if (clientOfProcess(Number(event.process)) !== client) continue;
      this.#open.delete(id);
      this.#complete({ event, startMs }, { ...event, type: "info", error: "killed" }, timeMs);
    }
  }

  nodeState(node: number, timeMs: number, state: NodeState): void {
    this.#lane(node, timeMs, state === "up" ? "starting" : state, 0);
  }

  nodeRole(node: number, timeMs: number, role: string, term: number): void {
    // A leader that was stopped may report this again.
    if (role === "leader" && !this.#led.has(`${node} ${term}`)) this.elections += 1;
    if (role === "leader") this.#led.add(`${node} ${term}`);
    this.termMax = Math.max(this.termMax, term);
    this.#lane(node, timeMs, role, term);
  }

  /** The time since the last success counts even if there was none after it. */
  end(timeMs: number): void {
    this.longestGapMs = Math.max(this.longestGapMs, timeMs - this.#lastOkMs);
  }

  #complete(open: OpenOperation, event: HistoryEvent, timeMs: number): void {
    const { startMs } = open;
    const { workload, f, key } = open.event;
    const outcome = event.type as "ok" | "fail" | "info";
    const byOperation = this.counts.get(workload) ?? new Map<string, OperationCounts>();
    this.counts.set(workload, byOperation);
    const counts = byOperation.get(f) ?? { ok: 0, fail: 0, info: 0 };
    byOperation.set(f, counts);
    counts[outcome] += 1;
    if (event.error !== undefined) {
      this.errors.set(event.error, (this.errors.get(event.error) ?? 0) + 1);
    }
    if (outcome === "ok") {
      this.longestGapMs = Math.max(this.longestGapMs, timeMs - this.#lastOkMs);
      this.#lastOkMs = timeMs;
    }
    this.series.add(timeMs, outcome, timeMs - startMs);
    const detail = detailOf(event);
    const process = Number(event.process);
    const drawn = { process, workload, f, key, startMs, endMs: timeMs, outcome, detail };
    this.operations.add(drawn);
    this.evenly.add(drawn);
  }

  #session(event: HistoryEvent): void {
    const { session, client, workload, type, error } = event;
    // Sessions that a workload itself opens and closes are not losses.
    if (session === undefined || session === 0 || SHORT_SESSIONS.has(workload)) return;
    const id = `${client} ${workload} ${Math.floor(Number(event.process) / 1_000)}`;
    const before = this.#sessions.get(id);
    if (before === session && error !== "SESSION_EXPIRED") return;
    this.#sessions.set(id, session);
    if (before === undefined || type === "invoke" || this.#countedSessions.has(`${before}`)) return;
    this.#countedSessions.add(`${before}`);
    this.sessionsLost += 1;
  }

  #lane(node: number, timeMs: number, state: string, term: number): void {
    if (this.lanes.length < LANE_CHANGES_MAX) this.lanes.push({ node, timeMs, state, term });
  }
}

/** Failed or slow operations are worth showing; quick successes are the background. */
function tellingOf({ outcome, startMs, endMs }: DrawnOperation): number {
  const weight = { ok: 1, fail: 0.5, info: 20 }[outcome];
  return (endMs - startMs) * weight;
}

/** A pseudo-random number that depends on the operation alone. */
function lotOf({ process, startMs }: DrawnOperation): number {
  const mixed = Math.imul(Math.floor(startMs * 1_000) ^ Math.imul(process, 0x9e3779b1), 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0;
}

function detailOf({ value, error }: HistoryEvent): string {
  if (error !== undefined) return error;
  return value === undefined ? "" : JSON.stringify(value).slice(0, 120);
}
