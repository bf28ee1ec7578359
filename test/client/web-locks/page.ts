/** Steps that the tests of Web Locks share: connect, hold a lock, call `request` without types. */
import type { LockManager, LockRequestOptions, RequestedLock } from "../../../src/client/index.js";
import { setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

export interface Page extends SimulatedClient {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly locks: LockManager;
}

export async function openPage(ttlMs = 60_000): Promise<Page> {
  const { world, server } = setUp();
  return openAnother({ world, server }, ttlMs);
}

export async function openAnother(
  { world, server }: Pick<Page, "world" | "server">,
  ttlMs = 60_000,
): Promise<Page> {
  const { client, platform } = await connectTo(server, { ttlMs });
  return { world, server, client, platform, locks: client.locks };
}

/** A promise to be settled by the test. */
export function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

export interface Held {
  readonly lock: RequestedLock | null;
  readonly release: (value?: unknown) => void;
  readonly fail: (reason: unknown) => void;
  /** What `request` returned. */
  readonly released: Promise<unknown>;
}

/** Resolves when the callback was called; the lock is held until the test says otherwise. */
export async function hold(
  page: Page,
  name: string,
  options: LockRequestOptions = {},
): Promise<Held> {
  const end = deferred<unknown>();
  const called = deferred<RequestedLock | null>();
  const released = page.locks.request(name, options, (lock) => {
    called.resolve(lock);
    return end.promise;
  });
  // Some tests are not interested in how it ends.
  released.catch(() => undefined);
  const lock = await page.world.until(called.promise);
  return { lock, release: end.resolve, fail: end.reject, released };
}

/** As a program without types may call it. */
export function requestWith({ locks }: Page, ...args: readonly unknown[]): Promise<unknown> {
  return (locks.request as (...args: unknown[]) => Promise<unknown>).apply(locks, [...args]);
}

export const uncalled = (): never => {
  throw new Error("the callback was called");
};
