/**
 * Calls of the store that are under way. Their results are noted and the loop is woken; a later
 * turn acts on them in the order in which they came. Nothing here acts between two turns, so that
 * the simulator decides when things happen.
 */
export class StoreCalls {
  readonly #wake: () => void;
  readonly #underWay = new Set<Promise<void>>();
  #ended: ((nowMs: number) => void)[] = [];

  /** `wake` asks for a turn, in which `deliver` is called. */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Exactly one of the two callbacks is called, by `deliver` in a turn after `call` has ended. */
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

  /** Acts on the calls that ended since the last turn. An error in a callback ends the node. */
  deliver(nowMs: number): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended;
    this.#ended = [];
    for (const act of ended) act(nowMs);
  }

  /** Resolves when no call is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
