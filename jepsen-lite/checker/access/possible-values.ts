/**
 * A value that operations replace, each at an unknown moment between its invocation and its
 * completion: which values it can have had during some other operation. A change of unknown outcome
 * may happen at any time after its invocation, even after later changes, or never.
 */
interface Change<T> {
  readonly value: T;
  /** The operation that made it; `undefined`: it was so from the beginning. */
  readonly by: Span | undefined;
  readonly invokedAt: number;
  /** `Infinity` if its outcome is unknown. */
  readonly returnedAt: number;
}

/** Positions in the history. */
export interface Span {
  readonly invokedAt: number;
  readonly returnedAt: number;
}

const BEFORE_ALL = -1;

export class PossibleValues<T> {
  /** In the order of their invocations. */
  readonly #changes: Change<T>[];

  constructor(first: T) {
    this.#changes = [
      { value: first, by: undefined, invokedAt: BEFORE_ALL, returnedAt: BEFORE_ALL },
    ];
  }

  add(value: T, by: Span): void {
    const { invokedAt, returnedAt } = by;
    const at = this.#changes.findLastIndex((change) => change.invokedAt <= invokedAt);
    this.#changes.splice(at + 1, 0, { value, by, invokedAt, returnedAt });
  }

  /** All values that it has ever had, or may have had. */
  get all(): T[] {
    return this.#changes.map(({ value }) => value);
  }

  /**
   * All values that it can have had at some moment of the span; at least one. A change does not
   * justify itself: for its own span it counts as not made.
   */
  during(span: Span): T[] {
    const { invokedAt, returnedAt } = span;
    let replacedAt = BEFORE_ALL;
    for (const change of this.#changes) {
      if (change.invokedAt >= invokedAt) break;
      if (change.returnedAt < invokedAt) replacedAt = Math.max(replacedAt, change.invokedAt);
    }
    return this.#changes
      .filter((change) => change.invokedAt < returnedAt && change.returnedAt >= replacedAt)
      .filter(({ by }) => by !== span)
      .map(({ value }) => value);
  }
}
