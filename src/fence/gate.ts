/**
 * A gate before something that lives in this process: a cache, a device, a file that only this
 * process writes. It remembers the newest tokens and refuses claims that came too late. It must
 * never forget: what outlives the process needs the state of its gate beside it (`state`).
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
  /** What it guards, for the messages of errors. Default "the resource". */
  readonly name?: string | undefined;
  /** What a gate before this one had seen. Default: nothing. */
  readonly state?: FenceState | undefined;
}

/** A task that was let through and has not ended, or waits to be. */
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

  /** What it has seen so far; plain data. Save it together with what the claims have written. */
  get state(): FenceState {
    return this.#state;
  }

  /**
   * Lets a claim through or throws `STALE_TOKEN`. Good for what is changed in the same turn of the
   * event loop; where writing takes longer, `run` keeps a newer claim out until it is done.
   */
  admit(claim: Claim): void {
    this.#admit(checkedClaim(claim));
  }

  /**
   * Runs `task` once every earlier task that its claim excludes has ended; tasks of shared claims,
   * and those of different slots, run side by side. Rejects with `STALE_TOKEN`, without having run
   * it, if a newer claim was let through before, and with whatever `task` throws.
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
