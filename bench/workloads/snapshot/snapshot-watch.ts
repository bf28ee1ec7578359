/**
 * Watches a cluster under load while its nodes take snapshots: each second the longest recent stall
 * of every event loop and the cycles of the load, and from the nodes' logs when snapshots were
 * taken.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { NodeProcess } from "../../cluster/node-process.js";
import type { ClosedLoop } from "../../load/closed-loop.js";
import { INTERVAL_MS, StallWatch } from "../../measures/stall-watch.js";
import {
  isTouched,
  type RateSample,
  type SnapshotSpan,
  type StallBound,
} from "../../measures/stall-windows.js";

/** Intervals of each node in which no node takes a snapshot, for comparison. */
const CLEAN_INTERVALS_MIN = 20;
const WATCHED_MS_MAX = 600_000;

/** A snapshot in a node's log. */
export interface TakenSnapshot extends SnapshotSpan {
  readonly bytes: number;
}

export class SnapshotWatch {
  readonly rates: RateSample[] = [];
  readonly #nodes: readonly NodeProcess[];
  readonly #stalls: StallWatch;
  #sinceMs = Number.POSITIVE_INFINITY;

  constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes;
    this.#stalls = new StallWatch(nodes);
  }

  /** Snapshots that began after `observe` was called and are complete. */
  get taken(): TakenSnapshot[] {
    return this.spans.filter(({ fromMs }) => fromMs >= this.#sinceMs);
  }

  /** All snapshots of the nodes: one may have begun before. */
  get spans(): TakenSnapshot[] {
    return takenSnapshots(this.#nodes);
  }

  boundsOf(node: number): StallBound[] {
    return this.#stalls.boundsOf(node);
  }

  /**
   * Samples until each node has taken a snapshot and enough was seen without one. Rejects if that
   * takes more than ten minutes.
   */
  async observe(
    loop: ClosedLoop,
    signal: AbortSignal,
    onProgress: (text: string) => void,
  ): Promise<void> {
    this.#sinceMs = Date.now();
    let fromMs = this.#sinceMs;
    let cyclesBefore = loop.cycles;
    while (!this.#isEnough) {
      if (fromMs - this.#sinceMs > WATCHED_MS_MAX) {
        throw new Error(
          `${this.taken.length} snapshots within ${WATCHED_MS_MAX / 1_000} s of load`,
        );
      }
      await delay(INTERVAL_MS, undefined, { signal });
      const toMs = Date.now();
      this.rates.push({ fromMs, toMs, cycles: loop.cycles - cyclesBefore });
      fromMs = toMs;
      cyclesBefore = loop.cycles;
      await this.#stalls.sample();
      const seconds = Math.round((toMs - this.#sinceMs) / 1_000);
      onProgress(`load for ${seconds} s, ${this.taken.length} snapshots taken`);
    }
  }

  /** For every node: a snapshot and the time after it, and enough time that no snapshot touches. */
  get #isEnough(): boolean {
    const { taken, spans } = this;
    return this.#nodes.every(({ id }) => {
      const own = taken.filter(({ node }) => node === id);
      const bounds = this.boundsOf(id);
      const isSeen = own.some(({ toMs }) => bounds.some(({ fromMs }) => fromMs >= toMs));
      const clean = bounds.filter((bound) => !isTouched(bound, spans));
      return isSeen && clean.length >= CLEAN_INTERVALS_MIN;
    });
  }
}

/** All snapshots in the nodes' logs, over all their processes. */
export function takenSnapshots(
  nodes: readonly Pick<NodeProcess, "id" | "events">[],
): TakenSnapshot[] {
  return nodes.flatMap((node) =>
    node.events
      .filter(({ event }) => event === "snapshot taken")
      .map(({ wallMs, fields }) => ({
        node: node.id,
        fromMs: wallMs - Number(fields["durationMs"]),
        toMs: wallMs,
        bytes: Number(fields["bytes"]),
      })),
  );
}
