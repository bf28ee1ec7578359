/**
 * Which web pages were turned away, so that each is told to the operator once: a page that tries
 * again and again must not fill the log.
 */

/** Whoever invents origins gets no further lines, nor memory. */
const ORIGINS_MAX = 64;

export class RefusedOrigins {
  readonly #told = new Set<string>();

  /** Whether a page of this origin is refused for the first time. */
  isNew(origin: string): boolean {
    if (this.#told.size >= ORIGINS_MAX || this.#told.has(origin)) return false;
    this.#told.add(origin);
    return true;
  }
}
