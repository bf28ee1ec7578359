/**
 * One key of a claim: of a request that waits, of the hold that it becomes, of the closing that the
 * hold may leave behind. The same object passes from one to the next, so that nothing has to be
 * found again.
 */
import type { ClaimMode } from "../../protocol/index.js";
import type { Closing } from "./closing.js";
import type { Changing } from "./copy-on-write.js";
import type { Hold } from "./hold.js";
import type { Key } from "./key.js";
import type { Request } from "./request.js";

export type Claim = Request | Hold | Closing;

/** What a place has when it is of a semaphore. */
export class Permits {
  readonly wanted: number;
  /** Once they are held: as many numbers, ascending. */
  slots: readonly number[] = [];

  constructor(wanted: number) {
    this.wanted = wanted;
  }
}

/** The express lists of a queue in which a place stands; see `waiting-queue.ts`. */
export interface Tower {
  readonly previous: (Place | undefined)[];
  readonly next: (Place | undefined)[];
}

export class Place {
  readonly key: Key;
  /** Changes in place by an upgrade or a downgrade. */
  readonly mode: ClaimMode;
  claimant: Claim;
  /** Neighbours in the list of the key it is in: its queue, or its holds and closings. */
  previous: Place | undefined = undefined;
  next: Place | undefined = undefined;
  /** The next item of the same claimant, in the order of the command. */
  readonly sibling: Place | undefined = undefined;
  /** Of semaphores only. */
  readonly permits: Permits | undefined;
  tower: Tower | undefined = undefined;

  constructor(key: Key, mode: ClaimMode, claimant: Claim, permits: Permits | undefined) {
    this.key = key;
    this.mode = mode;
    this.claimant = claimant;
    this.permits = permits;
  }

  /** Gives out what belongs to its claimant to be written. */
  change(): Changing<Place> {
    this.claimant.change();
    return this;
  }

  /** 0 of locks. */
  get wanted(): number {
    return this.permits?.wanted ?? 0;
  }
}
