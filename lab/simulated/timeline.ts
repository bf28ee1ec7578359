/**
 * Simulated time: planned events, ordered by (time, number). Time moves only when the next event is
 * taken; this file must never read a real clock or wait for one. The caller that takes an event
 * runs it, and decides which promises must settle before it takes the next one.
 */

/** More events than this at one time mean that something plans itself without end. */
const EVENTS_AT_ONE_TIME_MAX = 100_000;

export interface PlannedEvent {
  readonly atMs: number;
  readonly number: number;
  readonly run: () => void;
}

export class Timeline {
  /** A test may move it forward; events planned for the skipped time are then late. */
  nowMs = 0;
  readonly #events = new EventHeap();
  #lastNumber = 0;
  #eventsAtOneTime = 0;

  /** Plans `run` for `atMs`, after everything planned for that time before. */
  at(atMs: number, run: () => void): void {
    this.#lastNumber += 1;
    this.#events.push({ atMs: Math.max(atMs, this.nowMs), number: this.#lastNumber, run });
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.nowMs + delayMs, run);
  }

  /** The time of the next event; infinite if there is none. */
  get nextMs(): number {
    return this.#events.first?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Removes the next event and moves to its time. `undefined` if none is due by `untilMs`. */
  take(untilMs: number): PlannedEvent | undefined {
    if (this.nextMs > untilMs) return undefined;
    const event = this.#events.pop();
    if (event === undefined) return undefined;
    this.#eventsAtOneTime = event.atMs === this.nowMs ? this.#eventsAtOneTime + 1 : 0;
    if (this.#eventsAtOneTime > EVENTS_AT_ONE_TIME_MAX) {
      throw new Error(`something spins at ${this.nowMs} ms`);
    }
    this.nowMs = Math.max(this.nowMs, event.atMs);
    return event;
  }
}

/** Resolves when every chain of promises that waits for no event has ended. */
export function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A binary heap. */
class EventHeap {
  readonly #events: PlannedEvent[] = [];

  get first(): PlannedEvent | undefined {
    return this.#events[0];
  }

  push(event: PlannedEvent): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = events[parent];
      if (above === undefined || !isEarlier(event, above)) break;
      events[at] = above;
      at = parent;
    }
    events[at] = event;
  }

  pop(): PlannedEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let below = events[child];
      if (below === undefined) break;
      const right = events[child + 1];
      if (right !== undefined && isEarlier(right, below)) {
        below = right;
        child += 1;
      }
      if (!isEarlier(below, last)) break;
      events[at] = below;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

function isEarlier(a: PlannedEvent, b: PlannedEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}
