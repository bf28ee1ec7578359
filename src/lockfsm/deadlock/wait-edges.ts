/**
 * The edges of the wait-for graph, as the table has them now (semantics.md, 7.2). In each key where
 * one of its requests is not eligible, a task waits for every holder of the key and for the
 * listed requests ahead of it, up to the last one that conflicts. Claims that end by themselves are
 * no obstacle: holds of owners, cooldowns, and everything that is due. Every look counts against a
 * limit, so that no search takes longer than its caller allows. Nothing here may change the table.
 */
import { endOf } from "../holds/due-time.js";
import { Hold } from "../records/hold.js";
import type { Place } from "../records/key.js";
import { orderOf, type Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { StepLimit } from "../records/step-limit.js";

export class WaitEdges {
  readonly #state: TableState;
  readonly #limit: StepLimit;
  readonly #asked: Request | undefined;

  /**
   * `asked` is the request for which the search is made. Requests that have not been searched for
   * yet, and that came after it, are ignored: each of them is refused itself if it closes a cycle.
   */
  constructor(state: TableState, limit: StepLimit, asked: Request | undefined) {
    this.#state = state;
    this.#limit = limit;
    this.#asked = asked;
  }

  step(): void {
    this.#limit.take();
  }

  /** Whether this search ignores the request: it neither waits nor is in the way of others. */
  isAbsent(request: Request): boolean {
    if (request.isOverAt(this.#state.stamp)) return true;
    if (!request.isUnchecked || this.#asked === undefined) return false;
    return !this.#asked.isUnchecked || request.number > this.#asked.number;
  }

  /** The hold at a place; `undefined` if it ends by itself. */
  holderAt({ claimant }: Place): Hold | undefined {
    if (!(claimant instanceof Hold) || claimant.isDetached) return undefined;
    const { stamp } = this.#state;
    const endsAt = endOf(claimant);
    const isDue = endsAt !== undefined && endsAt <= stamp;
    return isDue || !claimant.session.isAliveAt(stamp) ? undefined : claimant;
  }

  /** The last place ahead that conflicts with `place`. Only shared places can pass each other. */
  lastConflictBefore(place: Place): Place | undefined {
    const seeking = this.seekConflictBefore(place);
    for (;;) {
      const next = seeking.next();
      if (next.done === true) return next.value;
    }
  }

  /** The same, one step at a time, because a run of shared requests can be long. */
  *seekConflictBefore(place: Place): Generator<void, Place | undefined, void> {
    const { key, mode } = place;
    for (let before = place.previous; before !== undefined; before = before.previous) {
      this.step();
      yield;
      const isPassed = mode === "shared" && before.mode === "shared";
      // A reached place is shared, and so is every place from it to the head of the queue.
      if (isPassed && key.hasReached(before)) return undefined;
      if (!isPassed && !this.isAbsent(orderOf(before))) return before;
    }
    return undefined;
  }

  /**
   * Whether something conflicts with an unreached place. If nothing does, its key only waits for
   * its turn in the work queue. `last` is the last conflict before the place.
   */
  isBlocked({ key, mode, wanted, claimant }: Place, last: Place | undefined): boolean {
    return last !== undefined || !key.admitsHold(mode, wanted, (claimant as Request).upgrades);
  }
}
