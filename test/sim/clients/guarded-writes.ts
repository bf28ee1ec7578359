/**
 * Writes to the resource that the locks protect, by clients that rely on a hold, and by clients
 * that had one and do not know, or do not check, that it is over. The resource decides about
 * them.
 */
import type { RandomStream } from "../../../lab/random-stream.js";
import type { HeldBelief } from "./belief.js";
import type { ClientWatch } from "./client-watch.js";

/** This many holds are still used after they ended. */
const REMEMBERED_MAX = 6;

interface Remembered {
  readonly belief: HeldBelief;
  /** As the process knew it then. */
  readonly token: number;
}

export class GuardedWrites {
  readonly #random: RandomStream;
  readonly #share: number;
  readonly #watch: ClientWatch;
  #remembered: Remembered[] = [];

  constructor(random: RandomStream, share: number, watch: ClientWatch) {
    this.#random = random;
    this.#share = share;
    this.#watch = watch;
  }

  /** It counts on this hold now, under this token. */
  learn(belief: HeldBelief): void {
    const { token, givenUp } = belief;
    if (givenUp !== undefined) return;
    if (this.#remembered.some((other) => other.belief === belief && other.token === token)) return;
    this.#remembered = [...this.#remembered, { belief, token }].slice(-REMEMBERED_MAX);
  }

  write(): void {
    if (!this.#random.chance(this.#share)) return;
    const chosen = this.#random.pickOrNone(this.#remembered);
    if (chosen === undefined) return;
    const { belief, token } = chosen;
    const { key, mode, slots } = this.#random.pick(belief.claims);
    if (mode === "permits" && slots.length === 0) return;
    const slot = mode === "permits" ? this.#random.pick(slots) : 0;
    this.#watch.onWrite({ key, mode, slot, token, belief });
  }
}
