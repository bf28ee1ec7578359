/**
 * A box between two nodes that forwards whole frames: some of them twice, or later than those
 * after them. It belongs to one connection; what it still has is lost when that ends.
 */
import type { RandomStream } from "../../../../lab/random-stream.js";

export class MiddleBox<Frame> {
  readonly #random: RandomStream;
  readonly #shareOf: () => number;
  readonly #pass: (frame: Frame) => void;
  /** To be passed on after frames that came later. */
  readonly #kept: Frame[] = [];

  /** `shareOf`: of the frames, at the time; 0 … 1. */
  constructor(random: RandomStream, shareOf: () => number, pass: (frame: Frame) => void) {
    this.#random = random;
    this.#shareOf = shareOf;
    this.#pass = pass;
  }

  take(frame: Frame): void {
    const share = this.#shareOf();
    const isDisturbed = share > 0 && this.#random.chance(share);
    const isLate = isDisturbed && this.#random.chance(0.5);
    if (!isLate) this.#pass(frame);
    for (let left = this.#kept.length; left > 0; left -= 1) {
      const [kept] = this.#kept.splice(this.#random.below(this.#kept.length), 1);
      if (kept !== undefined) this.#passOrKeep(kept, share);
    }
    if (isDisturbed) this.#kept.push(frame);
  }

  #passOrKeep(frame: Frame, share: number): void {
    if (share > 0 && this.#random.chance(0.5)) this.#kept.push(frame);
    else this.#pass(frame);
  }
}
