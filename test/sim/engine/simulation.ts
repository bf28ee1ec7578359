/**
 * Simulated time: one thread, one heap of events ordered by (time, number). Nothing happens except
 * in an event, and the next event begins only when everything the one before it set in motion has
 * come to rest: each event is an immediate of its own, and between two of them the queue of microtasks
 * is emptied to the end, however long the chains of promises are. Times are whole microseconds,
 * written in milliseconds.
 */
import { EventHeap } from "../../server/world/event-heap.js";
import { RollingHash } from "./rolling-hash.js";

/** Events without time moving, beyond which something spins. */
const EVENTS_AT_ONE_TIME_MAX = 100_000;
/** Immediates planned together save the rest of the event loop, which costs more than most events. */
const TURNS_AT_ONCE = 256;

export class Simulation {
  readonly hash = new RollingHash();
  readonly #events = new EventHeap();
  #nowMs = 0;
  #lastNumber = 0;
  #eventsAtOneTime = 0;
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
  run(untilMs: number, isReached: () => boolean = () => false): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const turn = (isLast: boolean): void => {
        if (isOver) return;
        try {
          const outcome = this.#turn(untilMs, isReached);
          if (outcome === undefined) {
            if (isLast) plan();
            return;
          }
          isOver = true;
          resolve(outcome);
        } catch (error) {
          isOver = true;
          reject(error);
        }
      };
      const plan = (): void => {
        for (let left = TURNS_AT_ONCE; left > 0; left -= 1) setImmediate(turn, left === 1);
      };
      plan();
    });
  }

  /** Runs the next event, unless the run is over: then whether `isReached`. */
  #turn(untilMs: number, isReached: () => boolean): boolean | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (isReached()) return true;
    const event = this.#events.first;
    if (event === undefined || event.atMs > untilMs) {
      this.#nowMs = untilMs;
      return false;
    }
    this.#events.pop();
    this.#eventsAtOneTime = event.atMs === this.#nowMs ? this.#eventsAtOneTime + 1 : 0;
    if (this.#eventsAtOneTime > EVENTS_AT_ONE_TIME_MAX) {
      throw new Error(`something spins at ${this.#nowMs} ms`);
    }
    this.#nowMs = event.atMs;
    this.hash.number(event.atMs * 1_000);
    this.hash.number(event.number);
    event.run();
    return undefined;
  }
}
