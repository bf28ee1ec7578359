/**
 * How long a client waits for the next sign of a node that it dials. A node that does not answer is
 * given up soon, because another one may serve. But thousands of clients that come to one node
 * together make it slow, and if each gives up before its turn and dials again, the node works for
 * connections that are gone, and none is ever ready. So the patience doubles with each node that was
 * too slow, until one serves. It must not read a clock or set a timer: its owner has both.
 */

/** The longest patience, in first ones: some seconds, which is what the handshakes of a storm take. */
const GROWTH_MAX = 4;
/**
 * An answer may have arrived while this process itself stood still, and timers run before sockets
 * are read: so the node is looked at twice.
 */
const SECOND_LOOK_MS = 50;

export class DialPatience {
  readonly #firstMs: number;
  #ms: number;
  #isDoubted = false;

  /** @param firstMs for the first node, in milliseconds */
  constructor(firstMs: number) {
    this.#firstMs = firstMs;
    this.#ms = firstMs;
  }

  /** A node is dialed, or has shown a sign. Returns when the next sign is due. */
  begin(nowMs: number): number {
    this.#isDoubted = false;
    return nowMs + this.#ms;
  }

  /** No sign has come when it was due. Returns when to look again; `undefined`: it is given up. */
  secondLook(nowMs: number): number | undefined {
    if (!this.#isDoubted) {
      this.#isDoubted = true;
      return nowMs + SECOND_LOOK_MS;
    }
    this.#ms = Math.min(this.#ms * 2, this.#firstMs * GROWTH_MAX);
    return undefined;
  }

  /** A node serves. */
  served(): void {
    this.#ms = this.#firstMs;
  }
}
