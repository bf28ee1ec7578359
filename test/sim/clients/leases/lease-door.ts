/**
 * Where owners of leases are served: a client with a session, which may speak for any number of them.
 * Types only.
 */
import type { OP, Result } from "../../../../src/protocol/index.js";
import type { Wish } from "../protocol/call.js";

export type LeaseWish = Extract<
  Wish,
  { readonly op: typeof OP.take | typeof OP.extend | typeof OP.giveBack | typeof OP.changeSetting }
>;
export type TakeWish = Extract<LeaseWish, { readonly op: typeof OP.take }>;
export type ExtendWish = Extract<LeaseWish, { readonly op: typeof OP.extend }>;

export interface DoorAnswer {
  readonly result: Result;
  /** The stamp of the entry that queued or executed the command, or of a later one. */
  readonly stamp: number;
}

export interface LeaseDoor {
  readonly host: number;
  /**
   * `heard` is called once, with `undefined` if nobody will ever know. Returns what is called when the
   * owner is gone: what a take of its gets is given back.
   */
  ask(wish: LeaseWish, heard: (answer: DoorAnswer | undefined) => void): () => void;
}
