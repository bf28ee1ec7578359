/**
 * What `--all` measures, in order: every workload, and those that peers support with the numbers of
 * workers and connections at which systems differ. And what `doors` measures: clients of other
 * protocols, on this system and on the one that they were made for.
 */

import type { MeasureFlags } from "./bench-flags.js";
import type { Workload } from "./bench-numbers.js";
import { COMPARED_SYSTEMS, type ComparedSystem } from "./system-names.js";

export interface PlannedStep {
  readonly workload: Workload;
  readonly flags?: MeasureFlags;
  /** Requested systems are measured too if they are among these. */
  readonly peers?: readonly ComparedSystem[];
}

export const PLAN: readonly PlannedStep[] = [
  { workload: "uncontended", flags: { workers: 1_024 }, peers: COMPARED_SYSTEMS },
  // The cost of a connection; only peers that are made for this number of them.
  {
    workload: "uncontended",
    flags: { workers: 1_024, connections: 1_024 },
    peers: ["redis", "redis-aof"],
  },
  { workload: "uncontended", flags: { workers: 64 }, peers: COMPARED_SYSTEMS },
  { workload: "uncontended", flags: { workers: 1 }, peers: COMPARED_SYSTEMS },
  { workload: "uncontended", flags: { workers: 1, attach: "follower" } },
  { workload: "uncontended", flags: { workers: 1_024, tls: true } },
  { workload: "contended", flags: { workers: 64 }, peers: COMPARED_SYSTEMS },
  { workload: "contended", flags: { workers: 2 }, peers: COMPARED_SYSTEMS },
  { workload: "hot-set" },
  { workload: "rw" },
  { workload: "semaphore" },
  { workload: "multi" },
  { workload: "queue" },
  { workload: "table" },
  { workload: "sessions" },
  { workload: "failover" },
  { workload: "storm" },
  { workload: "storm", flags: { tls: true } },
  { workload: "floods" },
  { workload: "snapshot" },
  { workload: "page" },
];

/** A word in place of a workload: measures all of these. */
export const DOORS = "doors";
/** A single turn would say nothing on a busy machine. */
export const DOORS_TURNS = 3;

export const DOORS_PLAN: readonly PlannedStep[] = [
  { workload: "uncontended", flags: { workers: 1 }, peers: ["redis-aof", "redis-door"] },
  { workload: "uncontended", flags: { workers: 64 }, peers: ["redis-aof", "redis-door"] },
  { workload: "contended", flags: { workers: 64 }, peers: ["redis-aof", "redis-door"] },
  {
    workload: "uncontended",
    flags: { workers: 1_024 },
    peers: ["redlock-client", "redlock-door"],
  },
  { workload: "uncontended", flags: { workers: 64 }, peers: ["redlock-client", "redlock-door"] },
  { workload: "uncontended", flags: { workers: 64, connections: 64 }, peers: ["http-door"] },
];
