/**
 * From the bytes that a terminal sends to keys. A key is one character that was typed, or the name
 * of a key without one. Unknown sequences are swallowed whole, so that none of them acts as the
 * letters it is made of. Pure.
 */

/** One character, or one of `NAMES`, all of which are longer. */
export type Key = string;

const ESCAPE = "\u001b";

const NAMES: Readonly<Record<string, Key>> = Object.freeze({
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  "[H": "home",
  "[F": "end",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[5~": "pageUp",
  "[6~": "pageDown",
});

const CONTROLS: Readonly<Record<string, Key>> = Object.freeze({
  "\r": "enter",
  "\n": "enter",
  "\b": "backspace",
  "\u007f": "backspace",
  "\u0003": "interrupt",
  "\u0015": "eraseLine",
  "\u001a": "suspend",
  "\u000c": "redraw",
});

/** A sequence that has come whole: of one function key, or of a modified one. */
const SEQUENCE = /^(?:\[[0-?]*[ -/]*[@-~]|O[@-~])/;
/** The beginning of one. */
const PARTIAL = /^(?:\[[0-?]*[ -/]*|O)?$/;
/** No sequence is longer; what is, is noise. */
const SEQUENCE_LENGTH_MAX = 32;

export class KeyReader {
  #rest = "";

  /** Whether it may be the beginning of a sequence, or the key Escape. */
  get isWaiting(): boolean {
    return this.#rest !== "";
  }

  /** The keys in what has come so far. */
  feed(chunk: string): Key[] {
    const keys: Key[] = [];
    let text = this.#rest + chunk;
    this.#rest = "";
    while (text !== "") {
      if (!text.startsWith(ESCAPE)) {
        const character = String.fromCodePoint(text.codePointAt(0) ?? 0);
        text = text.slice(character.length);
        keys.push(...keyOf(character));
        continue;
      }
      const after = text.slice(1);
      const sequence = SEQUENCE.exec(after)?.[0];
      if (sequence !== undefined) {
        text = after.slice(sequence.length);
        const name = NAMES[sequence];
        if (name !== undefined) keys.push(name);
      } else if (PARTIAL.test(after) && after.length < SEQUENCE_LENGTH_MAX) {
        this.#rest = text;
        text = "";
      } else {
        keys.push("escape");
        text = after;
      }
    }
    return keys;
  }

  /** Nothing came after it in time: it was the key Escape, or is not worth waiting for. */
  flush(): Key[] {
    const isEscape = this.#rest === ESCAPE;
    this.#rest = "";
    return isEscape ? ["escape"] : [];
  }
}

function keyOf(character: string): Key[] {
  const name = CONTROLS[character];
  if (name !== undefined) return [name];
  return /[\p{Cc}\p{Cs}]/u.test(character) ? [] : [character];
}
