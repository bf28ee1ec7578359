/**
 * Simulated time: one thread, one heap of events ordered by (time, number). Nothing happens except
 * in an event, and the next event begins only when everything the one before it set in motion has
 * come to rest: behind every event one turn of the event loop is waited for, in which the queue of
 * microtasks is emptied to the end, however long the chains of promises are. That costs about a
 * microsecond. Times are whole microseconds, written in milliseconds.
 */
import { EventHeap } from "../../server/event-heap.js";
import { RollingHash } from "./rolling-hash.js";

/** Events without time moving, beyond which something spins. */
const EVENTS_AT_ONE_TIME_MAX = 100_000;

export class Simulation {
  readonly hash = new RollingHash();
  readonly #events = new EventHeap();
  #nowMs = 0;
  #lastNumber = 0;
  #failure: Error | undefined;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Runs `run` at `atMs`, behind everything planned for that time before. */
  at(atMs: number, run: () => void): void {
    this.#lastNumber += 1;
    const rounded = Math.round(atMs * 1_000) / 1_000;
    this.#events.push({ atMs: Math.max(rounded, this.#nowMs), number: this.#lastNumber, run });
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  /** Resolves in an event after `delayMs`. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** The run ends with this error, behind the present event. The first one counts. */
  fail(error: Error): void {
    this.#failure ??= error;
  }

  /** Runs until `isReached`, looked at behind every event, or until `untilMs`. */
  async run(untilMs: number, isReached: () => boolean = () => false): Promise<boolean> {
    let eventsAtOneTime = 0;
    await turnOfEventLoop();
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      if (isReached()) return true;
      const event = this.#events.first;
      if (event === undefined || event.atMs > untilMs) break;
      this.#events.pop();
      eventsAtOneTime = event.atMs === this.#nowMs ? eventsAtOneTime + 1 : 0;
      if (eventsAtOneTime > EVENTS_AT_ONE_TIME_MAX) {
        throw new Error(`something spins at ${this.#nowMs} ms`);
      }
      this.#nowMs = event.atMs;
      this.hash.number(event.atMs * 1_000);
      this.hash.number(event.number);
      event.run();
      await turnOfEventLoop();
    }
    this.#nowMs = untilMs;
    return false;
  }
}

function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
