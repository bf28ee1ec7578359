import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import {
  type Abortable,
  type AbortWait,
  watchAbort,
} from "../../../src/client/calls/abort-watch.js";
import { CLIENT_DEFAULTS, type Client, connectOn } from "../../../src/client/index.js";
import { setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";

class Waiter implements Abortable {
  readonly reasons: unknown[] = [];
  readonly wait: AbortWait;
  readonly #alsoEnds: readonly Waiter[];

  constructor(signal: AbortSignal, alsoEnds: readonly Waiter[] = []) {
    this.#alsoEnds = alsoEnds;
    this.wait = watchAbort(signal, this);
  }

  onAbort(reason: unknown): void {
    this.reasons.push(reason);
    for (const { wait } of this.#alsoEnds) wait.end();
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

test("a thousand waits on one signal are one listener, and each is notified once", () => {
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
  first.wait.end();
  expect(count.listeners).toBe(1);
  second.wait.end();
  second.wait.end();
  expect(count.listeners).toBe(0);
  const third = new Waiter(controller.signal);
  controller.abort("now");
  expect([first.reasons, second.reasons, third.reasons]).toEqual([[], [], ["now"]]);
});

test("waits that ended, in whatever order, leave the others their places", () => {
  const controller = new AbortController();
  const count = counted(controller);
  const called: number[] = [];
  const waits = Array.from({ length: 6 }, (_, n) => {
    return watchAbort(controller.signal, { onAbort: () => called.push(n) });
  });
  for (const at of [5, 2, 0, 3]) waits[at]?.end();
  expect(count.listeners).toBe(1);
  controller.abort();
  expect(called).toEqual([1, 4]);
});

test("a wait that another one ended is not told", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const first = new Waiter(signal);
  const others: Waiter[] = [];
  const ending = new Waiter(signal, others);
  others.push(first, ending, new Waiter(signal), new Waiter(signal));
  const last = new Waiter(signal);
  controller.abort("over");
  const reasons = [first, ...others, last].map((waiter) => waiter.reasons);
  expect(reasons).toEqual([["over"], ["over"], ["over"], [], [], ["over"]]);
});

test("whatever a client is asked for with one signal, the platform has no leak to warn of", async () => {
  const { world, server } = setUp();
  const { signal } = new AbortController();
  const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, signal };
  const connecting = Array.from({ length: 12 }, () => {
    return connectOn(new SimulatedPlatform(world, server), settings);
  });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  const [client] = (await world.until(Promise.all(connecting))) as [Client];
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
  const reads = keys.map((key) => client.inspect(key, { signal }));
  const watches = keys.map((key) => client.watch(key, { signal }));
  const locks = keys.map((key) => client.acquire(key, { signal }));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await world.until(Promise.all([...reads, ...locks]));
  for (const watch of watches) await watch.return?.();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a signal that is aborted while one is awaited ends a read and a watch with its reason", async () => {
  const { world, server } = setUp();
  const { client } = await connectTo(server);
  const controller = new AbortController();
  const { signal } = controller;
  server.faults.isLeaderless = true;
  const ends = [client.inspect("k", { signal }), client.watch("k", { signal }).next()];
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await world.until(Promise.allSettled(ends))).toEqual(
    ends.map(() => ({ status: "rejected", reason })),
  );
});
