/**
 * Simulated time: one thread, one heap of events ordered by (time, number). Nothing happens except
 * in an event, and the next event begins only when everything the one before it set in motion has
 * come to rest: each event is an immediate of its own, and between two of them the queue of microtasks
 * is emptied to the end, however long the chains of promises are. Times are whole microseconds,
 * written in milliseconds.
 */
import { Timeline } from "../../../lab/simulated/timeline.js";
import { RollingHash } from "./rolling-hash.js";

/** Immediates planned together save the rest of the event loop, which costs more than most events. */
const TURNS_AT_ONCE = 256;

export class Simulation extends Timeline {
  readonly hash = new RollingHash();
  #failure: Error | undefined;

  override at(atMs: number, run: () => void): void {
    super.at(Math.round(atMs * 1_000) / 1_000, run);
  }

  /** Resolves in an event after `delayMs`. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** The run ends with this error, after the current event. The first one counts. */
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
    const event = this.take(untilMs);
    if (event === undefined) {
      this.nowMs = untilMs;
      return false;
    }
    this.hash.number(event.atMs * 1_000);
    this.hash.number(event.number);
    event.run();
    return undefined;
  }
}
