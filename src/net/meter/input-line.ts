/**
 * Inputs of one party that wait until it may be heard again. Addresses take turns, and so do the inputs
 * of each, so that a thousand connections of one address do not keep a single one of another waiting.
 */
export class InputLine<T extends { readonly address: string }> {
  /** The next ones first. */
  readonly #byAddress = new Map<string, Set<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** One that waits already keeps its place. Returns whether it has just come. */
  add(input: T): boolean {
    const { address } = input;
    const inputs = this.#byAddress.get(address);
    if (inputs?.has(input) === true) return false;
    if (inputs === undefined) this.#byAddress.set(address, new Set([input]));
    else inputs.add(input);
    this.#length += 1;
    return true;
  }

  delete(input: T): void {
    const inputs = this.#byAddress.get(input.address);
    if (inputs?.delete(input) !== true) return;
    this.#length -= 1;
    if (inputs.size === 0) this.#byAddress.delete(input.address);
  }

  /** Takes out the one whose turn it is. */
  shift(): T | undefined {
    for (const [address, inputs] of this.#byAddress) {
      this.#byAddress.delete(address);
      for (const input of inputs) {
        inputs.delete(input);
        this.#length -= 1;
        if (inputs.size > 0) this.#byAddress.set(address, inputs);
        return input;
      }
    }
    return undefined;
  }
}
