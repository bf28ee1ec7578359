/**
 * How results and messages to clients are described: by layouts. A layout passes the values of one
 * array, in their order, to a `Positions`, and makes of what that returns the object that they are.
 * A writer writes what it is given and returns it; a reader returns what it has read instead. So one
 * function describes both directions, and as it is straight code, each of them is as fast as if it
 * were written for itself.
 *
 * Arrays grow at their end from version to version. A reader takes the positions that it knows, and
 * its source decides what becomes of those after them: a client passes them over, and a snapshot has
 * none.
 */
import type { ErrorNumber } from "../../errors/index.js";
import type { ClaimMode } from "../commands.js";
import type { BlockedBy, EndReason, RecallState, STATUS } from "../replies.js";
import type { TextRule } from "../text-rules.js";

/** A reader passes an object without fields as `of`. */
export type Layout<T, P = Positions> = (io: P, of: T) => T;

/** The values of a result. How strictly a reader checks them, says its source. */
export interface Positions {
  number(value: number): number;
  /** A number of `least` … `most`. */
  within(value: number, least: number, most: number, name: string): number;
  boolean(value: boolean): boolean;
  text(value: string): string;
  textUnder(value: string, rule: TextRule): string;
  token(value: number): number;
  /** 0: of something that has none. */
  tokenOrNone(value: number): number;
  mode(value: ClaimMode): ClaimMode;
  endReason(value: EndReason): EndReason;
  blockedBy(value: BlockedBy): BlockedBy;
  status(value: number): number;
  /** Fields of an object of their own, among the positions of the same array. */
  part<T>(value: T, layout: Layout<T, this>): T;
  array<T>(value: T, layout: Layout<T, this>): T;
  /** An array of at most `countMax` values, of which each is one position. */
  list<T>(values: readonly T[], countMax: number, layout: Layout<T, this>): readonly T[];
  /** An array of at most `countMax` arrays. */
  arrays<T>(values: readonly T[], countMax: number, layout: Layout<T, this>): readonly T[];
  /** Whether `count` more positions are there; they are to be written if there is a value. */
  has<T>(count: number, value: T | undefined): value is T;
}

/** The values of messages. */
export interface MessagePositions extends Positions {
  kind(value: number): number;
  /** 0, or the number of an error, which a client may not know yet. */
  okOrError(value: typeof STATUS.ok | ErrorNumber): typeof STATUS.ok | ErrorNumber;
  /** The number of an error, which a client may not know yet. */
  error(value: ErrorNumber): ErrorNumber;
  recallState(value: RecallState): RecallState;
  /** Plain data, packed in one value; nil if there are none. */
  payload(value: unknown): unknown;
}
