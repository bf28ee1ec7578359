/**
 * Fencing tokens: each is larger than every one before it, forever. A new cluster begins at the
 * UTC seconds of its first stamped entry × 2^21, read from the entry, so that every node begins at
 * the same number. That stays below 2^53 until 2106, and above every token that a lost suffix of an
 * older log could have given, at up to two million grants a second. A restored cluster begins in
 * the same way, and above the tokens of the old one.
 */
import { assert } from "../errors/index.js";
import { TOKEN_MIN } from "../protocol/index.js";

const TOKENS_PER_SECOND = 2 ** 21;
/**
 * No counter begins above this, whatever a clock or an operator says: that leaves 2^46 tokens up to
 * 2^53, enough for a year of two million grants a second.
 */
export const TOKEN_FLOOR_MAX = 2 ** 53 - 2 ** 46;
/**
 * From here on, commands that could get a token are refused. The remaining 2^32 tokens are for
 * requests that already wait, of which no table can have that many.
 */
export const TOKENS_END = 2 ** 53 - 2 ** 32;
/** The tokens of one day: allows for clocks that disagree by up to a day. */
export const TOKEN_JUMP = 86_400 * TOKENS_PER_SECOND;

export class TokenCounter {
  /** The next token; 0 before the first stamped entry. Never falls. */
  #next: number;
  /**
   * The wall clock, in milliseconds, since which another cluster may have given tokens from `#next`
   * on; the first stamped entry says how long that was. 0 if there is no such cluster.
   */
  #leftAtMs: number;

  constructor(next = 0, leftAtMs = 0) {
    this.#next = next;
    this.#leftAtMs = leftAtMs;
  }

  get next(): number {
    return this.#next;
  }

  get leftAtMs(): number {
    return this.#leftAtMs;
  }

  /** Fixes the first token of this cluster. Has no effect once it is fixed. */
  begin(wallMs: number): void {
    if (this.#next !== 0 && this.#leftAtMs === 0) return;
    const seconds = secondsOf(wallMs);
    const elapsed = Math.max(0, seconds - secondsOf(this.#leftAtMs));
    const counted = this.#next === 0 ? 0 : this.#next + elapsed * TOKENS_PER_SECOND;
    const first = Math.max(TOKEN_MIN, counted, seconds * TOKENS_PER_SECOND);
    this.#next = Math.max(this.#next, Math.min(first, TOKEN_FLOOR_MAX));
    this.#leftAtMs = 0;
  }

  /** Whether commands that could get a token are now refused. */
  get isExhausted(): boolean {
    return this.#next >= TOKENS_END;
  }

  take(): number {
    const token = this.#next;
    assert(token > 0 && token < Number.MAX_SAFE_INTEGER, () => `token ${token} out of range`);
    this.#next = token + 1;
    return token;
  }
}

function secondsOf(wallMs: number): number {
  return Math.max(0, Math.floor(wallMs / 1_000));
}
