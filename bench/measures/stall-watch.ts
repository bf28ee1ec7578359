/**
 * Asks every node of a cluster once a second for the longest recent stall of its event loop, and
 * computes an upper bound of the stall in each of these seconds.
 */
import { setTimeout as delay } from "node:timers/promises";
import { fetchFigures } from "../cluster/node-pages.js";
import type { NodeProcess } from "../cluster/node-process.js";
import { REMEMBERED_MS, type StallBound, type StallSample, stallBounds } from "./stall-windows.js";

export const INTERVAL_MS = 1_000;

export class StallWatch {
  readonly #nodes: readonly NodeProcess[];
  /** By node. */
  readonly #samples = new Map<number, StallSample[]>();

  constructor(nodes: readonly NodeProcess[]) {
    this.#nodes = nodes;
    for (const { id } of nodes) this.#samples.set(id, []);
  }

  /** In order, as far as later samples cannot change them. */
  boundsOf(node: number): StallBound[] {
    return stallBounds(this.#samples.get(node) ?? []);
  }

  async sample(): Promise<void> {
    const figures = await Promise.all(this.#nodes.map(({ endpoint }) => fetchFigures(endpoint)));
    const atMs = Date.now();
    for (const each of figures) {
      // A node that does not answer in time is stalled: the next answer says for how long.
      if (each === undefined) continue;
      this.#samples.get(each.id)?.push({ node: each.id, atMs, stallMs: each.loopDelayMaxMs });
    }
  }

  /** Samples during `work` and, after it, until everything is known about that time. */
  async during<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const end = new AbortController();
    const stop = AbortSignal.any([signal, end.signal]);
    const sampling = this.#sampleUntil(stop);
    try {
      const result = await work();
      // An interval is known when samples no longer look back on it.
      await delay(REMEMBERED_MS + 2 * INTERVAL_MS, undefined, { signal });
      return result;
    } finally {
      end.abort();
      await sampling;
    }
  }

  async #sampleUntil(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.sample();
      await delay(INTERVAL_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}
