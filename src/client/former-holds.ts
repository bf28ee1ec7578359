/**
 * Holds that nobody here has any more, as long as an answer may still hand them out: a hold that is
 * counted is granted by several answers, of which one may come, told again, when the others were
 * given back. That answer says what was asked for, and nothing of what became of the hold since: that
 * it was made shared, and under which token the table knows it. Rule: what was made shared here is
 * not believed to be exclusive by a word from before.
 */
import type { CommandWindow } from "./command-window.js";
import type { Hold } from "./hold.js";

interface FormerHold {
  readonly hold: Hold;
  /** Who was granted it before it was left had asked with an earlier sequence. */
  readonly sequenceEnd: number;
}

const NONE: readonly FormerHold[] = Object.freeze([]);

export class FormerHolds {
  readonly #window: Pick<CommandWindow, "mark" | "nextSequence">;
  /** In the order in which they were left. Nearly always there are none. */
  #all = NONE;

  constructor(window: Pick<CommandWindow, "mark" | "nextSequence">) {
    this.#window = window;
  }

  /** `isAwaited`: whether somebody was granted the hold and waits to hear that it is still held. */
  add(hold: Hold, isAwaited: (hold: Hold) => boolean): void {
    if (!hold.isAltered && this.#all.length === 0) return;
    const { mark, nextSequence } = this.#window;
    const isNamed = (former: FormerHold): boolean => {
      return mark < former.sequenceEnd || isAwaited(former.hold);
    };
    const entry = { hold, sequenceEnd: nextSequence };
    const all = hold.isAltered ? [...this.#all, entry] : this.#all;
    this.#all = all.filter(isNamed);
  }

  /** By any of its tokens, as it was left last. */
  find(token: number): Hold | undefined {
    return this.#all.findLast(({ hold }) => hold.hasToken(token))?.hold;
  }

  *all(): Generator<Hold> {
    for (const { hold } of this.#all) yield hold;
  }

  clear(): void {
    this.#all = NONE;
  }
}
