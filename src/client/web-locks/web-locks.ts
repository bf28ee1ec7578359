/**
 * The Web Locks API on a cluster. A name is an escaped key, and a request is an acquire of a new
 * task with deadlock detection off; the lock task queue of the specification is the order of the
 * log. This file does not decide who is granted what. (W3C, "Web Locks API", section 4.)
 */
import type { HoldfastError } from "../../errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type HoldView,
  type KeysView,
  type KeyView,
  LOCK_NAME_PREFIX,
  type LockMode,
  lockNameOf,
  OP,
  QUERY_PAGE_MAX,
  WAIT_FOREVER,
  type WaiterView,
} from "../../protocol/index.js";
import { stolenAbort } from "../failures.js";
import type { HeldLock } from "../locks/held-lock.js";
import type { AcquireWish } from "../options/lock-options.js";
import type { Task } from "../options/task.js";
import type { SessionMachine } from "../session/session-machine.js";
import { type LockRequest, resolveRequest } from "./arguments.js";
import type {
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockRequestOptions,
  RequestedLock,
} from "./types.js";
import { MADE_HERE, requireMadeHere, shapeAsInterface } from "./web-interface.js";

/** The interface `Lock`. */
class GrantedLock implements RequestedLock {
  static {
    shapeAsInterface(GrantedLock, "Lock");
  }

  readonly #name: string;
  readonly #mode: LockMode;
  readonly #lock: HeldLock;

  constructor(...made: readonly [typeof MADE_HERE, Pick<LockInfo, "name" | "mode">, HeldLock]) {
    const [key, info, lock] = made;
    requireMadeHere(key);
    this.#name = info.name;
    this.#mode = info.mode;
    this.#lock = lock;
  }

  get name(): string {
    return this.#name;
  }

  get mode(): LockMode {
    return this.#mode;
  }

  get token(): number {
    return this.#lock.token;
  }

  get signal(): AbortSignal {
    return this.#lock.signal;
  }
}

/** The interface `LockManager`. */
export class WebLocks implements LockManager {
  static {
    shapeAsInterface(WebLocks, "LockManager");
  }

  readonly #session: SessionMachine;

  constructor(...[key, session]: readonly [typeof MADE_HERE, SessionMachine]) {
    requireMadeHere(key);
    this.#session = session;
  }

  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: LockRequestOptions,
    callback: LockGrantedCallback<T>,
  ): Promise<Awaited<T>>;
  async request<T>(
    name: unknown,
    optionsOrCallback: unknown,
    ...more: readonly unknown[]
  ): Promise<Awaited<T>> {
    // First: on anything but a manager this is a TypeError, whatever the arguments are.
    const { locks } = this.#session;
    const request = resolveRequest<T>(name, optionsOrCallback, more);
    const lock = await locks.request(wishOf(request, locks.newTask()));
    // Web IDL calls it without a `this`.
    const { callback } = request;
    if (lock === undefined) return await callback(null);
    return await holdWhileRunning(lock, request);
  }

  async query(): Promise<LockManagerSnapshot> {
    const keys: KeyView[] = [];
    let after: string | undefined;
    do {
      const question = {
        op: OP.query,
        prefix: LOCK_NAME_PREFIX,
        after,
        limit: QUERY_PAGE_MAX,
      } as const;
      // After earlier requests of this client, or the snapshot would not show them.
      const page = (await this.#session.ask(question, undefined, true)) as KeysView;
      keys.push(...page.keys);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return snapshotOf(keys);
  }
}

function wishOf<T>(request: LockRequest<T>, task: Task): AcquireWish {
  const { key, mode, ifAvailable, steal, signal } = request;
  return {
    items: [{ key, mode }],
    task,
    waitMs: ifAvailable ? 0 : WAIT_FOREVER,
    isTry: ifAvailable,
    isReentrant: false,
    signal,
    options: { ...ACQUIRE_DEFAULTS, steal, detect: false },
  };
}

/** Settles as the callback does, or rejects as soon as the lock is lost, whichever comes first. */
async function holdWhileRunning<T>(lock: HeldLock, request: LockRequest<T>): Promise<Awaited<T>> {
  const { loss } = lock;
  // A lock that was stolen right after its grant was held: the specification calls the callback.
  if (loss !== undefined && loss.details["reason"] !== "stolen") throw loss;
  const lost = new Promise<never>((_resolve, reject) => {
    const { signal } = lock;
    const onAbort = (): void => {
      // After its release there is none.
      if (lock.loss !== undefined) reject(rejectionBy(lock.loss));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  return Promise.race([
    lost,
    run(lock, new GrantedLock(MADE_HERE, request, lock), request.callback),
  ]);
}

async function run<T>(
  lock: HeldLock,
  granted: RequestedLock,
  callback: LockGrantedCallback<T>,
): Promise<Awaited<T>> {
  try {
    return await callback(granted);
  } finally {
    await lock.release();
  }
}

function rejectionBy(loss: HoldfastError): Error {
  return loss.details["reason"] === "stolen" ? stolenAbort(loss) : loss;
}

function snapshotOf(keys: readonly KeyView[]): LockManagerSnapshot {
  const holds: { readonly name: string; readonly hold: HoldView }[] = [];
  const waiters: { readonly name: string; readonly waiter: WaiterView }[] = [];
  for (const key of keys) {
    const name = lockNameOf(key.key);
    if (name === undefined) continue;
    for (const hold of key.holds) holds.push({ name, hold });
    for (const waiter of key.waiters) waiters.push({ name, waiter });
  }
  // Tokens rise with every grant, arrivals with every request.
  holds.sort((left, right) => left.hold.token - right.hold.token);
  waiters.sort((left, right) => left.waiter.arrival - right.waiter.arrival);
  return {
    held: holds.flatMap(({ name, hold }) => infoOf(name, hold)),
    pending: waiters.flatMap(({ name, waiter }) => infoOf(name, waiter)),
  };
}

/** Empty for a semaphore, which a client of another kind may have made of the key. */
function infoOf(name: string, { mode, session }: HoldView | WaiterView): LockInfo[] {
  return mode === "permits" ? [] : [{ name, mode, clientId: String(session) }];
}
