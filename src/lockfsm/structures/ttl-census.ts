/**
 * The shortest lease among the live sessions, from which the leader computes the intervals at which
 * it collects keepalives. It counts whole seconds, so that the answer can be up to a second too
 * short and is never too long.
 */
import { assert } from "../../errors/index.js";
import { TTL_MS_MAX } from "../../protocol/index.js";

const SECOND_MS = 1_000;

export class TtlCensus {
  readonly #counts = new Int32Array(Math.floor(TTL_MS_MAX / SECOND_MS) + 1);
  #total = 0;
  /** No live session has a lease of fewer whole seconds. */
  #lowest = 0;

  add(ttlMs: number): void {
    const second = Math.floor(ttlMs / SECOND_MS);
    if (this.#total === 0 || second < this.#lowest) this.#lowest = second;
    this.#counts[second] = (this.#counts[second] as number) + 1;
    this.#total += 1;
  }

  remove(ttlMs: number): void {
    const second = Math.floor(ttlMs / SECOND_MS);
    const left = (this.#counts[second] as number) - 1;
    assert(left >= 0, () => `${left} sessions with a lease of ${second} s`);
    this.#counts[second] = left;
    this.#total -= 1;
    if (this.#total === 0) return;
    while (this.#counts[this.#lowest] === 0) this.#lowest += 1;
  }

  get shortestMs(): number | undefined {
    return this.#total === 0 ? undefined : this.#lowest * SECOND_MS;
  }
}
