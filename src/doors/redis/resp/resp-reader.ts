/**
 * Reads commands from the bytes of a connection: arrays of bulk strings, in RESP2 and RESP3 alike.
 * The inline commands of Redis are lines that people type; only the ones that health checks send
 * are read, which change nothing: a request of another protocol would be taken for one, and a
 * browser can be made to send those.
 */
import { Buffer } from "node:buffer";

/** Arguments of one command. The longest that is answered is a script with 16 keys. */
const ARGUMENTS_MAX = 128;
/** A length of up to ten digits, its mark and the end of its line. */
const HEADER_BYTES_MAX = 13;
/** What an argument costs besides its bytes. */
const ARGUMENT_COST_BYTES = 96;
const NOTHING = Buffer.alloc(0);
/** The commands that may come as a line, and the longest line. */
const INLINE = ["PING", "INFO", "AUTH", "QUIT"];
const INLINE_HEAD = /^[A-Z]{0,4}$|^[A-Z]{4}[ \t\r\n]$/;
const INLINE_BYTES_MAX = 256;
const BLANKS = /[ \t]+/;
const ARRAY = 0x2a;
const BULK = 0x24;
const CR = 0x0d;
const LF = 0x0a;
const ZERO = 0x30;
const NINE = 0x39;
const TLS_HANDSHAKE = 0x16;
/** Beginnings of HTTP requests. */
const HTTP = /^(?:GET |POST|PUT |HEAD|DELE|OPTI|PATC|CONN|TRAC|Host|host)/;

/** The bytes are not commands; the connection ends. */
export class ProtocolProblem extends Error {
  override readonly name = "ProtocolProblem";
  /** The other side speaks another protocol and would not understand an answer. */
  readonly isSilent: boolean;

  constructor(message: string, isSilent = false) {
    super(message);
    this.isSilent = isSilent;
  }
}

export class RespReader {
  /** What has come and belongs to no command that was read, from `#at` to `#end`. */
  #bytes: Buffer = NOTHING;
  /** Where the next part begins that was not read. */
  #at = 0;
  #end = 0;
  /** Whether `#bytes` was made here, with room after `#end`. What is before it never changes. */
  #isOwn = false;
  /** Arguments of the command that is being read; 0: none is. */
  #expected = 0;
  #args: Buffer[] = [];
  /** The bytes of its arguments so far. */
  #size = 0;

  /** Memory that a command occupies that has begun and not ended; 0 between two commands. */
  get keptBytes(): number {
    const rest = this.#at === this.#end ? 0 : this.#bytes.length;
    if (rest === 0 && this.#expected === 0) return 0;
    return rest + this.#size + (this.#args.length + 1) * ARGUMENT_COST_BYTES;
  }

  /**
   * The bytes are kept, and so must not change. What was left is copied once for each doubling of its
   * length, in however many pieces it comes.
   */
  push(chunk: Buffer): void {
    const rest = this.#end - this.#at;
    if (rest === 0) {
      this.#bytes = chunk;
      this.#at = 0;
      this.#end = chunk.length;
      this.#isOwn = false;
      return;
    }
    if (!this.#isOwn || this.#bytes.length - this.#end < chunk.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * rest, rest + chunk.length));
      this.#bytes.copy(grown, 0, this.#at, this.#end);
      this.#bytes = grown;
      this.#at = 0;
      this.#end = rest;
      this.#isOwn = true;
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /**
   * The next command: its name and its arguments; `undefined` until all of it has come. An empty one
   * is returned too, so that its reader counts it, but is not answered. Throws `ProtocolProblem` for
   * anything else, and for a command of more than `bytesMax` bytes.
   */
  next(bytesMax: number): Buffer[] | undefined {
    if (this.#expected === 0) {
      const line = this.#bytes[this.#at] === ARRAY ? undefined : this.#line();
      if (line !== undefined) return line === "unfinished" ? undefined : line;
      const count = this.#header(ARRAY, "*", ARGUMENTS_MAX);
      if (count === undefined) return undefined;
      this.#expected = count;
    }
    while (this.#args.length < this.#expected) {
      const began = this.#at;
      const length = this.#header(BULK, "$", bytesMax - this.#size);
      if (length === undefined) return undefined;
      const end = this.#at + length;
      if (end + 2 > this.#end) {
        this.#at = began;
        return undefined;
      }
      if (this.#bytes[end] !== CR || this.#bytes[end + 1] !== LF) {
        throw new ProtocolProblem("expected the end of a bulk string");
      }
      this.#args.push(this.#bytes.subarray(this.#at, end));
      this.#size += length;
      this.#at = end + 2;
    }
    const command = this.#args;
    this.#args = [];
    this.#expected = 0;
    this.#size = 0;
    return command;
  }

  /** A command that comes as a line; `undefined`: none begins here. */
  #line(): Buffer[] | "unfinished" | undefined {
    const end = Math.min(this.#end, this.#at + INLINE_BYTES_MAX);
    const bytes = this.#bytes.subarray(this.#at, end);
    const head = bytes.toString("latin1", 0, 5).toUpperCase();
    const isOne = INLINE.some((name) => name.startsWith(head.slice(0, 4)));
    if (bytes.length === 0 || !isOne || !INLINE_HEAD.test(head)) return undefined;
    const lineEnd = bytes.indexOf(LF);
    if (lineEnd < 0) return bytes.length < INLINE_BYTES_MAX ? "unfinished" : undefined;
    this.#at += lineEnd + 1;
    const words = bytes.toString("latin1", 0, lineEnd).trim().split(BLANKS);
    return words.map((word) => Buffer.from(word, "latin1"));
  }

  /** A mark and a number up to the end of the line; `undefined` until all of it has come. */
  #header(mark: number, shown: string, most: number): number | undefined {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    if (at >= end) return undefined;
    if (bytes[at] !== mark) {
      const isHttp = HTTP.test(bytes.toString("latin1", at, Math.min(at + 4, end)));
      throw new ProtocolProblem(`expected '${shown}'`, isHttp || bytes[at] === TLS_HANDSHAKE);
    }
    let number = 0;
    for (at += 1; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === CR) {
        if (at + 1 >= end) return undefined;
        if (bytes[at + 1] !== LF || at === this.#at + 1) break;
        if (number > most)
          throw new ProtocolProblem(`a length of ${number}, and at most ${most} is allowed`);
        this.#at = at + 2;
        return number;
      }
      if (byte < ZERO || byte > NINE || at - this.#at > HEADER_BYTES_MAX) break;
      number = number * 10 + byte - ZERO;
    }
    if (at < end) throw new ProtocolProblem("invalid length");
    return undefined;
  }
}
