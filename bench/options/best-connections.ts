/**
 * The number of connections with which a peer was fastest when workers do not compete, as measured
 * with `--connections` 1, 2, 4, 8, 16 and 64 on a busy machine with two cores. A peer that was not
 * measured has no number here. `--connections` overrides it. If workers compete, all systems have the same number: some let only one worker of each client
 * compete, so fewer connections would be another load.
 */
import type { PeerName } from "../peers/peer.js";

const BEST: Readonly<Partial<Record<PeerName, number>>> = {
  redis: 4,
  "redis-aof": 4,
};

/** `usual`: for a system without a number of its own. */
export function bestConnections(name: PeerName, usual: number): number {
  return BEST[name] ?? usual;
}
