/**
 * Leases of named owners in memory, by the contract of semantics.md, 8, on a clock that the test
 * moves: a second implementation of what the door needs from the SDK. It has no identities and no
 * limits; what waits is granted in the order in which it came.
 */
import type {
  Change,
  GivenBack,
  LeaseStep,
  Leases,
  WantedItem,
  Watch,
} from "../../../../src/client/index.js";
import type { WatchTarget } from "../../../../src/client/options/view-options.js";
import type { HeldClient, LockClient } from "../../../../src/doors/redis/index.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import type { HoldView, KeyView } from "../../../../src/protocol/index.js";

interface MemoryLease {
  readonly key: string;
  readonly owner: string;
  readonly request: string;
  value: string;
  readonly token: number;
  readonly limit: number;
  readonly permits: number;
  ttlMs: number;
  /** `Infinity`: without end. */
  endMs: number;
  /** By a repeat: no take of it can be told apart any more. */
  isRepeated: boolean;
}

export class MemoryLocks {
  nowMs = 0;
  /** Every command but reads, as it would be in the log. */
  readonly log: string[] = [];
  /** What the next calls reject with, in turn. */
  readonly failures: HoldfastError[] = [];
  readonly #leases = new Set<MemoryLease>();
  /** Why the last lease of an owner in a key ended. */
  readonly #ended = new Map<string, "released" | "expired">();
  /** In the order in which they came. */
  #waiting: { key: string; owner: string; attempt: () => void }[] = [];
  #lastToken = 2 ** 41;
  #lastRequest = 0;

  readonly #watchers = new Set<{
    readonly prefix: string;
    readonly onEnd: (key: string) => void;
  }>();

  readonly client: LockClient;

  constructor() {
    const leases: Leases = {
      take: async (key, options) => {
        const items = typeof key === "string" ? [{ key }] : key;
        const taken = () => {
          const [token] = this.#take(items, options);
          const { ttlMs } = options;
          return { token: token as number, trustMs: ttlMs, endsInMs: ttlMs, slots: [] };
        };
        if (options.waitMs === 0) return taken();
        return new Promise((resolve, reject) => {
          const attempt = () => resolve(taken());
          this.#waiting.push({ key: items[0]?.key ?? "", owner: options.owner, attempt });
          options.signal?.addEventListener("abort", () => {
            this.#stopWaiting((wait) => wait.attempt === attempt);
            reject(options.signal?.reason);
          });
          this.#grantWaiting();
        });
      },
      takeEach: async (items, options) => {
        const tokens = this.#take(items, options);
        const { ttlMs } = options;
        const token = tokens[0] as number;
        return { token, tokens, trustMs: ttlMs, endsInMs: ttlMs, slots: [] };
      },
      extend: async (keys, options) => this.#extend(listOf(keys), options),
      compareAndAct: async (steps) => this.#act(steps),
      giveBack: async (keys, { owner, only }) => this.#giveBack(listOf(keys), owner, only?.token),
    };
    this.client = {
      leases,
      inspect: async (key) => this.#inspect(key),
      keysPage: async () => ({ keys: [], next: null }),
      watch: (target, options) => this.#watch(target, options?.signal),
      whoAmI: async () => ({ name: "anonymous", grants: [] }),
      closed: new AbortController().signal,
    };
  }

  /** One of its own, which a test may close. */
  newClient(): { readonly client: LockClient; readonly close: () => void } {
    const closing = new AbortController();
    const watch: LockClient["watch"] = (target, options) => {
      const signals = [closing.signal, ...(options?.signal ? [options.signal] : [])];
      return this.#watch(target, AbortSignal.any(signals));
    };
    const client = { ...this.client, watch, closed: closing.signal };
    return { client, close: () => closing.abort(new Error("the client is closed")) };
  }

  /** Prefixes that are watched. */
  get watched(): readonly string[] {
    return [...this.#watchers].map(({ prefix }) => prefix);
  }

  held(identity = "anonymous"): HeldClient {
    return { client: this.client, identity, release: () => {} };
  }

  #take(
    items: readonly WantedItem[],
    options: Parameters<Leases["takeEach"]>[1],
    isStep = false,
  ): readonly number[] {
    if (!isStep) this.#command(`take ${items.map(({ key }) => key).join(" ")} ${options.ttlMs}`);
    const { owner, ttlMs, value = "" } = options;
    const request = options.request ?? `random ${++this.#lastRequest}`;
    const own = items.map((item) => this.#of(item.key).find((lease) => lease.owner === owner));
    const isFree = items.every((item, at) => {
      const mine = own[at];
      if (mine !== undefined) return mine.request === request;
      const isQueued = this.#waiting.some(({ key }) => key === item.key);
      const used = this.#of(item.key).reduce((sum, { permits }) => sum + permits, 0);
      return !isQueued && used + (item.permits ?? 1) <= (item.limit ?? 1);
    });
    if (!isFree) {
      const isSameOwner = own.some((lease) => lease !== undefined);
      throw new HoldfastError("LOCK_HELD", "held", { details: { isSameOwner } });
    }
    const endMs = ttlMs === 0 ? Number.POSITIVE_INFINITY : this.nowMs + ttlMs;
    return items.map((item, at) => {
      const mine = own[at];
      if (mine !== undefined) {
        mine.endMs = Math.max(mine.endMs, endMs);
        mine.isRepeated = true;
        return mine.token;
      }
      const token = ++this.#lastToken;
      const { key, limit = 0, permits = 1 } = item;
      const terms = { limit, permits, ttlMs, endMs, isRepeated: false };
      this.#leases.add({ key, owner, request, value, token, ...terms });
      this.#ended.delete(`${key} ${owner}`);
      return token;
    });
  }

  #extend(
    keys: readonly string[],
    { owner, ttlMs, mode = "atLeast" }: Parameters<Leases["extend"]>[1],
  ): Awaited<ReturnType<Leases["extend"]>> {
    this.#command(`extend ${keys.join(" ")} ${ttlMs} ${mode}`);
    const own = keys.map((key) => this.#of(key).find((lease) => lease.owner === owner));
    const missing = own.indexOf(undefined);
    if (missing >= 0) {
      const reason = this.#ended.get(`${keys[missing]} ${owner}`) ?? "unknown";
      throw new HoldfastError("NOT_HELD", "not held", { details: { reason } });
    }
    return own.map((found) => {
      const lease = found as MemoryLease;
      const isEndless = ttlMs === 0;
      const from = isEndless ? Number.POSITIVE_INFINITY : this.nowMs;
      const end = (mode === "add" ? lease.endMs : from) + ttlMs;
      lease.endMs = mode === "atLeast" ? Math.max(lease.endMs, end) : end;
      lease.ttlMs = ttlMs;
      const restMs = lease.endMs - this.nowMs;
      return { token: lease.token, trustMs: restMs, endsInMs: restMs };
    });
  }

  #act(steps: readonly LeaseStep[]): readonly number[] | undefined {
    this.#command(`act ${steps.map(({ key }) => key).join(" ")}`);
    const own = steps.map(({ key, owner }) => this.#of(key).find((one) => one.owner === owner));
    const areSo = steps.every(({ key, before }, at) =>
      before === undefined ? this.#of(key).length === 0 : own[at]?.value === before,
    );
    if (!areSo) return undefined;
    const tokens = steps.map(({ key, owner, before, after, ttlMs }, at) => {
      const lease = own[at];
      if (after === undefined) {
        if (before !== undefined) this.#giveBack([key], owner, undefined, true);
        return 0;
      }
      if (lease === undefined) {
        const wish = { owner, ttlMs: ttlMs as number, value: after };
        return this.#take([{ key }], wish, true)[0] as number;
      }
      lease.value = after;
      if (ttlMs === undefined) return lease.token;
      lease.ttlMs = ttlMs;
      lease.endMs = ttlMs === 0 ? Number.POSITIVE_INFINITY : this.nowMs + ttlMs;
      return lease.token;
    });
    return tokens;
  }

  /** `only`: the token of the lease that is meant; `undefined`: any. */
  #giveBack(
    keys: readonly string[],
    owner: string,
    only: number | undefined,
    isStep = false,
  ): GivenBack {
    if (!isStep) this.#command(`giveBack ${keys.join(" ")}`);
    let count = 0;
    let reason: GivenBack["reason"];
    for (const key of keys) {
      const isMeant = ({ token, isRepeated }: MemoryLease): boolean =>
        only === undefined || (token === only && !isRepeated);
      const lease = this.#of(key).find((one) => one.owner === owner && isMeant(one));
      if (lease === undefined) {
        reason ??= this.#ended.get(`${key} ${owner}`) ?? "unknown";
      } else {
        this.#leases.delete(lease);
        this.#ended.set(`${key} ${owner}`, "released");
        for (const { prefix, onEnd } of this.#watchers) if (key.startsWith(prefix)) onEnd(key);
        count += 1;
      }
      if (only !== undefined) continue;
      this.#stopWaiting((wait) => wait.key === key && wait.owner === owner);
    }
    this.#grantWaiting();
    return { count, waits: 0, reason };
  }

  /** As if an operator had ended every lease of the keys. */
  endAll(keys: readonly string[]): void {
    for (const lease of this.#leases) if (keys.includes(lease.key)) this.#leases.delete(lease);
  }

  get waiting(): readonly string[] {
    return this.#waiting.map(({ key, owner }) => `${key} ${owner}`);
  }

  #stopWaiting(
    isOne: (wait: { key: string; owner: string; attempt: () => void }) => boolean,
  ): void {
    this.#waiting = this.#waiting.filter((wait) => !isOne(wait));
  }

  #grantWaiting(): void {
    for (const wait of [...this.#waiting]) {
      const isFirst = this.#waiting.find(({ key }) => key === wait.key) === wait;
      if (!isFirst || this.#of(wait.key).length > 0) continue;
      this.#waiting = this.#waiting.filter((other) => other !== wait);
      const others = this.#waiting;
      this.#waiting = [];
      wait.attempt();
      this.#waiting = others;
    }
  }

  #command(line: string): void {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    this.log.push(line);
  }

  #of(key: string): MemoryLease[] {
    const live: MemoryLease[] = [];
    for (const lease of this.#leases) {
      if (lease.endMs <= this.nowMs) {
        this.#leases.delete(lease);
        this.#ended.set(`${lease.key} ${lease.owner}`, "expired");
      } else if (lease.key === key) {
        live.push(lease);
      }
    }
    return live;
  }

  #inspect(key: string): KeyView {
    const leases = this.#of(key);
    const limit = leases[0]?.limit ?? 0;
    const kind = leases.length === 0 ? null : limit > 0 ? "semaphore" : "lock";
    return {
      key,
      kind,
      limit,
      holds: leases.map((lease) => this.#view(lease)),
      waiters: [],
      cooldowns: [],
    };
  }

  /** Reports the ends of leases by release. It begins when it is first asked. */
  #watch(target: WatchTarget, signal: AbortSignal | undefined): Watch {
    const ended: string[] = [];
    let wake: () => void = () => {};
    const prefix = typeof target === "string" ? target : target.prefix;
    const watcher = {
      prefix,
      onEnd: (key: string) => {
        ended.push(key);
        wake();
      },
    };
    const watchers = this.#watchers;
    async function* changes(): AsyncGenerator<Change> {
      watchers.add(watcher);
      try {
        for (;;) {
          signal?.throwIfAborted();
          const key = ended.shift();
          if (key !== undefined) yield { type: "ended", key } as Change;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
              signal?.addEventListener("abort", () => resolve());
            });
        }
      } finally {
        watchers.delete(watcher);
      }
    }
    return Object.assign(changes(), {
      revision: undefined,
      begun: Promise.resolve(),
    }) as unknown as Watch;
  }

  #view({ token, limit, permits, ttlMs, endMs, value, owner }: MemoryLease): HoldView {
    return {
      ...{ token, ttlMs: endMs === Number.POSITIVE_INFINITY ? 0 : ttlMs, value },
      ...{ mode: limit > 0 ? "permits" : "exclusive", permits: limit > 0 ? permits : 0, slots: [] },
      ...{ session: 0, sessionName: "", identity: "anonymous", task: 0, sequence: 0 },
      ...{ heldMs: 0, waitedMs: 0, leaseMs: endMs - this.nowMs, endsInMs: null },
      ...{
        isRevoked: false,
        orderedBy: "",
        holder: "owner" as const,
        leaseOwner: owner.slice(0, 8),
      },
    };
  }
}

function listOf(keys: string | readonly string[]): readonly string[] {
  return typeof keys === "string" ? [keys] : keys;
}
