/**
 * Time, and everything that waits for it, in one heap ordered by (time, number): the world in which
 * the tests of the SDK run. Nothing here sleeps; an hour passes as fast as its events are done.
 */
import { seededRandom } from "../../../lab/random-stream.js";

interface Happening {
  readonly atMs: number;
  readonly number: number;
  readonly task: () => void;
  isCancelled: boolean;
}

export class SimulatedWorld {
  readonly random: () => number;
  /** Runs after every event: the place for invariants. */
  afterEach: () => void = () => undefined;
  nowMs = 0;
  readonly #heap: Happening[] = [];
  #lastNumber = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  at(atMs: number, task: () => void): () => void {
    this.#lastNumber += 1;
    const event = {
      atMs: Math.max(atMs, this.nowMs),
      number: this.#lastNumber,
      task,
      isCancelled: false,
    };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  after(delayMs: number, task: () => void): () => void {
    return this.at(this.nowMs + delayMs, task);
  }

  /** Lets time pass, event by event, with all promises settled between two of them. */
  async run(forMs: number): Promise<void> {
    const untilMs = this.nowMs + forMs;
    await promisesSettled();
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      if (next.isCancelled) continue;
      // A test may have let time pass without running anything.
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.task();
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
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) {
        throw new Error(`nothing settled it by ${untilMs} ms of simulated time`);
      }
      await this.run(Math.max(next.atMs - this.nowMs, 0));
    }
    return promise;
  }

  #push(event: Happening): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent] as Happening)) break;
      heap[at] = heap[parent] as Happening;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Happening;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Happening)) child += 1;
      if (!isBefore(heap[child] as Happening, last)) break;
      heap[at] = heap[child] as Happening;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}

/** All microtasks, and what they queue, have run. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
