/**
 * Writes what layouts describe: messages into the frame that a connection is filling, and results
 * into a snapshot. This runs once per reply on the node that a client is attached to: in one pass,
 * and without copying.
 */
import { CLAIM_MODES, type ClaimMode } from "../commands.js";
import type { Layout, MessagePositions } from "./positions.js";
import { Writer } from "./writer.js";

type WritePayload = (to: Writer, value: unknown) => void;

export class PositionWriter implements MessagePositions {
  #to = new Writer(0);
  #writePayload: WritePayload | undefined;
  /** The positions so far of the array being written. */
  #count = 0;

  /**
   * Writes an array that stands alone.
   * @param writePayload writes the payload that it may have
   */
  write<T>(to: Writer, value: T, layout: Layout<T, this>, writePayload?: WritePayload): void {
    this.#to = to;
    this.#writePayload = writePayload;
    this.#array(value, layout);
  }

  number<N extends number>(value: N): N {
    this.#count += 1;
    this.#to.uint(value);
    return value;
  }

  boolean(value: boolean): boolean {
    this.#count += 1;
    this.#to.bool(value);
    return value;
  }

  text(value: string): string {
    this.#count += 1;
    this.#to.string(value);
    return value;
  }

  payload(value: unknown): unknown {
    this.#count += 1;
    if (value === null || value === undefined) this.#to.nil();
    else this.#writePayload?.(this.#to, value);
    return value;
  }

  mode(value: ClaimMode): ClaimMode {
    this.number(CLAIM_MODES.indexOf(value));
    return value;
  }

  within = this.number;
  textUnder = this.text;
  token = this.number;
  tokenOrNone = this.number;
  endReason = this.number;
  blockedBy = this.number;
  status = this.number;
  kind = this.number;
  okOrError = this.number;
  error = this.number;
  recallState = this.number;

  part<T>(value: T, layout: Layout<T, this>): T {
    return layout(this, value);
  }

  array<T>(value: T, layout: Layout<T, this>): T {
    const count = this.#count + 1;
    this.#array(value, layout);
    this.#count = count;
    return value;
  }

  list<T>(values: readonly T[], _countMax: number, layout: Layout<T, this>): readonly T[] {
    const count = this.#count + 1;
    this.#to.arrayHeader(values.length);
    for (const value of values) layout(this, value);
    this.#count = count;
    return values;
  }

  arrays<T>(values: readonly T[], _countMax: number, layout: Layout<T, this>): readonly T[] {
    const count = this.#count + 1;
    this.#to.arrayHeader(values.length);
    for (const value of values) this.#array(value, layout);
    this.#count = count;
    return values;
  }

  has<T>(_count: number, value: T | undefined): value is T {
    return value !== undefined;
  }

  #array<T>(value: T, layout: Layout<T, this>): void {
    const start = this.#to.beginArray();
    this.#count = 0;
    layout(this, value);
    this.#to.endArray(start, this.#count);
  }
}
