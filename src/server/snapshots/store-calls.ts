/**
 * Calls of the snapshot store that are under way. What comes of them is noted, the loop is woken,
 * and a later turn acts on it, in the order in which they ended: nothing here acts between two
 * turns, so that the simulator decides when things happen.
 */
export class StoreCalls {
  readonly #wake: () => void;
  readonly #underWay = new Set<Promise<void>>();
  #ended: ((nowMs: number) => void)[] = [];

  /** `wake`: a turn should follow, in which `deliver` is called. */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Exactly one of the two is called, by `deliver` in a turn after `call` ended. */
  run<T>(
    call: Promise<T>,
    onDone: (value: T, nowMs: number) => void,
    onFailure: (error: unknown, nowMs: number) => void,
  ): void {
    const noted = call
      .then(
        (value) => this.#ended.push((nowMs) => onDone(value, nowMs)),
        (error) => this.#ended.push((nowMs) => onFailure(error, nowMs)),
      )
      .then(() => {
        this.#underWay.delete(noted);
        this.#wake();
      });
    this.#underWay.add(noted);
  }

  /** Acts on what ended since the last turn. What a call's caller throws ends the node. */
  deliver(nowMs: number): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended;
    this.#ended = [];
    for (const act of ended) act(nowMs);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
