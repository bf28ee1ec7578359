import { expect, test } from "vitest";
import { type Abortable, unwatchAbort, watchAbort } from "../../src/client/abort-watch.js";

class Waiter implements Abortable {
  readonly reasons: unknown[] = [];
  readonly #alsoEnds: Waiter | undefined;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal, alsoEnds?: Waiter) {
    this.#signal = signal;
    this.#alsoEnds = alsoEnds;
    watchAbort(signal, this);
  }

  onAbort(reason: unknown): void {
    this.reasons.push(reason);
    if (this.#alsoEnds !== undefined) unwatchAbort(this.#signal, this.#alsoEnds);
  }
}

/** Counts what is added to and removed from a signal. */
function counted(controller: AbortController): { listeners: number } {
  const count = { listeners: 0 };
  const { signal } = controller;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...parameters: Parameters<typeof addEventListener>) => {
    count.listeners += 1;
    addEventListener.apply(signal, parameters);
  };
  signal.removeEventListener = (...parameters: Parameters<typeof removeEventListener>) => {
    count.listeners -= 1;
    removeEventListener.apply(signal, parameters);
  };
  return count;
}

test("a thousand waits on one signal are one listener, and each is told once", () => {
  const controller = new AbortController();
  const count = counted(controller);
  const waiters = Array.from({ length: 1_000 }, () => new Waiter(controller.signal));
  expect(count.listeners).toBe(1);
  controller.abort("enough");
  for (const { reasons } of waiters) expect(reasons).toEqual(["enough"]);
});

test("the listener goes with the last wait and comes back with the next one", () => {
  const controller = new AbortController();
  const count = counted(controller);
  const first = new Waiter(controller.signal);
  const second = new Waiter(controller.signal);
  unwatchAbort(controller.signal, first);
  expect(count.listeners).toBe(1);
  unwatchAbort(controller.signal, second);
  unwatchAbort(controller.signal, second);
  expect(count.listeners).toBe(0);
  const third = new Waiter(controller.signal);
  controller.abort("now");
  expect([first.reasons, second.reasons, third.reasons]).toEqual([[], [], ["now"]]);
});

test("a wait that another one ended is not told", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const ended = new Waiter(signal);
  unwatchAbort(signal, ended);
  const ending = new Waiter(signal, ended);
  watchAbort(signal, ended);
  controller.abort("over");
  expect(ending.reasons).toEqual(["over"]);
  expect(ended.reasons).toEqual([]);
});
