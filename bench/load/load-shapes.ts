/**
 * What the workers of each closed-loop workload ask for, and how their times are told apart.
 */
import { RandomStream } from "../../lab/random-stream.js";
import type { Client, Lock, WantedItem } from "../../src/index.js";
import type { LoadOptions } from "../options/bench-options.js";
import type { WitnessedLock } from "./grant-witness.js";
import { Zipf } from "./zipf.js";

/** What a worker needs of a lock. */
export type LoadedLock = WitnessedLock & Pick<Lock, "mode" | "release">;

/** `Service`: whom a worker asks. */
export interface LoadShape<Service = Client> {
  /** The next lock of a worker. */
  readonly ask: (
    service: Service,
    worker: number,
    options: { readonly signal: AbortSignal },
  ) => Promise<LoadedLock>;
  /** Under which name the times of such a lock are told beside those of all; none: not apart. */
  readonly kindOf?: (lock: LoadedLock) => string;
  /** Under which code an error of the service is counted; `undefined`: it is none of its. */
  readonly codeOf?: (error: unknown) => string | undefined;
  /** Of every semaphore. */
  readonly limit?: number;
  /**
   * Whether a lock is kept until the next turn of the event loop. Without that, what is granted in one
   * turn is released one after the other before the next is looked at, and the witness can see
   * tokens, but no two holds at once.
   */
  readonly isKeptForATurn?: boolean;
}

/** Of `rw`: one acquire in so many wants the lock for itself. */
const EXCLUSIVE_ONE_IN = 10;
/** Of `multi`: how many locks at once. */
const AT_ONCE = { min: 2, max: 4 } as const;
const SEED = 1;

export function loadShape(options: LoadOptions, prefix: string): LoadShape {
  const random = new RandomStream(SEED);
  switch (options.workload) {
    case "uncontended":
      return ownKeys(prefix);
    case "contended":
      return { ask: (client, _worker, { signal }) => client.acquire(prefix, { signal }) };
    case "hot-set": {
      const zipf = new Zipf(options.keys, random);
      return {
        ask: (client, _worker, { signal }) => {
          return client.acquire(`${prefix}/${zipf.draw()}`, { signal });
        },
      };
    }
    case "rw":
      return {
        ask: (client, _worker, { signal }) => {
          const key = `${prefix}/${random.below(options.keys)}`;
          const mode = random.below(EXCLUSIVE_ONE_IN) === 0 ? "exclusive" : "shared";
          return client.acquire(key, { mode, signal });
        },
        kindOf: ({ mode }) => mode,
        isKeptForATurn: true,
      };
    case "semaphore":
      return {
        ask: (client, _worker, { signal }) => {
          return client.semaphore(prefix, { limit: options.limit }).acquire({ signal });
        },
        limit: options.limit,
        isKeptForATurn: true,
      };
    case "multi":
      return {
        ask: (client, _worker, { signal }) => {
          const count = AT_ONCE.min + random.below(AT_ONCE.max - AT_ONCE.min + 1);
          const items = random
            .distinct(count, options.keys)
            .map((key): WantedItem => ({ key: `${prefix}/${key}` }));
          return client.acquireAll(items, { signal });
        },
        kindOf: ({ items }) => `${items.length}`,
        isKeptForATurn: true,
      };
  }
}

/** Each worker on a lock of its own. */
export function ownKeys(prefix: string): LoadShape {
  return { ask: (client, worker, { signal }) => client.acquire(`${prefix}/${worker}`, { signal }) };
}
