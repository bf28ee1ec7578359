/**
 * The world in which the tests of the SDK run: simulated time, in which all promises are settled
 * between two events. Nothing here sleeps; an hour passes as fast as its events are done.
 */
import { seededRandom } from "../../../lab/random-stream.js";
import { promisesSettled, Timeline } from "../../../lab/simulated/timeline.js";

export class SimulatedWorld extends Timeline {
  readonly random: () => number;
  /** Runs after every event: the place for invariants. */
  afterEach: () => void = () => undefined;

  constructor(seed: number) {
    super();
    this.random = seededRandom(seed);
  }

  /** Lets time pass, event by event, with all promises settled between two of them. */
  async run(forMs: number): Promise<void> {
    const untilMs = this.nowMs + forMs;
    await promisesSettled();
    for (let next = this.take(untilMs); next !== undefined; next = this.take(untilMs)) {
      next.run();
      this.afterEach();
      await promisesSettled();
      this.afterEach();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** Lets time pass until `promise` is settled; fails when it is not within `limitMs`. */
  async until<T>(promise: Promise<T>, limitMs = 60_000): Promise<T> {
    let isSettled = false;
    const note = () => {
      isSettled = true;
    };
    promise.then(note, note);
    const untilMs = this.nowMs + limitMs;
    await promisesSettled();
    while (!isSettled) {
      if (this.nextMs > untilMs) {
        throw new Error(`nothing settled it by ${untilMs} ms of simulated time`);
      }
      await this.run(Math.max(this.nextMs - this.nowMs, 0));
    }
    return promise;
  }
}
