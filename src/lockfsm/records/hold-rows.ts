/**
 * One row of numbers for every hold: its place in the list of its session, in the order of tokens,
 * its token and sequence, and everything that a lone hold consists of ("lone-holds.ts"). Rows are
 * numbers from 1; 0 is none. A row has 64 bytes, one line of a processor's cache, and creates no
 * garbage. Rows are allocated in chunks, and empty chunks are freed.
 */
import { assert } from "../../errors/index.js";
import type { CopyOnWrite } from "./copy-on-write.js";
import type { Hold } from "./hold.js";
import type { Identity } from "./identity.js";
import type { Session } from "./session.js";
import { bytesOfName, bytesOfOwner, bytesOfPlaces } from "./sizes.js";

const CHUNK_BITS = 12;
const CHUNK_ROWS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_ROWS - 1;

/** Columns of 64 bits, 8 in a row. */
const TOKEN = 0;
const TASK = 1;
const SEQUENCE = 2;
const GRANTED_AT = 3;
/** Columns of 32 bits, 16 in a row, of which the first eight are the above. */
const PREVIOUS = 8;
const NEXT = 9;
const NEXT_BY_TOKEN = 10;
const NEXT_BY_TASK = 11;
const SAVED_IN = 12;
const SESSION = 13;
const NEXT_BY_SEQUENCE = 14;

/** By which number of theirs an index finds rows, and in which column its chains run. */
export const BY = {
  token: { number: TOKEN, chain: NEXT_BY_TOKEN },
  task: { number: TASK, chain: NEXT_BY_TASK },
  sequence: { number: SEQUENCE, chain: NEXT_BY_SEQUENCE },
} as const;
export type IndexedBy = (typeof BY)[keyof typeof BY];

class Chunk {
  readonly wide = new Float64Array(CHUNK_ROWS * 8);
  readonly narrow = new Int32Array(this.wide.buffer);
  readonly contents = new Array<Hold | string | undefined>(CHUNK_ROWS).fill(undefined);
  used = 0;
  /** The first returned row of the chunk, chained by `NEXT`; 0 if there is none. */
  free = 0;
  /** Rows of the chunk from here on have never been used. */
  fresh: number;

  constructor(number: number) {
    this.fresh = number === 0 ? 1 : 0;
  }

  get isFull(): boolean {
    return this.free === 0 && this.fresh === CHUNK_ROWS;
  }
}

export class HoldRows {
  readonly #copies: CopyOnWrite;
  readonly #chunks: (Chunk | undefined)[] = [];
  /** Numbers of chunks that are not full, freed ones included; the last one is used next. */
  readonly #open: number[] = [];
  /** One empty chunk is kept, so that a chunk is not allocated and freed with every hold. */
  #reserve: Chunk | undefined = undefined;
  /** Sessions that hold something, by the number in their rows. */
  readonly #sessions: (Session | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  #bytes = 0;

  constructor(copies: CopyOnWrite) {
    this.#copies = copies;
  }

  /** The size of all holds in the table; see `sizes.ts`. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a row for a hold that comes after all others of its session. */
  add(session: Session, token: number, sequence: number, content: Hold | string): number {
    const row = this.#take();
    const chunk = this.#chunkOf(row);
    const at = row & CHUNK_MASK;
    chunk.contents[at] = content;
    chunk.wide[at * 8 + TOKEN] = token;
    chunk.wide[at * 8 + SEQUENCE] = sequence;
    chunk.narrow[at * 16 + NEXT_BY_TOKEN] = 0;
    chunk.narrow[at * 16 + NEXT_BY_TASK] = 0;
    chunk.narrow[at * 16 + NEXT_BY_SEQUENCE] = 0;
    chunk.narrow[at * 16 + SAVED_IN] = this.#copies.latest;
    this.#append(session, row);
    this.#count(session, content, 1);
    return row;
  }

  /** Sets the columns that only a lone hold needs. */
  describe(row: number, task: number, grantedAt: number): void {
    const { wide } = this.#chunkOf(row);
    const at = (row & CHUNK_MASK) * 8;
    wide[at + TASK] = task;
    wide[at + GRANTED_AT] = grantedAt;
  }

  /** Removes the row of a hold that has ended. Nothing may refer to the row any more. */
  remove(row: number): void {
    this.#copies.copier?.copyRow(row);
    this.#count(this.sessionOf(row), this.contentOf(row), -1);
    this.#unlink(row);
    const chunk = this.#chunkOf(row);
    const at = row & CHUNK_MASK;
    chunk.contents[at] = undefined;
    if (chunk.isFull) this.#open.push(row >>> CHUNK_BITS);
    chunk.narrow[at * 16 + NEXT] = chunk.free;
    chunk.free = row;
    chunk.used -= 1;
    if (chunk.used === 0) this.#release(row >>> CHUNK_BITS, chunk);
  }

  /**
   * Sets a new token, which must be between the tokens of the hold before it and the hold after it.
   */
  setToken(row: number, token: number): void {
    this.#copies.copier?.copyRow(row);
    this.#chunkOf(row).wide[(row & CHUNK_MASK) * 8 + TOKEN] = token;
  }

  /** Sets the sequence that it has in the session to which it is about to be moved. */
  setSequence(row: number, sequence: number): void {
    this.#copies.copier?.copyRow(row);
    this.#chunkOf(row).wide[(row & CHUNK_MASK) * 8 + SEQUENCE] = sequence;
  }

  /**
   * Moves the row of a hold that has a new token, or another session, after all others there. It
   * goes on counting against the same identity.
   */
  move(row: number, session: Session, token: number): void {
    this.#copies.copier?.copyRow(row);
    const before = this.sessionOf(row);
    if (session !== before) {
      const bytes = bytesOfHold(this.contentOf(row));
      before.bytes -= bytes;
      session.bytes += bytes;
    }
    this.#unlink(row);
    this.setToken(row, token);
    this.#append(session, row);
  }

  /** Adds `bytes` to the size of a hold of the session, which counts against `identity`. */
  grow(session: Session, identity: Identity, bytes: number): void {
    session.bytes += bytes;
    identity.bytes += bytes;
    this.#bytes += bytes;
  }

  /** The hold itself, or the key's name of a lone hold. */
  contentOf(row: number): Hold | string {
    const content = this.#chunkOf(row).contents[row & CHUNK_MASK];
    assert(content !== undefined, () => `row ${row} is not in use`);
    return content;
  }

  setContent(row: number, content: Hold): void {
    this.#chunkOf(row).contents[row & CHUNK_MASK] = content;
  }

  sessionOf(row: number): Session {
    return this.#sessions[this.#narrow(row, SESSION)] as Session;
  }

  tokenOf(row: number): number {
    return this.#wide(row, TOKEN);
  }

  taskOf(row: number): number {
    return this.#wide(row, TASK);
  }

  /** The sequence of the acquire, adopt or hand-over that brought it. */
  sequenceOf(row: number): number {
    return this.#wide(row, SEQUENCE);
  }

  grantedAtOf(row: number): number {
    return this.#wide(row, GRANTED_AT);
  }

  nextOf(row: number): number {
    return this.#narrow(row, NEXT);
  }

  /** What one of the indexes looks at; see `BY`. */
  numberOf(row: number, { number }: IndexedBy): number {
    return this.#wide(row, number);
  }

  pointerOf(row: number, { chain }: IndexedBy): number {
    return this.#narrow(row, chain);
  }

  setPointer(row: number, { chain }: IndexedBy, pointer: number): void {
    this.#setNarrow(row, chain, pointer);
  }

  /** The last snapshot that has it, or must not have it. */
  savedIn(row: number): number {
    return this.#narrow(row, SAVED_IN);
  }

  setSavedIn(row: number, epoch: number): void {
    this.#setNarrow(row, SAVED_IN, epoch);
  }

  #count(session: Session, content: Hold | string, holds: 1 | -1): void {
    const bytes = holds * bytesOfHold(content);
    const isLone = typeof content === "string";
    const identity = isLone ? session.credential.identity : content.identity;
    identity.countHolds(holds, bytes);
    session.bytes += bytes;
    this.#bytes += bytes;
  }

  #append(session: Session, row: number): void {
    const last = session.lastHold;
    // Holds of owners are in the order in which they came to them.
    assert(
      last === 0 || this.tokenOf(last) < this.tokenOf(row) || session.id === 0,
      () => `session ${session.id}: token ${this.tokenOf(row)} after ${this.tokenOf(last)}`,
    );
    if (session.holdCount === 0) this.#enter(session);
    session.holdCount += 1;
    const { narrow } = this.#chunkOf(row);
    const at = (row & CHUNK_MASK) * 16;
    narrow[at + SESSION] = session.rowNumber;
    narrow[at + PREVIOUS] = last;
    narrow[at + NEXT] = 0;
    if (last === 0) session.firstHold = row;
    else this.#setNarrow(last, NEXT, row);
    session.lastHold = row;
  }

  #unlink(row: number): void {
    const session = this.sessionOf(row);
    const previous = this.#narrow(row, PREVIOUS);
    const next = this.#narrow(row, NEXT);
    if (previous === 0) session.firstHold = next;
    else this.#setNarrow(previous, NEXT, next);
    if (next === 0) session.lastHold = previous;
    else this.#setNarrow(next, PREVIOUS, previous);
    session.holdCount -= 1;
    if (session.holdCount === 0) this.#leave(session);
  }

  #enter(session: Session): void {
    session.rowNumber = this.#freeNumbers.pop() ?? this.#sessions.length;
    this.#sessions[session.rowNumber] = session;
  }

  #leave(session: Session): void {
    this.#sessions[session.rowNumber] = undefined;
    this.#freeNumbers.push(session.rowNumber);
  }

  #take(): number {
    const number = this.#open.at(-1) ?? this.#openAnother();
    const chunk = this.#chunks[number] ?? this.#obtainChunk(number);
    if (chunk === this.#reserve) this.#reserve = undefined;
    let row = chunk.free;
    if (row === 0) {
      row = (number << CHUNK_BITS) | chunk.fresh;
      chunk.fresh += 1;
    } else chunk.free = chunk.narrow[(row & CHUNK_MASK) * 16 + NEXT] as number;
    chunk.used += 1;
    if (chunk.isFull) this.#open.pop();
    return row;
  }

  #openAnother(): number {
    const number = this.#chunks.length;
    this.#chunks.push(undefined);
    this.#open.push(number);
    return number;
  }

  #obtainChunk(number: number): Chunk {
    const chunk = new Chunk(number);
    this.#chunks[number] = chunk;
    return chunk;
  }

  #release(number: number, chunk: Chunk): void {
    if (this.#reserve === undefined) this.#reserve = chunk;
    else this.#chunks[number] = undefined;
  }

  #chunkOf(row: number): Chunk {
    return this.#chunks[row >>> CHUNK_BITS] as Chunk;
  }

  #wide(row: number, column: number): number {
    return this.#chunkOf(row).wide[(row & CHUNK_MASK) * 8 + column] as number;
  }

  #narrow(row: number, column: number): number {
    return this.#chunkOf(row).narrow[(row & CHUNK_MASK) * 16 + column] as number;
  }

  #setNarrow(row: number, column: number, value: number): void {
    this.#chunkOf(row).narrow[(row & CHUNK_MASK) * 16 + column] = value;
  }
}

/** The size of a hold, or of a lone hold whose key has that name. */
export function bytesOfHold(content: Hold | string): number {
  if (typeof content === "string") return bytesOfName(content);
  const { firstPlace, value, extras } = content;
  return bytesOfPlaces(firstPlace) + value.length + bytesOfOwner(extras?.lease);
}
