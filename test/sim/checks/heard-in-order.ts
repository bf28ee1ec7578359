/**
 * On one connection a client hears everything that was said to it since it was attached, in the order
 * of the log and without a gap. What was never said cannot be heard; what is left out is found here.
 */
import type { SessionMessage } from "../../../src/protocol/index.js";
import { wordsOf } from "./words.js";

export class SpokenWords {
  /** By session and epoch. */
  readonly #said = new Map<string, string[]>();
  /** How many of them were heard. */
  readonly #heard = new Map<string, number>();

  say(session: number, epoch: number, words: string): void {
    const key = `${session}/${epoch}`;
    const said = this.#said.get(key);
    if (said === undefined) this.#said.set(key, [words]);
    else said.push(words);
  }

  /** Returns what is wrong. */
  hear(session: number, epoch: number, message: SessionMessage): string | undefined {
    const key = `${session}/${epoch}`;
    const at = this.#heard.get(key) ?? 0;
    const expected = this.#said.get(key)?.[at];
    const words = wordsOf(message);
    this.#heard.set(key, at + 1);
    if (expected === words) return undefined;
    return `session ${key} hears ${words} instead of ${expected ?? "nothing"}`;
  }
}
