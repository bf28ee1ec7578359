/**
 * Which strangers the operator was told of, so that each is told once: a page or a scraper that
 * tries again and again must not fill the log.
 */

/** An attacker who invents names gets no further lines, nor memory. */
const NAMES_MAX = 64;

export class ToldOnce {
  readonly #told = new Set<string>();

  /** Whether this is the first time that `name` is met. */
  isNew(name: string): boolean {
    if (this.#told.size >= NAMES_MAX || this.#told.has(name)) return false;
    this.#told.add(name);
    return true;
  }
}
