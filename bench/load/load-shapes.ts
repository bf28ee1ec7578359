/** What the workers of each closed-loop workload ask for, and how their times are grouped. */
import { RandomStream } from "../../lab/random-stream.js";
import type { Client, Lock, WantedItem } from "../../src/index.js";
import type { LoadOptions } from "../options/bench-options.js";
import { UNAWAITED_SYSTEM } from "../options/system-names.js";
import type { WitnessedLock } from "./grant-witness.js";
import { Zipf } from "./zipf.js";

/** The part of a lock that a worker needs. */
export type LoadedLock = WitnessedLock & Pick<Lock, "mode" | "release">;

/** `Service`: the client that a worker asks. */
export interface LoadShape<Service = Client> {
  /** The next lock of a worker. */
  readonly ask: (
    service: Service,
    worker: number,
    options: { readonly signal: AbortSignal },
  ) => Promise<LoadedLock>;
  /** The group in which the time of such a lock is also reported; none: no groups. */
  readonly kindOf?: (lock: LoadedLock) => string;
  /**
   * The code under which an error of the service is counted; `undefined`: it is not the service's.
   */
  readonly codeOf?: (error: unknown) => string | undefined;
  /** The limit of every semaphore. */
  readonly limit?: number;
  /**
   * Whether a lock is kept until the next turn of the event loop. Otherwise all locks granted in
   * one turn are released one after the other before the next is seen, and the witness can check
   * tokens, but never sees two holds at once.
   */
  readonly isKeptForATurn?: boolean;
  /**
   * False: a worker asks for its next lock without waiting for the answer to its release, so both
   * travel together. A cycle counts when its release is confirmed.
   */
  readonly isReleaseAwaited?: boolean;
}

/** For `rw`: one acquire in this many is exclusive. */
const EXCLUSIVE_ONE_IN = 10;
/** For `multi`: how many locks at once. */
const AT_ONCE = { min: 2, max: 4 } as const;
const SEED = 1;

export function loadShape(options: LoadOptions, prefix: string): LoadShape {
  const shape = awaitedShape(options, prefix);
  return options.system === UNAWAITED_SYSTEM ? { ...shape, isReleaseAwaited: false } : shape;
}

function awaitedShape(options: LoadOptions, prefix: string): LoadShape {
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
