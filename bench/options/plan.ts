/**
 * What `--all` measures, in order: every workload, and those that peers can do at the numbers of
 * workers and connections at which systems differ.
 */

import { PEER_NAMES, type PeerName } from "../peers/peer.js";
import type { Workload } from "./bench-numbers.js";

interface PlannedStep {
  readonly argv: readonly [Workload, ...string[]];
  /** Those that are asked for are measured too if they are among these. */
  readonly peers: readonly PeerName[];
}

export const PLAN: readonly PlannedStep[] = [
  { argv: ["uncontended", "--workers=1024"], peers: PEER_NAMES },
  // What a connection costs; only those that are made for so many of them.
  {
    argv: ["uncontended", "--workers=1024", "--connections=1024"],
    peers: ["redis", "redis-aof"],
  },
  { argv: ["uncontended", "--workers=64"], peers: PEER_NAMES },
  { argv: ["uncontended", "--workers=1"], peers: PEER_NAMES },
  { argv: ["uncontended", "--workers=1", "--attach=follower"], peers: [] },
  { argv: ["contended", "--workers=64"], peers: PEER_NAMES },
  { argv: ["contended", "--workers=2"], peers: PEER_NAMES },
  { argv: ["hot-set"], peers: [] },
  { argv: ["rw"], peers: [] },
  { argv: ["semaphore"], peers: [] },
  { argv: ["multi"], peers: [] },
  { argv: ["queue"], peers: [] },
  { argv: ["table"], peers: [] },
  { argv: ["sessions"], peers: [] },
  { argv: ["failover"], peers: [] },
  { argv: ["snapshot"], peers: [] },
];
