/**
 * Numbers for what this node asks of others. They rise, and are not those of the lives before: what a
 * leader still has to say to an earlier process of this node must not be taken for an answer to this
 * one. That index was given out before the read began, that refusal is of other commands.
 */

/** So many lives in a row have numbers of their own. */
const LIVES = 256;
/** More than a process can ask; together with the lives still a safe integer. */
const NUMBERS_PER_LIFE = 2 ** 44;

export class Numbering {
  #last: number;

  /** `incarnation`: how often this node was started on its data. */
  constructor(incarnation: number) {
    this.#last = (incarnation % LIVES) * NUMBERS_PER_LIFE;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
