/**
 * A pattern of Redis: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a character that stands for itself.
 * It is an automaton whose states are bits: state n is "the parts before n are matched", and a star is a
 * state that stays. So a match takes a step for each character and each 32 parts, whatever the pattern
 * is and however many stars it has.
 */
type Part = (code: number) => boolean;

/** Names of channels are bytes. */
const CODES = 256;
const WORD_BITS = 32;

export class Glob {
  readonly #parts: readonly Part[];
  readonly #words: number;
  /** States with a star. */
  readonly #staying: Uint32Array;
  /** Parts that accept a byte, as bits; made when a text first has it. */
  readonly #accepting: (Uint32Array | undefined)[] = [];

  constructor(pattern: string) {
    const parts: Part[] = [];
    const stars: number[] = [];
    for (let at = 0; at < pattern.length; at++) {
      const character = pattern[at] as string;
      const close = character === "[" ? pattern.indexOf("]", at + 1) : -1;
      if (character === "*") {
        stars.push(parts.length);
      } else if (character === "?") {
        parts.push(() => true);
      } else if (close > at + 1) {
        parts.push(oneOf(pattern.slice(at + 1, close)));
        at = close;
      } else {
        if (character === "\\" && at + 1 < pattern.length) at += 1;
        const literal = pattern.charCodeAt(at);
        parts.push((code) => code === literal);
      }
    }
    this.#parts = parts;
    this.#words = Math.floor(parts.length / WORD_BITS) + 1;
    this.#staying = this.#bits();
    for (const star of stars) setBit(this.#staying, star);
  }

  /** `text`: bytes in latin1. */
  matches(text: string): boolean {
    const staying = this.#staying;
    const states = this.#bits();
    setBit(states, 0);
    for (let at = 0; at < text.length; at++) {
      const accepting = this.#acceptingOf(text.charCodeAt(at) % CODES);
      let carry = 0;
      let any = 0;
      for (let word = 0; word < states.length; word++) {
        const before = states[word] as number;
        const moved = before & (accepting[word] as number);
        const after = (moved << 1) | carry | (before & (staying[word] as number));
        carry = moved >>> (WORD_BITS - 1);
        states[word] = after;
        any |= after;
      }
      if (any === 0) return false;
    }
    return hasBit(states, this.#parts.length);
  }

  #acceptingOf(code: number): Uint32Array {
    const known = this.#accepting[code];
    if (known !== undefined) return known;
    const bits = this.#bits();
    this.#parts.forEach((accepts, part) => {
      if (accepts(code)) setBit(bits, part);
    });
    this.#accepting[code] = bits;
    return bits;
  }

  #bits(): Uint32Array {
    return new Uint32Array(this.#words);
  }
}

function setBit(bits: Uint32Array, bit: number): void {
  const word = Math.floor(bit / WORD_BITS);
  bits[word] = (bits[word] as number) | (1 << (bit % WORD_BITS));
}

function hasBit(bits: Uint32Array, bit: number): boolean {
  return (((bits[Math.floor(bit / WORD_BITS)] as number) >>> (bit % WORD_BITS)) & 1) === 1;
}

function oneOf(members: string): Part {
  const isNegated = members.startsWith("^");
  const listed = isNegated ? members.slice(1) : members;
  return (code) => isNegated !== isListed(listed, code);
}

function isListed(listed: string, code: number): boolean {
  for (let at = 0; at < listed.length; at++) {
    const first = listed.charCodeAt(at);
    if (listed[at + 1] !== "-" || at + 2 >= listed.length) {
      if (first === code) return true;
      continue;
    }
    const last = listed.charCodeAt(at + 2);
    if (code >= Math.min(first, last) && code <= Math.max(first, last)) return true;
    at += 2;
  }
  return false;
}
