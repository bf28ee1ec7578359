/**
 * Fencing tokens: each larger than every one before, for ever. A new cluster begins at the UTC
 * seconds of its first stamped entry × 2^21, read from the entry itself, so that every node begins
 * at the same number. That stays below 2^53 until 2106 and above every token that a lost suffix of
 * an older log could have given at up to two million grants a second.
 */
import { assert } from "../assert.js";
import { TOKEN_MIN } from "../protocol/index.js";

const TOKENS_PER_SECOND = 2 ** 21;
const SECONDS_MAX = 2 ** 32 - 1;

export class TokenCounter {
  /** The next token; 0 before the first stamped entry. Never falls. */
  #next: number;

  constructor(next = 0) {
    this.#next = next;
  }

  get next(): number {
    return this.#next;
  }

  /** Fixes the first token. Without effect once it is fixed. */
  begin(wallMs: number): void {
    if (this.#next !== 0) return;
    const seconds = Math.floor(wallMs / 1_000);
    const known = seconds > 0 ? Math.min(seconds, SECONDS_MAX) : 0;
    this.#next = Math.max(TOKEN_MIN, known * TOKENS_PER_SECOND);
  }

  take(): number {
    const token = this.#next;
    assert(token > 0 && token < Number.MAX_SAFE_INTEGER, () => `token ${token} out of range`);
    this.#next = token + 1;
    return token;
  }
}
