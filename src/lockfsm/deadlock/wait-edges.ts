/**
 * The edges of the wait-for graph, as they are in the table now (semantics.md, 7.2). An owner waits, in each
 * key where one of its requests is not eligible, for all who hold the key and for the listed requests
 * ahead up to the last one that conflicts. What ends by itself is nobody's obstacle: tickets, closings,
 * and what is due. Every look is counted against a limit, so that no search takes longer than its
 * caller allows. Nothing here may change the table.
 */
import { endOf } from "../holds/due-time.js";
import type { Place } from "../records/key.js";
import { Hold, orderOf, type Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { StepLimit } from "../records/step-limit.js";

export class WaitEdges {
  readonly #state: TableState;
  readonly #limit: StepLimit;
  readonly #asked: Request | undefined;

  /**
   * `asked`: the request that is looked at. Requests that no search has looked at yet, and that came
   * after it, are not there for it: each of them is refused itself if it closes a cycle.
   */
  constructor(state: TableState, limit: StepLimit, asked: Request | undefined) {
    this.#state = state;
    this.#limit = limit;
    this.#asked = asked;
  }

  step(): void {
    this.#limit.take();
  }

  /** Whether it neither waits nor is in the way of others, as far as this search is concerned. */
  isAbsent(request: Request): boolean {
    if (request.isOverAt(this.#state.stamp)) return true;
    if (!request.isUnchecked || this.#asked === undefined) return false;
    return !this.#asked.isUnchecked || request.number > this.#asked.number;
  }

  /** Who holds; `undefined`: it ends by itself, whatever anybody waits for. */
  holderAt({ claimant }: Place): Hold | undefined {
    if (!(claimant instanceof Hold) || claimant.isTicket) return undefined;
    const { stamp } = this.#state;
    const endsAt = endOf(claimant);
    const isDue = endsAt !== undefined && endsAt <= stamp;
    return isDue || !claimant.session.isAliveAt(stamp) ? undefined : claimant;
  }

  /** The last place ahead that conflicts: only a shared one passes others by. */
  lastConflictBefore(place: Place): Place | undefined {
    const seeking = this.seekConflictBefore(place);
    for (;;) {
      const next = seeking.next();
      if (next.done === true) return next.value;
    }
  }

  /** The same step by step: a run of shared requests may be long. */
  *seekConflictBefore(place: Place): Generator<void, Place | undefined, void> {
    const { key, mode } = place;
    for (let before = place.previous; before !== undefined; before = before.previous) {
      this.step();
      yield;
      const isPassed = mode === "shared" && before.mode === "shared";
      // What was reached is shared from here to the head of the queue.
      if (isPassed && key.hasReached(before)) return undefined;
      if (!isPassed && !this.isAbsent(orderOf(before))) return before;
    }
    return undefined;
  }

  /**
   * Whether something conflicts with an unreached place. If nothing does, its key has only not had its
   * turn of work yet. `last`: the last conflict before it.
   */
  isBlocked({ key, mode, wanted, claimant }: Place, last: Place | undefined): boolean {
    return last !== undefined || !key.admitsHold(mode, wanted, (claimant as Request).upgrades);
  }
}
