/**
 * Everything whose duration a driver measures, and what the points of the vitals show of it.
 * Nothing here decides anything, and nothing is replicated.
 */
import type { NodeId } from "../../raft/index.js";
import type { Clock } from "../ports.js";
import { CommandTimes } from "./command-times.js";
import { Histogram, quantile, RecentValues } from "./histogram.js";
import { LockTimes } from "./lock-times.js";
import type { PointDistributions } from "./point-ring.js";

const SYNC_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1];
const ROUND_TRIP_SECONDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

interface PeerTimes {
  readonly histogram: Histogram;
  lastMs: number;
}

export class NodeTimes {
  readonly locks: LockTimes;
  readonly commands: CommandTimes;
  readonly logSyncs = new Histogram({
    name: "log_sync_seconds",
    help: "How long synced writes of the log took.",
    bounds: SYNC_SECONDS,
    rows: [""],
  });
  readonly #recentSyncs = new RecentValues(this.logSyncs, [0]);
  readonly #peers = new Map<NodeId, PeerTimes>();
  readonly #clock: Pick<Clock, "nowMs">;
  /** When each peer last showed that it is there. */
  readonly #heardMs = new Map<NodeId, number>();
  #logSyncP99Ms: number | null = null;

  /** `prefixes` of keys, whose waits and holds are counted apart. */
  constructor(clock: Pick<Clock, "nowMs">, prefixes: readonly string[]) {
    this.#clock = clock;
    this.locks = new LockTimes(prefixes);
    this.commands = new CommandTimes(clock);
  }

  /** All but the round trips of peers, each with its own name. */
  get histograms(): readonly Histogram[] {
    const { locks, commands, logSyncs } = this;
    return [locks.waits, locks.holds, commands.commands, commands.commits, logSyncs];
  }

  /** One for each peer that has answered, all with the same name. */
  get roundTrips(): readonly Histogram[] {
    return [...this.#peers.values()].map(({ histogram }) => histogram);
  }

  /** Measured during the point before this one; `null`: nothing was written in it. */
  get logSyncP99Ms(): number | null {
    return this.#logSyncP99Ms;
  }

  onLogSynced(ms: number): void {
    this.logSyncs.observe(0, ms / 1_000);
  }

  /** The peer has just shown that it is there. */
  onHeard(peer: NodeId): void {
    this.#heardMs.set(peer, this.#clock.nowMs());
  }

  /** When the peer was last heard; `undefined`: not since the start. */
  heardMs(peer: NodeId): number | undefined {
    return this.#heardMs.get(peer);
  }

  onRoundTrip(peer: NodeId, ms: number): void {
    this.onHeard(peer);
    const times = this.#peers.get(peer) ?? { histogram: roundTripsOf(peer), lastMs: 0 };
    this.#peers.set(peer, times);
    times.lastMs = ms;
    times.histogram.observe(0, ms / 1_000);
  }

  /** The time of the last question that the peer answered; `null`: it answered none. */
  roundTripMs(peer: NodeId): number | null {
    const times = this.#peers.get(peer);
    return times === undefined ? null : Math.round(times.lastMs * 100) / 100;
  }

  /** Forgets nodes that are no longer peers. */
  keepPeers(peers: ReadonlySet<NodeId>): void {
    for (const peer of this.#peers.keys()) if (!peers.has(peer)) this.#peers.delete(peer);
    for (const peer of this.#heardMs.keys()) if (!peers.has(peer)) this.#heardMs.delete(peer);
  }

  /** What a point has of all that was measured since the point before it. */
  takeForPoint(): Omit<PointDistributions, "loopDelayMaxMs"> {
    const syncs = this.#recentSyncs.take();
    this.#logSyncP99Ms = millisecondsOf(this.logSyncs, syncs, 0.99);
    const commits = this.commands.takeCommits();
    const waits = this.locks.takeGrantWaits();
    return {
      commitP50Ms: millisecondsOf(this.commands.commits, commits, 0.5),
      commitP99Ms: millisecondsOf(this.commands.commits, commits, 0.99),
      waitP50Ms: millisecondsOf(this.locks.waits, waits, 0.5),
      waitP99Ms: millisecondsOf(this.locks.waits, waits, 0.99),
    };
  }
}

function roundTripsOf(peer: NodeId): Histogram {
  return new Histogram({
    name: "peer_round_trip_seconds",
    help: "How long another node took to answer a ping of this node.",
    bounds: ROUND_TRIP_SECONDS,
    rows: [`peer="${peer}"`],
  });
}

function millisecondsOf({ shape }: Histogram, counts: Float64Array, share: number): number | null {
  const seconds = quantile(counts, shape.bounds, share);
  return seconds === null ? null : Math.round(seconds * 1e6) / 1e3;
}
