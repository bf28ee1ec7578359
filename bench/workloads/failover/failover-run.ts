/**
 * One fault under load: clients connect and work, the leader is lost, service returns, the node
 * returns, and the cost of all this is computed from the times of the grants.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "../../cluster/bench-clients.js";
import type { NodeEvent, NodeProcess } from "../../cluster/node-process.js";
import type { OwnCluster } from "../../cluster/own-cluster.js";
import { PacedLoop } from "../../load/paced-loop.js";
import { longestGapMs, merged } from "../../measures/service-gap.js";
import { tenths } from "../../measures/statistics.js";

/** The load runs this long before the fault, and at random up to as much longer. */
const SETTLING_MS = 1_000;
const SETTLING_MS_SPREAD = 500;
/** The fault is watched for at least this long … */
const WATCHED_MS_MIN = 3_000;
/** … and at most this long, while a client is not served again. */
const WATCHED_MS_MAX = 30_000;
/** A client is served if it had a grant within this time. */
const SERVED_MS = 500;
/** After the node came back: long enough to see whether it disturbs the others. */
const RETURNED_MS = 1_000;
const EXIT_MS_MAX = 20_000;
const POLL_INTERVAL_MS = 20;

export const FAULTS = ["kill", "term", "partition"] as const;
export type Fault = (typeof FAULTS)[number];

/** What one fault cost. */
export interface FaultRun {
  readonly fault: Fault;
  readonly leader: number;
  /** The longest time without a grant to any client; see `longestGapMs`. */
  readonly gapMs: number;
  /** The longest time that any one client went without a grant. */
  readonly worstClientMs: number;
  /** From the fault until one of the other nodes missed the leader, and until one of them led. */
  readonly noticedAfterMs: number | null;
  readonly electedAfterMs: number | null;
  /** The longest time without a grant while the node came back. */
  readonly returnGapMs: number;
  readonly commands: number;
  readonly failedCommands: Readonly<Record<string, number>>;
  readonly sessionsExpired: number;
  readonly fencingViolations: number;
}

export async function runFault(
  cluster: OwnCluster,
  fault: Fault,
  clientCount: number,
  signal: AbortSignal,
): Promise<FaultRun> {
  const { endpoints } = cluster;
  // Half of them connect to the leader, the default; the others stay with the node they found
  // first.
  const optionsOf = (index: number) => ({ followLeader: index % 2 === 0 });
  const clients = await connectAll(clientCount, endpoints, signal, optionsOf);
  try {
    return await measure(cluster, fault, clients, signal);
  } finally {
    await closeAll(clients);
  }
}

async function measure(
  cluster: OwnCluster,
  fault: Fault,
  clients: readonly Client[],
  signal: AbortSignal,
): Promise<FaultRun> {
  const loop = new PacedLoop(clients, runPrefix());
  try {
    await delay(SETTLING_MS + Math.random() * SETTLING_MS_SPREAD, undefined, { signal });
    const leader = await cluster.healthy();
    const faultMs = performance.now();
    const wallMs = Date.now();
    inject(cluster, fault, leader);
    const watchedMs = await watch(loop, faultMs, signal);
    await repair(cluster, fault, leader);
    await cluster.healthy();
    await delay(RETURNED_MS, undefined, { signal });
    const endMs = performance.now();
    const all = merged(loop.grantsMs);
    const events = cluster.nodes
      .filter((node) => node !== leader)
      .flatMap((node) => node.events)
      .filter((event) => event.wallMs >= wallMs);
    const gaps = loop.grantsMs.map((grants) => longestGapMs(grants, faultMs, watchedMs));
    return {
      fault,
      leader: leader.id,
      gapMs: tenths(longestGapMs(all, faultMs, watchedMs)),
      worstClientMs: tenths(Math.max(...gaps)),
      noticedAfterMs: firstAfter(events, wallMs, (event) => isNoticing(event, leader.id)),
      electedAfterMs: firstAfter(events, wallMs, isElected),
      returnGapMs: tenths(longestGapMs(all, watchedMs, endMs)),
      commands: loop.commands,
      failedCommands: Object.fromEntries(loop.failures),
      sessionsExpired: loop.sessionsExpired,
      fencingViolations: loop.fencingViolations,
    };
  } finally {
    await drained(loop.stop());
  }
}

function inject(cluster: OwnCluster, fault: Fault, leader: NodeProcess): void {
  switch (fault) {
    case "kill":
      leader.signal("SIGKILL");
      break;
    case "term":
      leader.signal("SIGTERM");
      break;
    case "partition":
      cluster.links.cut(leader.id);
      break;
  }
}

/** Resolves with the time until which the fault was watched. */
async function watch(loop: PacedLoop, faultMs: number, signal: AbortSignal): Promise<number> {
  await delay(WATCHED_MS_MIN, undefined, { signal });
  for (;;) {
    const nowMs = performance.now();
    const unserved = loop.unservedSince(nowMs - SERVED_MS);
    if (unserved === 0) return nowMs;
    if (nowMs - faultMs > WATCHED_MS_MAX) {
      loop.count("UNANSWERED", unserved);
      return nowMs;
    }
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
}

async function repair(cluster: OwnCluster, fault: Fault, leader: NodeProcess): Promise<void> {
  if (fault === "partition") {
    cluster.links.heal(leader.id);
    return;
  }
  if (!(await leader.exited(EXIT_MS_MAX))) {
    throw new Error(`node ${leader.id} did not stop within ${EXIT_MS_MAX} ms`);
  }
  leader.spawn();
}

function isNoticing({ event, fields }: NodeEvent, leader: number): boolean {
  if (event === "peer link down") return fields["peer"] === leader;
  return event === "role" && fields["role"] !== "follower";
}

function isElected({ event, fields }: NodeEvent): boolean {
  return event === "role" && fields["role"] === "leader";
}

/** Milliseconds from the fault to the first event for which `isIt` holds. */
function firstAfter(
  events: readonly NodeEvent[],
  wallMs: number,
  isIt: (event: NodeEvent) => boolean,
): number | null {
  const times = events.filter(isIt).map((event) => event.wallMs - wallMs);
  return times.length === 0 ? null : Math.min(...times);
}
