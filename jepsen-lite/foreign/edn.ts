/**
 * A reader of EDN (https://github.com/edn-format/edn), the notation in which Jepsen and Knossos
 * write histories. Keywords and symbols become strings, sets become arrays, a tag is dropped and
 * its value kept. It keeps its own stack, so that nesting in a file does not nest calls.
 */
import { BadHistoryError } from "../checker/index.js";

export interface EdnForm {
  readonly value: unknown;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

type Closer = ")" | "]" | "}";

interface OpenForm {
  readonly closer: Closer;
  readonly isMap: boolean;
  readonly line: number;
  readonly items: EdnForm[];
  /** `#_` in front of it: read and discarded. */
  readonly isDiscarded: boolean;
}

const CLOSERS: Readonly<Record<string, Closer>> = { "(": ")", "[": "]", "{": "}" };
const DELIMITER = /[\s,()[\]{}";]/;
const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  backspace: "\b",
  formfeed: "\f",
  newline: "\n",
  return: "\r",
  space: " ",
  tab: "\t",
};
const CHARACTER_CODE = /^u([\da-f]{4})$/i;
const STRING_ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** All top-level forms of the text. Elements of lists and vectors are forms with lines, too. */
export function readEdn(text: string, firstLine = 1): EdnForm[] {
  return new EdnReader(text, firstLine).read();
}

class EdnReader {
  readonly #text: string;
  #at = 0;
  #line: number;
  readonly #open: OpenForm[] = [];
  readonly #forms: EdnForm[] = [];
  #discards = 0;

  constructor(text: string, firstLine: number) {
    this.#text = text;
    this.#line = firstLine;
  }

  read(): EdnForm[] {
    for (;;) {
      this.#skipBlank();
      const character = this.#text[this.#at];
      if (character === undefined) break;
      this.#readNext(character);
    }
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) {
      throw new BadHistoryError(
        `the file is truncated: what opens here is never closed by "${unclosed.closer}"`,
        unclosed.line,
      );
    }
    return this.#forms;
  }

  #readNext(character: string): void {
    const closer = CLOSERS[character];
    const line = this.#line;
    if (closer !== undefined) this.#enter(closer, character === "{", 1);
    else if (character === ")" || character === "]" || character === "}") this.#leave(character);
    else if (character === '"') this.#add(this.#readString(), line);
    else if (character === "#") this.#readDispatch();
    else if (character === "\\") this.#add(this.#readCharacter(), line);
    else this.#add(atom(this.#readToken(), line), line);
  }

  #readDispatch(): void {
    const next = this.#text[this.#at + 1];
    if (next === "{") {
      this.#enter("}", false, 2);
    } else if (next === "_") {
      this.#at += 2;
      this.#discards += 1;
    } else {
      // A tag: its value follows as the next form.
      this.#at += 1;
      this.#readToken();
    }
  }

  #enter(closer: Closer, isMap: boolean, length: number): void {
    const isDiscarded = this.#discards > 0;
    if (isDiscarded) this.#discards -= 1;
    this.#open.push({ closer, isMap, line: this.#line, items: [], isDiscarded });
    this.#at += length;
  }

  #leave(closer: Closer): void {
    const form = this.#open.pop();
    if (form === undefined || form.closer !== closer) {
      throw new BadHistoryError(`"${closer}" closes nothing`, this.#line);
    }
    this.#at += 1;
    if (form.isDiscarded) return;
    this.#place({ value: form.isMap ? toRecord(form) : form.items, line: form.line });
  }

  #add(value: unknown, line: number): void {
    if (this.#discards > 0) {
      this.#discards -= 1;
      return;
    }
    this.#place({ value, line });
  }

  #place(form: EdnForm): void {
    (this.#open.at(-1)?.items ?? this.#forms).push(form);
  }

  #skipBlank(): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === ";") {
        const newline = this.#text.indexOf("\n", this.#at);
        this.#at = newline === -1 ? this.#text.length : newline;
      } else if (character !== undefined && (character === "," || /\s/.test(character))) {
        if (character === "\n") this.#line += 1;
        this.#at += 1;
      } else {
        return;
      }
    }
  }

  #readToken(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !DELIMITER.test(this.#text[this.#at] ?? "")) {
      this.#at += 1;
    }
    if (this.#at === start) {
      throw new BadHistoryError(
        `unexpected ${JSON.stringify(this.#text[start] ?? "")}`,
        this.#line,
      );
    }
    return this.#text.slice(start, this.#at);
  }

  #readString(): string {
    const line = this.#line;
    let content = "";
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const character = this.#text[at] as string;
      if (character === '"') {
        this.#at = at + 1;
        return content;
      }
      if (character === "\n") this.#line += 1;
      if (character !== "\\") {
        content += character;
        continue;
      }
      at += 1;
      const escaped = this.#text[at] ?? "";
      if (escaped === "u") {
        content += String.fromCharCode(Number.parseInt(this.#text.slice(at + 1, at + 5), 16));
        at += 4;
      } else {
        content += STRING_ESCAPES[escaped] ?? escaped;
      }
    }
    throw new BadHistoryError("the file is truncated: this string is never closed", line);
  }

  #readCharacter(): string {
    this.#at += 1;
    const first = this.#text[this.#at] ?? "";
    this.#at += 1;
    const rest = DELIMITER.test(this.#text[this.#at] ?? " ") ? "" : this.#readToken();
    const name = first + rest;
    const [, code] = CHARACTER_CODE.exec(name) ?? [];
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return CHARACTER_NAMES[name] ?? name;
  }
}

function toRecord(form: OpenForm): Record<string, unknown> {
  if (form.items.length % 2 !== 0) {
    throw new BadHistoryError("a map has a key without a value", form.line);
  }
  const record: Record<string, unknown> = Object.create(null);
  for (let at = 0; at < form.items.length; at += 2) {
    record[String(form.items[at]?.value)] = plainValue(form.items[at + 1]?.value);
  }
  return record;
}

/** Removes the lines from the elements of a list, level by level. */
export function plainValue(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const root: unknown[] = [];
  const work: { from: readonly EdnForm[]; to: unknown[] }[] = [{ from: value, to: root }];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    for (const form of next.from) {
      if (Array.isArray(form.value)) {
        const inner: unknown[] = [];
        next.to.push(inner);
        work.push({ from: form.value as EdnForm[], to: inner });
      } else {
        next.to.push(form.value);
      }
    }
  }
  return root;
}

function atom(token: string, line: number): unknown {
  if (token === "nil") return null;
  if (token === "true") return true;
  if (token === "false") return false;
  if (token.startsWith(":")) {
    if (token.length === 1) throw new BadHistoryError('":" is not a keyword', line);
    return token.slice(1);
  }
  if (/^[+-]?\d/.test(token)) {
    const number = Number(token.replace(/[NM]$/, ""));
    const isExact = Number.isSafeInteger(number) || /[.eE]/.test(token);
    return Number.isFinite(number) && isExact ? number : token;
  }
  return token;
}
