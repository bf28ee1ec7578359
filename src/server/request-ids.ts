/**
 * Numbers for the requests that this node sends to others. They rise, and differ from the numbers
 * of the last incarnations: a late answer to an earlier process of this node must not be taken for
 * an answer to this one. A read index in it may be older than the read, and a refusal in it is
 * about other commands.
 */

/** This many successive incarnations of a node use different numbers. */
const INCARNATIONS = 256;
/** More than one process can use; the sum is still a safe integer. */
const NUMBERS_PER_INCARNATION = 2 ** 44;

export class RequestIds {
  #last: number;

  /** `incarnation`: how often this node has been started on its data. */
  constructor(incarnation: number) {
    this.#last = (incarnation % INCARNATIONS) * NUMBERS_PER_INCARNATION;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
