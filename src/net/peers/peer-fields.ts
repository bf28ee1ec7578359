/**
 * How the bytes between nodes are described: by layouts. A layout passes the fields of a message, in
 * the order of the bytes, to a `PeerFields`, and makes the message of what that returns. A frame writes
 * what it is given and returns it; a cursor returns what it has read instead. So one function
 * describes both, and the document is made from it too.
 *
 * What is written was made by this process, so a value that does not fit is a broken invariant.
 */
import type { NodeId } from "../../raft/index.js";

/** A cursor passes `UNREAD` as `of`. */
export type PeerLayout<T> = (io: PeerFields, of: T) => T;

export type PeerListLayout<T> = (io: PeerFields, of: T, number: number) => T;

/** Stands for a value that is not read yet: layouts find no fields in it. */
export const UNREAD = Object.freeze({}) as never;

/** What `ascii` allows: such texts are passed unchanged into logs and to clients. */
export const PRINTABLE = /^[!-~]*$/;

/** All numbers are big endian. */
export interface PeerFields {
  /** The two nodes of the link, which are not in the bytes. */
  readonly sender: NodeId;
  readonly receiver: NodeId;
  uint16(value: number): number;
  uint32(value: number): number;
  /** At most 2^53 − 1. */
  uint64(value: number): number;
  /** A byte, 0 or 1. */
  flag(value: boolean): boolean;
  /** A byte, the index among these names. */
  oneOf<T extends string>(value: T, names: readonly T[]): T;
  /** A fixed number of bytes; in a message twice as many lower-case hex digits. */
  hex(value: string, bytes: number): string;
  /** The length u16, and the characters in printable ASCII. */
  ascii(value: string, bytesMax: number): string;
  /** The length u32, and the bytes. */
  block(value: Uint8Array): Uint8Array;
  /** To the end of the message. */
  rest(value: Uint8Array, bytesMax?: number): Uint8Array;
  /** The same, as UTF-8. */
  restText(value: string, bytesMax: number): string;
  /** The same, but a longer text is cut. */
  cutText(value: string, bytesMax: number): string;
  /** The count u32, and the values, which are numbered from `first` on. */
  list<T>(values: readonly T[], layout: PeerListLayout<T>, first: number): readonly T[];
  /** The fields of an object of their own. */
  part<T>(value: T, layout: PeerLayout<T>): T;
  /** A value that is not in the bytes, because it must be `expected`. */
  implied(value: number, expected: number): number;
  /** Fails unless the values before may stand next to each other. */
  demand(isAllowed: boolean, problem: string): void;
}
