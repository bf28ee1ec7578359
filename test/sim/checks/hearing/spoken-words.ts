/**
 * On one connection, a client receives every message that the log addressed to it since it was
 * attached, in the order of the log and without a gap. A message that the log never produced,
 * and one that is left out, are both found here.
 *
 * A connection is identified by the entry that attached it and not by its epoch: copies of one
 * attempt have the same epoch, and each is answered (`docs/internals/semantics.md`, 3.2). What
 * was said between two copies was for the client that waited for the first; a client that waited
 * for the second recalls it.
 */
import type { Attached, SessionMessage } from "../../../../src/protocol/index.js";
import { canonicalTextOf } from "../canonical-text.js";

/** What was said to a session in one epoch. */
interface Speech {
  readonly words: string[];
  /** By the entries that attached: how many words came before. */
  readonly before: Map<number, number>;
  /** Where the client is that was attached last. */
  heard: number;
}

export class SpokenWords {
  /** By session and epoch. */
  readonly #speeches = new Map<string, Speech>();

  /**
   * The table said so. If an entry has several copies, the client that waits gets the answer to the
   * first.
   */
  sayAttached({ session, epoch, index }: Attached): void {
    const { words, before } = this.#speechOf(session, epoch);
    if (!before.has(index)) before.set(index, words.length);
  }

  say(session: number, epoch: number, words: string): void {
    this.#speechOf(session, epoch).words.push(words);
  }

  /** On a new connection. That it was said is for others to see. */
  hearAttached({ session, epoch, index }: Attached): void {
    const speech = this.#speechOf(session, epoch);
    speech.heard = speech.before.get(index) ?? 0;
  }

  /** Returns what is wrong. */
  hear(session: number, epoch: number, message: SessionMessage): string | undefined {
    const speech = this.#speechOf(session, epoch);
    const expected = speech.words[speech.heard];
    const words = canonicalTextOf(message);
    speech.heard += 1;
    if (expected === words) return undefined;
    return `session ${session}/${epoch} hears ${words} instead of ${expected ?? "nothing"}`;
  }

  #speechOf(session: number, epoch: number): Speech {
    const key = `${session}/${epoch}`;
    let speech = this.#speeches.get(key);
    if (speech === undefined) {
      speech = { words: [], before: new Map(), heard: 0 };
      this.#speeches.set(key, speech);
    }
    return speech;
  }
}
