/**
 * A gate before something in this process: a cache, a device, a file that only this process writes.
 * It remembers the newest tokens and refuses claims that come too late. It must never forget them:
 * if the resource outlives the process, store the gate's `state` with it.
 */
import { type Claim, checkedClaim } from "./claim.js";
import {
  checkedState,
  excludes,
  type FenceState,
  NOTHING_SEEN,
  newestAgainst,
  withClaim,
} from "./fence-state.js";
import { staleToken } from "./stale-token.js";

export interface GateOptions {
  /** The guarded resource, for error messages. Default "the resource". */
  readonly name?: string | undefined;
  /** What an earlier gate of this resource had seen. Default: nothing. */
  readonly state?: FenceState | undefined;
}

/** A task that was admitted and has not ended, or waits to be admitted. */
interface Passage {
  readonly claim: Claim;
  readonly ended: Promise<unknown>;
}

export class Gate {
  readonly name: string;
  #state: FenceState;
  readonly #passages = new Set<Passage>();

  constructor({ name = "the resource", state = NOTHING_SEEN }: GateOptions = {}) {
    this.name = name;
    this.#state = checkedState(state);
  }

  /** The tokens it has seen so far; plain data. Save it together with the writes of the claims. */
  get state(): FenceState {
    return this.#state;
  }

  /**
   * Admits a claim or throws `STALE_TOKEN`. Sufficient for changes in the same turn of the event
   * loop; if writing takes longer, `run` keeps newer claims out until it is done.
   */
  admit(claim: Claim): void {
    this.#admit(checkedClaim(claim));
  }

  /**
   * Runs `task` after every earlier task that its claim excludes has ended; tasks with shared
   * claims, or with different slots, run concurrently. Rejects with `STALE_TOKEN`, without running
   * the task, if a newer claim was admitted before, and with the task's error.
   */
  async run<T>(claim: Claim, task: () => T | Promise<T>): Promise<T> {
    const checked = checkedClaim(claim);
    const before = [...this.#passages].filter((passage) => excludes(passage.claim, checked));
    const result = Promise.allSettled(before.map(({ ended }) => ended)).then(() => {
      this.#admit(checked);
      return task();
    });
    const passage: Passage = { claim: checked, ended: result };
    this.#passages.add(passage);
    try {
      return await result;
    } finally {
      this.#passages.delete(passage);
    }
  }

  #admit(claim: Claim): void {
    const newest = newestAgainst(this.#state, claim);
    if (claim.token < newest) throw staleToken(this.name, claim, newest);
    this.#state = withClaim(this.#state, claim);
  }
}
