/** `client.leases`: checks arguments, sends the commands of leases, and counts what may be trusted. */
import { HoldfastError } from "../../errors/index.js";
import { END_REASON, OP, type Result, STATUS } from "../../protocol/index.js";
import { lossReasonOf } from "../failures.js";
import type { Locks } from "../locks/locks.js";
import {
  LEASE_OPTIONS,
  type LeaseStep,
  nameDigest,
  requireLeaseOptions,
  resolveExtendMode,
  resolveLeaseKeys,
  resolveLeaseName,
  resolveLeaseSteps,
  resolveLeaseTtl,
} from "../options/lease-options.js";
import { resolveLeaseItems, type WantedItem } from "../options/lock-options.js";
import { marginMs } from "../session-lease/session-lease.js";
import {
  type Decided,
  LeaseCall,
  type LeaseWish,
  TakeCall,
  type TakeTerms,
} from "./lease-calls.js";
import type {
  ExtendedLeaseOf,
  ExtendLeaseOptions,
  GiveBackOptions,
  GivenBack,
  Lease,
  Leases,
  SplitLease,
  TakeLeaseOptions,
} from "./leases.js";

export interface ClientLeasesHost {
  readonly locks: Locks;
  /** 32 random hex digits. */
  freshSecret(): string;
}

/** The take that returned a lease. */
interface Taken {
  readonly session: number;
  readonly sequence: number;
}

const ENDLESS = Object.freeze({
  trustMs: Number.POSITIVE_INFINITY,
  endsInMs: Number.POSITIVE_INFINITY,
});
const NOTHING: GivenBack = Object.freeze({ count: 0, waits: 0, reason: undefined });

export class ClientLeases implements Leases {
  readonly #host: ClientLeasesHost;
  readonly #taken = new WeakMap<Lease, Taken>();

  constructor(host: ClientLeasesHost) {
    this.#host = host;
  }

  async take(key: string | readonly WantedItem[], options: TakeLeaseOptions): Promise<Lease> {
    requireLeaseOptions(options, LEASE_OPTIONS.take);
    const items = typeof key === "string" ? [{ key }] : key;
    return this.#take(this.#wishOf(items, options, false), options.signal);
  }

  async takeEach(
    items: readonly WantedItem[],
    options: Omit<TakeLeaseOptions, "waitMs">,
  ): Promise<SplitLease> {
    requireLeaseOptions(options, LEASE_OPTIONS.takeEach);
    return this.#take(this.#wishOf(items, { ...options, waitMs: 0 }, true), options.signal);
  }

  async extend(
    keys: string | readonly string[],
    options: ExtendLeaseOptions,
  ): Promise<readonly ExtendedLeaseOf[]> {
    requireLeaseOptions(options, LEASE_OPTIONS.extend);
    const decided = await this.#command(
      {
        op: OP.extend,
        owner: nameDigest(options.owner, "owner"),
        keys: resolveLeaseKeys(keys),
        ttlMs: resolveLeaseTtl(options.ttlMs, options.mode === "add" ? 1 : 0),
        mode: resolveExtendMode(options.mode),
      },
      options.signal,
    );
    const { result } = decided;
    if (result.status !== STATUS.extended) throw unexpected(result);
    return result.leases.map(({ token, endsAt }) => ({ token, ...timesOf(decided, endsAt) }));
  }

  async giveBack(keys: string | readonly string[], options: GiveBackOptions): Promise<GivenBack> {
    requireLeaseOptions(options, LEASE_OPTIONS.giveBack);
    const owner = nameDigest(options.owner, "owner");
    const named = resolveLeaseKeys(keys);
    const { only } = options;
    const taken = only === undefined ? 0 : this.#numberOf(only);
    if (taken === undefined) return NOTHING;
    const wish = { op: OP.giveBack, owner, keys: named, taken } as const;
    const { result } = await this.#command(wish, options.signal);
    if (result.status !== STATUS.givenBack) throw unexpected(result);
    const { count, waits, reason } = result;
    const isWhole = count + waits === named.length && reason === END_REASON.unknown;
    return { count, waits, reason: isWhole ? undefined : lossReasonOf(reason) };
  }

  async compareAndAct(
    steps: readonly LeaseStep[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly number[] | undefined> {
    requireLeaseOptions(options, LEASE_OPTIONS.compareAndAct);
    const wish = { op: OP.act, steps: resolveLeaseSteps(steps) } as const;
    const { result } = await this.#command(wish, options.signal);
    if (result.status !== STATUS.acted) throw unexpected(result);
    return result.tokens.length === 0 ? undefined : result.tokens;
  }

  #wishOf(items: readonly WantedItem[], options: TakeLeaseOptions, isSplit: boolean): TakeTerms {
    const { owner, request, name, ttlMs } = options;
    const resolved = resolveLeaseItems(items, options);
    return {
      op: OP.take,
      owner: nameDigest(owner, "owner"),
      request: request === undefined ? this.#host.freshSecret() : nameDigest(request, "request"),
      name: resolveLeaseName(name),
      ttlMs: resolveLeaseTtl(ttlMs, 0),
      isSplit,
      items: resolved.items,
      waitMs: resolved.waitMs,
      options: resolved.options,
    };
  }

  async #take(wish: TakeTerms, signal: AbortSignal | undefined): Promise<SplitLease> {
    const { locks } = this.#host;
    const decided = await locks.begin<Decided>(signal, (times, caller) => {
      return new TakeCall(locks, wish, signal, times, caller);
    });
    const { result } = decided;
    if (result.status !== STATUS.leased) throw unexpected(result);
    const { tokens, slots, endsAt } = result;
    const token = tokens[0];
    if (token === undefined) throw unexpected(result);
    const lease = { token, tokens, slots, ...timesOf(decided, endsAt) };
    this.#taken.set(lease, { session: locks.sessionId, sequence: decided.sequence });
    return lease;
  }

  /** The number by which the table knows the take of a lease; `undefined`: it does not any more. */
  #numberOf(lease: Lease): number | undefined {
    const taken = this.#taken.get(lease);
    if (taken === undefined) throw new TypeError("only must be a lease that this client took");
    return taken.session === this.#host.locks.sessionId ? taken.sequence : undefined;
  }

  #command(wish: LeaseWish, signal: AbortSignal | undefined): Promise<Decided> {
    const { locks } = this.#host;
    return locks.begin(signal, (times, caller) => {
      return new LeaseCall(locks, wish, signal, times, caller);
    });
  }
}

/** From the beginning of the call: how long the lease can be relied on (semantics.md, 8.7), and its end. */
function timesOf(
  { stamp, sentAfterMs }: Decided,
  endsAt: number,
): Pick<Lease, "trustMs" | "endsInMs"> {
  if (endsAt === 0) return ENDLESS;
  const spanMs = endsAt - stamp;
  const endsInMs = sentAfterMs + spanMs;
  return { trustMs: endsInMs - marginMs(spanMs), endsInMs };
}

function unexpected({ status }: Result): HoldfastError {
  return new HoldfastError("PROTOCOL", `the answer to a command on leases has status ${status}`);
}
