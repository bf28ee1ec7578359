/**
 * One granted lock as the application sees it. It is never held for longer than the session can
 * prove: each look at it checks its deadlines, because a blocked event loop runs no timer. Loss and
 * release are final, even if the table still has the hold.
 */
import type { HoldfastError } from "../../errors/index.js";
import type { ClaimMode, LockMode } from "../../protocol/index.js";
import { type LossReason, lockLost, releasedAbort } from "../failures.js";
import type { CallOptions } from "../options/checks.js";
import type { HandedOver, HandOverOptions } from "../options/hand-over-options.js";
import type { HeldItem, NestedOptions, UpgradeOptions } from "../options/lock-options.js";
import type { Task } from "../options/task.js";
import type { CallTraces } from "./call-traces.js";
import type { Handle, Hold } from "./hold.js";
import type { ReleaseWaiter } from "./hold-calls.js";
import type { Lock, LockEvents, ReleaseResult } from "./lock.js";

export type LockCallback<T> = (lock: Lock) => Promise<T> | T;

/** Runs code that belongs to a task. */
export interface TaskRunner {
  readonly traces: CallTraces;
  runAs<T>(task: Task, work: () => T): T;
}

/** What a lock needs from its session. */
export interface LockHost extends TaskRunner {
  /** How long the hold is certain to be held, 0 if it is over; ends holds that are over. */
  remainingMs(hold: Hold): number;
  /** `lock.onReleased` gets the result. */
  release(hold: Hold, lock: HeldLock): void;
  acquireUnder(task: Task, key: string, options: NestedOptions | undefined): Promise<HeldLock>;
  upgrade(hold: Hold, lock: HeldLock, options: UpgradeOptions | undefined): Promise<void>;
  downgrade(hold: Hold, lock: HeldLock, key: string | undefined): Promise<void>;
  update(hold: Hold, value: string, options: CallOptions | undefined): Promise<void>;
  handOver(hold: Hold, options: HandOverOptions): Promise<HandedOver | undefined>;
  /** A whole task may listen to the signal of its lock, with every call that it makes. */
  allowListeners(signal: AbortSignal): void;
}

/** Makes the handle of a hold, for the requested items. */
export type MakeLock = (host: LockHost, hold: Hold, items: readonly HeldItem[]) => HeldLock;

/** The method by which Node, and tools that follow it, ask an object how to show it. */
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** The options of an inspection that are used here. */
interface InspectOptions {
  readonly stylize?: (text: string, style: "special") => string;
}

export class HeldLock implements Lock, Handle, ReleaseWaiter {
  readonly #host: LockHost;
  readonly #hold: Hold;
  /** The requested items: the hold may be stronger, for another handle. */
  #items: readonly HeldItem[];
  #state: "held" | "released" | "lost" = "held";
  #endReason: LossReason = "unknown";
  /** Made when `signal` is first read: most locks are released without it. */
  #controller: AbortController | undefined;
  #events: EventTarget | undefined;
  #release: Promise<ReleaseResult> | undefined;
  #resolveRelease: ((result: ReleaseResult) => void) | undefined;

  constructor(host: LockHost, hold: Hold, items: readonly HeldItem[]) {
    this.#host = host;
    this.#hold = hold;
    this.#items = items;
    hold.addHandle(this);
  }

  get items(): readonly HeldItem[] {
    return this.#items;
  }

  get keys(): readonly string[] {
    return this.items.map(({ key }) => key);
  }

  get key(): string {
    return this.#first.key;
  }

  get mode(): ClaimMode {
    return this.#first.mode;
  }

  get slots(): readonly number[] {
    return this.#first.slots;
  }

  get token(): number {
    return this.#hold.token;
  }

  get task(): Task {
    return this.#hold.task;
  }

  get value(): string {
    return this.#hold.value;
  }

  get isContended(): boolean {
    return this.#hold.isContended;
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#newController();
    // The lease may be over without any timer having run.
    if (!this.isHeld && !this.#controller.signal.aborted) this.#abort();
    return this.#controller.signal;
  }

  #newController(): AbortController {
    const controller = new AbortController();
    this.#host.allowListeners(controller.signal);
    return controller;
  }

  get isHeld(): boolean {
    if (this.#state === "held") this.#host.remainingMs(this.#hold);
    return this.#state === "held";
  }

  get remainingMs(): number {
    if (this.#state !== "held") return 0;
    return this.#host.remainingMs(this.#hold);
  }

  assertHeld(): void {
    if (!this.isHeld) throw lockLost(this.items, this.token, this.#endReason);
  }

  release(): Promise<ReleaseResult> {
    if (this.isHeld) {
      this.#state = "released";
      this.#endReason = "released";
      const { traces } = this.#host;
      if (traces.seesReleases) return traces.release(this, () => this.#giveBack());
      return this.#giveBack();
    }
    this.#release ??= Promise.resolve({ released: false, reason: this.#endReason });
    return this.#release;
  }

  #giveBack(): Promise<ReleaseResult> {
    // Before listeners of the signal, which may release it too.
    const released = new Promise<ReleaseResult>((resolve) => {
      this.#resolveRelease = resolve;
    });
    this.#release = released;
    this.#abort();
    this.#host.release(this.#hold, this);
    return released;
  }

  async upgrade(options?: UpgradeOptions): Promise<void> {
    this.assertHeld();
    return this.#host.upgrade(this.#hold, this, options);
  }

  async downgrade(key?: string): Promise<void> {
    this.assertHeld();
    return this.#host.downgrade(this.#hold, this, key);
  }

  async update(value: string, options?: CallOptions): Promise<void> {
    this.assertHeld();
    return this.#host.update(this.#hold, value, options);
  }

  handOver(options?: HandOverOptions & { owner?: undefined }): Promise<HandedOver>;
  handOver(options: HandOverOptions & { owner: string }): Promise<undefined>;
  handOver(options?: HandOverOptions): Promise<HandedOver | undefined>;
  async handOver(options: HandOverOptions = {}): Promise<HandedOver | undefined> {
    this.assertHeld();
    return this.#host.handOver(this.#hold, options);
  }

  on<Name extends keyof LockEvents>(
    event: Name,
    listener: (detail: LockEvents[Name]) => void,
  ): () => void {
    if (event !== "contended" && event !== "revoking") {
      throw new TypeError(`a lock has no event ${JSON.stringify(event)}: contended, revoking`);
    }
    if (typeof listener !== "function") throw new TypeError("listener must be a function");
    const hold = this.#hold;
    const tell = (): void => {
      const detail = event === "revoking" ? hold.revocation : undefined;
      listener(detail as LockEvents[Name]);
    };
    const happened = event === "revoking" ? hold.revocation !== undefined : hold.isContended;
    this.#events ??= new EventTarget();
    this.#events.addEventListener(event, tell);
    if (happened) tell();
    return () => this.#events?.removeEventListener(event, tell);
  }

  async acquire(key: string, options?: NestedOptions): Promise<HeldLock> {
    this.assertHeld();
    return this.#host.acquireUnder(this.task, key, options);
  }

  async using<T>(
    key: string,
    optionsOrCallback: NestedOptions | LockCallback<T>,
    callback?: LockCallback<T>,
  ): Promise<T> {
    const acquire = (options?: NestedOptions) => this.acquire(key, options);
    return holdWhile(this.#host, acquire, optionsOrCallback, callback);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** What `console.log` shows: the lock as its user knows it, without the internals. */
  [INSPECT](
    depth: number,
    options: InspectOptions,
    inspect: (shown: object, options: InspectOptions) => string,
  ): string {
    if (depth < 0) return options.stylize?.("[Lock]", "special") ?? "[Lock]";
    const name = this.items.length === 1 ? { key: this.key } : { keys: this.keys };
    const state = this.isHeld
      ? { remainingMs: Math.round(this.remainingMs) }
      : { isHeld: false, reason: this.#endReason };
    return `Lock ${inspect({ ...name, mode: this.mode, token: this.token, ...state }, options)}`;
  }

  /** Why it was lost, as an error; `undefined` while held or after the application gave it up. */
  get loss(): HoldfastError | undefined {
    if (this.isHeld || this.#state === "released") return undefined;
    return lockLost(this.items, this.token, this.#endReason);
  }

  /**
   * From now on it needs the key in this mode; `undefined`: all of its keys. Permits have no mode.
   */
  setMode(key: string | undefined, mode: LockMode): void {
    this.#items = this.#items.map((item) => {
      const isMeant = (key === undefined || item.key === key) && item.mode !== "permits";
      return isMeant ? { ...item, mode } : item;
    });
  }

  /** Calls listeners. The platform reports their errors, as it does for listeners of signals. */
  notify(event: keyof LockEvents): void {
    if (this.#state === "held") this.#events?.dispatchEvent(new Event(event));
  }

  /** The hold is over forever. Runs the listeners of `signal` before it returns. */
  lose(reason: LossReason): void {
    if (this.#state !== "held") return;
    // The application gave it up.
    this.#state = reason === "moved" ? "released" : "lost";
    this.#endReason = reason;
    this.#abort();
  }

  onReleased(result: ReleaseResult): void {
    this.#resolveRelease?.(result);
    this.#resolveRelease = undefined;
  }

  get #first(): HeldItem {
    return this.items[0] as HeldItem;
  }

  #abort(): void {
    if (this.#controller === undefined) return;
    const isWished = this.#state === "released";
    this.#controller.abort(
      isWished
        ? releasedAbort(this.items, this.#endReason)
        : lockLost(this.items, this.token, this.#endReason),
    );
  }
}

/**
 * Runs a callback while holding a lock. The callback's own error wins over everything; its result
 * counts only if the lock was held until the callback ended.
 */
export async function holdWhile<T, Options>(
  tasks: TaskRunner,
  acquire: (options: Options | undefined) => Promise<HeldLock>,
  optionsOrCallback: Options | LockCallback<T>,
  callback: LockCallback<T> | undefined,
): Promise<T> {
  const isShort = typeof optionsOrCallback === "function";
  const run = isShort ? (optionsOrCallback as LockCallback<T>) : callback;
  if (typeof run !== "function") throw new TypeError("using needs a callback");
  const options = isShort ? undefined : (optionsOrCallback as Options);
  const { traces } = tasks;
  if (!traces.seesUsing) return holdAround(tasks, await acquire(options), run);
  return traces.using(async (onLock) => {
    const lock = await acquire(options);
    onLock(lock);
    return holdAround(tasks, lock, run);
  });
}

async function holdAround<T>(tasks: TaskRunner, lock: HeldLock, run: LockCallback<T>): Promise<T> {
  let value: T;
  try {
    value = await tasks.runAs(lock.task, () => run(lock));
  } catch (error) {
    await lock.release();
    throw error;
  }
  const { loss } = lock;
  await lock.release();
  if (loss !== undefined) throw loss;
  return value;
}
