/**
 * Shows observers what one client asks for and gives back (`transport/tracing.ts`). Where nobody
 * observes, a caller looks at one property and makes nothing. It must not change what it observes:
 * the calls, their order and their results are the same.
 */
import { type Item, WAIT_FOREVER } from "../../protocol/index.js";
import type { HeldItem } from "../options/lock-options.js";
import type { Task } from "../options/task.js";
import type { AcquireTrace, Tracing, UsingTrace } from "../transport/tracing.js";

/** What the contexts say of the client. */
export interface TracedClient {
  readonly tracing: Tracing | undefined;
  readonly sessionId: number;
  readonly endpoint: string;
}

/** A handle, as far as its contexts need it. */
interface TracedLock {
  readonly items: readonly HeldItem[];
  readonly keys: readonly string[];
  readonly token: number;
  readonly task: Task;
}

/** What is asked for. */
interface TracedWish {
  readonly operation: AcquireTrace["operation"];
  readonly items: readonly Pick<Item, "key" | "mode">[];
  readonly task: Task;
  readonly waitMs: number;
}

export class CallTraces {
  readonly #client: TracedClient;

  constructor(client: TracedClient) {
    this.#client = client;
  }

  get seesAcquires(): boolean {
    return this.#client.tracing?.acquire.hasSubscribers === true;
  }

  get seesReleases(): boolean {
    return this.#client.tracing?.release.hasSubscribers === true;
  }

  get seesUsing(): boolean {
    return this.#client.tracing?.using.hasSubscribers === true;
  }

  /** Only if `seesAcquires`. `lockOf`: the lock that the call made or changed, if any. */
  acquire<T>(
    wish: TracedWish,
    work: () => Promise<T>,
    lockOf: (made: T) => TracedLock | undefined,
  ): Promise<T> {
    const { items, task, operation, waitMs } = wish;
    const context: AcquireTrace = {
      operation,
      keys: items.map(({ key }) => key),
      mode: items[0]?.mode,
      task: task.id,
      waitMs: waitMs === WAIT_FOREVER ? undefined : waitMs,
      session: this.#client.sessionId,
      endpoint: this.#client.endpoint,
    };
    return this.#channels.acquire.trace(context, async () => {
      const made = await work();
      const lock = lockOf(made);
      if (lock !== undefined) {
        context.keys = lock.keys;
        context.mode = lock.items[0]?.mode;
        context.token = lock.token;
      }
      return made;
    });
  }

  /** Only if `seesReleases`. */
  release<T>({ items, keys, token, task }: TracedLock, work: () => Promise<T>): Promise<T> {
    const { sessionId: session, endpoint } = this.#client;
    const { mode } = items[0] as HeldItem;
    const context = { keys, mode, token, task: task.id, session, endpoint };
    return this.#channels.release.trace(context, work);
  }

  /** Only if `seesUsing`. `work` gets a function that takes the lock once it is granted. */
  using<T>(work: (onLock: (lock: TracedLock) => void) => Promise<T>): Promise<T> {
    const context: UsingTrace = {};
    const onLock = ({ keys, token }: TracedLock): void => {
      context.keys = keys;
      context.token = token;
    };
    return this.#channels.using.trace(context, () => work(onLock));
  }

  get #channels(): Tracing {
    return this.#client.tracing as Tracing;
  }
}
