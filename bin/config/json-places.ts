/**
 * Positions in a JSON text, for messages that name the line: the first syntax error, and the keys
 * of the outermost object. Accepts the texts that `JSON.parse` accepts and no others (but none with
 * more than 200 levels), and never repeats what it read: there may be a secret in it. Source: RFC
 * 8259. Pure.
 */

/** One key of the outermost object. */
export interface PlacedKey {
  readonly name: string;
  /** Counted from 1. */
  readonly line: number;
}

/** A syntax error and its position. */
export class JsonProblem extends Error {
  override readonly name = "JsonProblem";
  /** Both counted from 1. */
  readonly line: number;
  readonly column: number;

  constructor(problem: string, line: number, column: number) {
    super(problem);
    this.line = line;
    this.column = column;
  }
}

const SPACE = /[ \t\n\r]*/y;
/** All code units from the space on, except quote and backslash, may appear unescaped. */
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** Far above any configuration, far below the depth at which the scan would run out of stack. */
const DEPTH_MAX = 200;

/** In order, each as often as it appears; none if the text is not an object. */
export function keysIn(text: string): PlacedKey[] {
  const scan = new Scan(text);
  scan.value(0);
  scan.end();
  return scan.keys;
}

class Scan {
  readonly keys: PlacedKey[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#skip(SPACE);
  }

  value(depth: number): void {
    const first = this.#text[this.#at];
    if (depth > DEPTH_MAX) throw this.#problem(`more than ${DEPTH_MAX} levels`);
    if (first === "{") this.#list("}", () => this.#member(depth));
    else if (first === "[") this.#list("]", () => this.value(depth + 1));
    else if (first === '"') this.#string();
    else if (this.#skip(SCALAR) === "") throw this.#expected("a value");
    this.#skip(SPACE);
  }

  end(): void {
    if (this.#at < this.#text.length) throw this.#expected("the end");
  }

  #list(end: string, part: () => void): void {
    this.#at += 1;
    this.#skip(SPACE);
    if (this.#takes(end)) return;
    do part();
    while (this.#takes(","));
    if (!this.#takes(end)) throw this.#expected(`"," or "${end}"`);
  }

  #member(depth: number): void {
    if (this.#text[this.#at] !== '"') throw this.#expected("a key in double quotes");
    const { line } = this.#place();
    const name: unknown = JSON.parse(this.#string());
    if (depth === 0) this.keys.push({ name: String(name), line });
    this.#skip(SPACE);
    if (!this.#takes(":")) throw this.#expected('":"');
    this.value(depth + 1);
  }

  #string(): string {
    const text = this.#skip(STRING);
    if (text === "")
      throw this.#problem("a string without its closing quote, or with a line break");
    return text;
  }

  /** Whether `sign` is next; if it is, moves past it and the space after it. */
  #takes(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    this.#skip(SPACE);
    return true;
  }

  /** The text that matches here; moves past it. */
  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #expected(what: string): JsonProblem {
    const isEnd = this.#at === this.#text.length;
    return this.#problem(`${what} was expected${isEnd ? ", but the text ends" : ""}`);
  }

  #problem(problem: string): JsonProblem {
    const { line, column } = this.#place();
    return new JsonProblem(problem, line, column);
  }

  #place(): { line: number; column: number } {
    const before = this.#text.slice(0, this.#at).split(/\r\n|\n|\r/);
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}
