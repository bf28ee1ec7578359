/**
 * The ways between hosts, each direction by itself: open or cut, quick or slow. Nodes are hosts
 * 1 … n, clients those behind. What is sent into a cut is not lost at once: it waits, as with a
 * connection whose packets are sent again, until the way opens or somebody gives the connection up.
 */
import type { RandomStream, RandomStreams } from "../../../../lab/random-stream.js";

interface Path {
  readonly random: RandomStream;
  /** Cuts in force; they may overlap. */
  cuts: number;
  slowMs: number;
  /** Changes with every cut, so that a later one is not taken for an earlier one. */
  cutNumber: number;
}

export interface PathTimes {
  readonly latencyMs: number;
  /** Spread above `latencyMs`; now and then `stragglerFactor` times as much. */
  readonly jitterMs: number;
  readonly stragglerFactor: number;
}

const STRAGGLER_CHANCE = 0.01;

export class Paths {
  readonly #streams: RandomStreams;
  readonly #times: PathTimes;
  readonly #paths = new Map<number, Path>();
  readonly #listeners: ((from: number, to: number, isOpen: boolean) => void)[] = [];

  constructor(streams: RandomStreams, times: PathTimes) {
    this.#streams = streams;
    this.#times = times;
  }

  onChange(listener: (from: number, to: number, isOpen: boolean) => void): void {
    this.#listeners.push(listener);
  }

  isOpen(from: number, to: number): boolean {
    return this.#path(from, to).cuts === 0;
  }

  isOpenBothWays(one: number, other: number): boolean {
    return this.isOpen(one, other) && this.isOpen(other, one);
  }

  cutNumber(from: number, to: number): number {
    return this.#path(from, to).cutNumber;
  }

  /** Drawn again for everything that is sent. */
  latencyMs(from: number, to: number): number {
    const { random, slowMs } = this.#path(from, to);
    const { latencyMs, jitterMs, stragglerFactor } = this.#times;
    const factor = random.chance(STRAGGLER_CHANCE) ? stragglerFactor : 1;
    return latencyMs + slowMs + random.next() * jitterMs * factor;
  }

  cut(from: number, to: number): void {
    const path = this.#path(from, to);
    path.cuts += 1;
    path.cutNumber += 1;
    if (path.cuts === 1) this.#tell(from, to, false);
  }

  mend(from: number, to: number): void {
    const path = this.#path(from, to);
    if (path.cuts === 0) return;
    path.cuts -= 1;
    if (path.cuts === 0) this.#tell(from, to, true);
  }

  slow(from: number, to: number, byMs: number): void {
    this.#path(from, to).slowMs += byMs;
  }

  #tell(from: number, to: number, isOpen: boolean): void {
    for (const listener of this.#listeners) listener(from, to, isOpen);
  }

  #path(from: number, to: number): Path {
    const key = from * 10_000 + to;
    let path = this.#paths.get(key);
    if (path === undefined) {
      const random = this.#streams.of(`path ${from} ${to}`);
      path = { random, cuts: 0, slowMs: 0, cutNumber: 0 };
      this.#paths.set(key, path);
    }
    return path;
  }
}
