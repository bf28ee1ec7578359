/**
 * What makes a hold shared and was sent but not answered: downgrades, and the cancels of upgrades
 * that somebody left. A node may refuse such a command and take the next one, so it may be executed
 * behind an upgrade that was asked for later. Two rules follow: an upgrade is not sent before those
 * that were asked for earlier were answered, and as long as one is on its way nothing is believed
 * to be exclusive.
 */

/** `key`: in which key, `undefined` for all of them. */
export interface Lowering {
  readonly key: string | undefined;
}

export class Lowerings {
  /** Nearly every hold has none, ever. */
  #all: Set<Lowering> | undefined;

  begin(lowering: Lowering): void {
    this.#all ??= new Set();
    this.#all.add(lowering);
  }

  /** Answered, or certainly never executed. */
  end(lowering: Lowering): void {
    this.#all?.delete(lowering);
  }

  /** Whether the key may become shared without another word from here. */
  concern(key: string): boolean {
    if (this.#all === undefined) return false;
    for (const lowering of this.#all) {
      if (lowering.key === undefined || lowering.key === key) return true;
    }
    return false;
  }
}
