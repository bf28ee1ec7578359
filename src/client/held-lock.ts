/**
 * One granted lock as the application sees it. It never outlives what the session can prove: every
 * look at it checks the deadline of the lease itself, because a blocked event loop runs no timer.
 * Loss and release are final, whatever the table still has.
 */
import type { HoldfastError } from "../errors.js";
import type { LockMode } from "../protocol/index.js";
import type { ReleaseWaiter } from "./call.js";
import { lockLost, releasedAbort } from "./failures.js";
import type { AcquireOptions, Lock, LossReason, ReleaseResult } from "./types.js";

/** What a lock needs of its session. */
export interface LockHost {
  /** Lease time left, 0 when over; ends all holds when it is. */
  checkLease(): number;
  /** Sends the release; `lock.onReleased` tells how it went. */
  release(lock: HeldLock): void;
  /** The release of this token was answered, or nobody waits for it any more. */
  forget(token: number): void;
  acquireUnder(owner: number, key: string, options: AcquireOptions | undefined): Promise<HeldLock>;
}

export type LockCallback<T> = (lock: Lock) => Promise<T> | T;

export class HeldLock implements Lock, ReleaseWaiter {
  readonly key: string;
  readonly mode: LockMode;
  readonly token: number;
  readonly #owner: number;
  readonly #host: LockHost;
  #state: "held" | "released" | "lost" = "held";
  #lossReason: LossReason = "unknown";
  /** Made when somebody looks: most locks are released without. */
  #controller: AbortController | undefined;
  #release: Promise<ReleaseResult> | undefined;
  #resolveRelease: ((result: ReleaseResult) => void) | undefined;

  constructor(host: LockHost, key: string, mode: LockMode, owner: number, token: number) {
    this.#host = host;
    this.key = key;
    this.mode = mode;
    this.#owner = owner;
    this.token = token;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    // The lease may be over without any timer having run.
    if (!this.isHeld && !this.#controller.signal.aborted) this.#abort();
    return this.#controller.signal;
  }

  get isHeld(): boolean {
    if (this.#state === "held") this.#host.checkLease();
    return this.#state === "held";
  }

  get remainingMs(): number {
    if (this.#state !== "held") return 0;
    return this.#host.checkLease();
  }

  assertHeld(): void {
    if (!this.isHeld) throw lockLost(this.key, this.token, this.#endReason);
  }

  release(): Promise<ReleaseResult> {
    if (this.isHeld) {
      this.#state = "released";
      this.#release = new Promise((resolve) => {
        this.#resolveRelease = resolve;
      });
      this.#abort();
      this.#host.release(this);
    }
    this.#release ??= Promise.resolve({ released: false, reason: this.#lossReason });
    return this.#release;
  }

  async acquire(key: string, options?: AcquireOptions): Promise<HeldLock> {
    this.assertHeld();
    return this.#host.acquireUnder(this.#owner, key, options);
  }

  async using<T>(
    key: string,
    optionsOrCallback: AcquireOptions | LockCallback<T>,
    callback?: LockCallback<T>,
  ): Promise<T> {
    return holdWhile((options) => this.acquire(key, options), optionsOrCallback, callback);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** Why it was lost, as an error; `undefined` while held or after a release by the application. */
  get loss(): HoldfastError | undefined {
    if (this.isHeld || this.#state === "released") return undefined;
    return lockLost(this.key, this.token, this.#lossReason);
  }

  /** Whether a release is on its way. */
  get isReleasing(): boolean {
    return this.#resolveRelease !== undefined;
  }

  /** Gives the lock up, for ever. Runs the listeners of `signal` before it returns. */
  lose(reason: LossReason): void {
    if (this.#state === "held") {
      this.#state = "lost";
      this.#lossReason = reason;
      this.#abort();
    } else {
      this.onReleased({ released: false, reason });
    }
  }

  onReleased(result: ReleaseResult): void {
    this.#resolveRelease?.(result);
    this.#resolveRelease = undefined;
    this.#host.forget(this.token);
  }

  get #endReason(): LossReason {
    return this.#state === "released" ? "released" : this.#lossReason;
  }

  #abort(): void {
    if (this.#controller === undefined) return;
    const isRelease = this.#state === "released";
    this.#controller.abort(
      isRelease ? releasedAbort(this.key) : lockLost(this.key, this.token, this.#lossReason),
    );
  }
}

/**
 * Runs a callback while holding a lock. The callback's own error wins over everything; its result
 * counts only if the lock was held until the callback ended.
 */
export async function holdWhile<T>(
  acquire: (options: AcquireOptions | undefined) => Promise<HeldLock>,
  optionsOrCallback: AcquireOptions | LockCallback<T>,
  callback: LockCallback<T> | undefined,
): Promise<T> {
  const isShort = typeof optionsOrCallback === "function";
  const run = isShort ? optionsOrCallback : callback;
  if (typeof run !== "function") throw new TypeError("using needs a callback");
  const lock = await acquire(isShort ? undefined : optionsOrCallback);
  let value: T;
  try {
    value = await run(lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
  const { loss } = lock;
  await lock.release();
  if (loss !== undefined) throw loss;
  return value;
}
