/**
 * Remembers which names the operator has seen in the log, so that each is reported once: a page or
 * a scraper that tries again and again must not fill the log.
 */

/**
 * Names beyond this are not reported, so that an attacker who invents names gets no further lines
 * and no memory.
 */
const NAMES_MAX = 64;

export class ReportedNames {
  readonly #names = new Set<string>();

  /** Whether `name` is to be reported: true the first time, while there is room. */
  isNew(name: string): boolean {
    if (this.#names.size >= NAMES_MAX || this.#names.has(name)) return false;
    this.#names.add(name);
    return true;
  }
}
