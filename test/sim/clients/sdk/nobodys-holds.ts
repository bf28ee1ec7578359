/**
 * Over one connection: once a process can have said everything that it has to say, each hold of its session
 * has a handle or a caller. It can have when a keepalive is answered that it sent after a turn in which a
 * hold that it knew of was nobody's: what gives that back went before. A node that had no room for
 * something may not have had it for that either, so then nothing is demanded on this connection any more.
 */
export class NobodysHolds {
  readonly #now: () => readonly number[];
  /** Since when each was nobody's, by number. */
  readonly #sinceMs = new Map<number, number>();
  /** By the number of a keepalive: those that were nobody's before it. */
  readonly #before = new Map<number, readonly number[]>();
  #isExcused = false;

  /** `now`: the numbers of those that the process knows of and that are nobody's, by the log. */
  constructor(now: () => readonly number[]) {
    this.#now = now;
  }

  onKeepalive(keepalive: number, nowMs: number): void {
    if (this.#isExcused) return;
    const numbers = this.#now();
    for (const known of this.#sinceMs.keys()) {
      if (!numbers.includes(known)) this.#sinceMs.delete(known);
    }
    const before = numbers.filter((number) => (this.#sinceMs.get(number) ?? nowMs) < nowMs);
    for (const number of numbers) {
      if (!this.#sinceMs.has(number)) this.#sinceMs.set(number, nowMs);
    }
    if (before.length > 0) this.#before.set(keepalive, before);
  }

  /** Returns the number of one that is nobody's all the same; `undefined`: none is. */
  onAnswered(keepalive: number): number | undefined {
    const before = this.#before.get(keepalive);
    this.#before.delete(keepalive);
    if (before === undefined || this.#isExcused) return undefined;
    const numbers = this.#now();
    return before.find((number) => this.#sinceMs.has(number) && numbers.includes(number));
  }

  onRefused(): void {
    this.#isExcused = true;
  }
}
