/**
 * What the givers of orders were promised. Who was told that an order was carried out, and then gave
 * another one, relies on it that the first has no effect any more: no copy of it is executed behind the
 * other one, however late it comes. And no copy is executed where another one was.
 */
export class PromisedOrders {
  /** By the number of each: how many were answered when it was first said, and when it was itself. */
  readonly #saidAfter = new Map<number, number>();
  readonly #answeredAs = new Map<number, number>();

  onSaid(number: number): void {
    if (!this.#saidAfter.has(number)) this.#saidAfter.set(number, this.#answeredAs.size);
  }

  /** Its client has heard that it was carried out. */
  onAnswered(number: number): void {
    if (!this.#answeredAs.has(number)) this.#answeredAs.set(number, this.#answeredAs.size);
  }

  /** `undefined`: it was not said without a session. */
  saidAfter(number: number): number | undefined {
    return this.#saidAfter.get(number);
  }

  /** Whether its client knew that it was carried out, when another one was first said. */
  wasAnsweredBefore(number: number, saidAfter: number): boolean {
    const answeredAs = this.#answeredAs.get(number);
    return answeredAs !== undefined && answeredAs < saidAfter;
  }
}

/** The orders of one log. */
export class CarriedOutOrders {
  readonly #promised: PromisedOrders;
  readonly #numbers = new Set<number>();
  #newest = 0;

  constructor(promised: PromisedOrders) {
    this.#promised = promised;
  }

  /** In the order of the log. Returns what is wrong. */
  carryOut(number: number): string | undefined {
    const saidAfter = this.#promised.saidAfter(number);
    if (saidAfter === undefined) return undefined;
    if (this.#promised.wasAnsweredBefore(number, this.#newest)) {
      return "takes effect after a later order, which was given when it was answered";
    }
    if (this.#numbers.has(number)) return "takes effect twice";
    this.#numbers.add(number);
    this.#newest = Math.max(this.#newest, saidAfter);
    return undefined;
  }
}
