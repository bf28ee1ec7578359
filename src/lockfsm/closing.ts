/**
 * What is left of a hold that ended but keeps its keys closed for a while: its places, with their
 * modes and slots, and nobody to whom they belong.
 */
import { type DueItem, NOT_IN_HEAP } from "./due-heap.js";
import type { Place } from "./place.js";

export class Closing implements DueItem {
  /** Of the hold that it was. */
  readonly token: number;
  dueAt: number;
  readonly number: number;
  heapIndex = NOT_IN_HEAP;
  firstPlace: Place | undefined = undefined;
  previous: Closing | undefined = undefined;
  next: Closing | undefined = undefined;
  /** It is in this snapshot, or is not to be in it. */
  savedIn: number;

  constructor(token: number, dueAt: number, number: number, epoch: number) {
    this.token = token;
    this.dueAt = dueAt;
    this.number = number;
    this.savedIn = epoch;
  }
}
