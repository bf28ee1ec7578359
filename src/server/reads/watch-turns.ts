/**
 * Watches that are behind. Askers take turns: many watches of one identity that want old changes
 * make its own watches wait, and watches of others no longer than one of its turns takes.
 */
import type { ServedWatch } from "../commands/served-watch.js";
import type { Usage } from "../limits/usage.js";

export class WatchTurns {
  /** The first one has the turn; none is empty. */
  readonly #lines = new Map<Usage, Set<ServedWatch>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those who have watches here. */
  get askers(): number {
    return this.#lines.size;
  }

  /** At the end of its line. */
  add(watch: ServedWatch): void {
    const line = this.#lines.get(watch.asker);
    if (line === undefined) this.#lines.set(watch.asker, new Set([watch]));
    else if (line.has(watch)) return;
    else line.add(watch);
    this.#size += 1;
  }

  delete(watch: ServedWatch): void {
    const line = this.#lines.get(watch.asker);
    if (line?.delete(watch) !== true) return;
    this.#size -= 1;
    if (line.size === 0) this.#lines.delete(watch.asker);
  }

  /**
   * Every watch that is here now, at most once: one of each asker, then the next of each. Where the
   * caller stops, the next call goes on.
   */
  *inTurns(): Generator<ServedWatch> {
    const rounds = [...this.#lines].map(([asker, line]) => ({ asker, watches: [...line] }));
    const length = Math.max(0, ...rounds.map(({ watches }) => watches.length));
    for (let i = 0; i < length; i += 1) {
      for (const { asker, watches } of rounds) {
        const watch = watches[i];
        if (watch?.state !== "behind") continue;
        this.#endTurn(asker);
        yield watch;
      }
    }
  }

  #endTurn(asker: Usage): void {
    const line = this.#lines.get(asker);
    this.#lines.delete(asker);
    if (line !== undefined) this.#lines.set(asker, line);
  }
}
