/**
 * Takes of leases by HTTP, and the long polls in which they wait. A poll ends when its time is over,
 * or when something on the way ends the request; its take is kept for a short grace (`kept-take.ts`).
 * Nothing has to be joined when it is repeated, at this node or another: the table hands a wait, and a
 * lease, over to the repeat.
 */
import type { Client, Lease, TakeLeaseOptions, WantedItem } from "../../client/index.js";
import { assert } from "../../errors/index.js";
import type { DoorClock } from "../clock.js";
import type { BorrowedClient } from "../door-clients.js";
import { KeptTake } from "../kept-take.js";
import type { Exchange } from "./exchange.js";
import { leaseBody } from "./lease-bodies.js";
import { stopping } from "./problems.js";

/** The longest poll: proxies commonly cut a request after a minute without an answer. */
const POLL_MS_MAX = 45_000;
/**
 * A poll lasts at most the TTL times this factor. The margin for clocks grows with the time of the
 * poll, so half of the TTL is left to the caller at least.
 */
const POLL_TTLS_MAX = 4;
/** How long a request that waits keeps its place without its caller. */
const GRACE_MS = 2_000;
/** A lease of which less than this part can be relied on is extended before it is answered. */
const TRUST_SHARE_MIN = 0.45;

const QUEUED_BODY = JSON.stringify({ queued: true, graceMs: GRACE_MS });

export interface PolledTake {
  readonly wanted: string | readonly WantedItem[];
  readonly owner: string;
  readonly request: string | undefined;
  readonly name: string | undefined;
  readonly ttlMs: number;
  readonly waitMs: number;
  /** How long one poll may last, if the caller has chosen. */
  readonly pollMs: number | undefined;
}

export class Takes {
  /** Ends each poll, because the node stops. */
  readonly #polls = new Set<() => void>();
  /** The ends of takes whose callers are away. */
  readonly #away = new Set<Promise<void>>();
  readonly #clock: DoorClock;
  #isDraining = false;

  constructor(clock: DoorClock) {
    this.#clock = clock;
  }

  /** Answers the exchange. `borrowed` is given back when the last of it is over. */
  async take(exchange: Exchange, borrowed: BorrowedClient, wish: PolledTake): Promise<void> {
    const { client } = borrowed;
    const beganMs = this.#clock.monotonicMs();
    const isWaiting = wish.waitMs > 0;
    const signal = isWaiting ? undefined : exchange.leaving;
    let isAway = false;
    try {
      const kept = new KeptTake(this.#clock, client.leases, wish.wanted, optionsOf(wish, signal));
      const lease = await (isWaiting ? this.#poll(exchange, kept.taken, wish) : kept.taken);
      const sinceMs = (): number => this.#clock.monotonicMs() - beganMs;
      const isShort =
        lease !== undefined && trustShare(lease, sinceMs(), wish.ttlMs) < TRUST_SHARE_MIN;
      const times = isShort ? await extended(client, wish, sinceMs()) : {};
      if (lease === undefined || exchange.isCallerGone) {
        isAway = true;
        this.#leave(kept, borrowed);
        if (exchange.isCallerGone) return;
        if (this.#isDraining) throw stopping();
        exchange.answer(202, QUEUED_BODY);
        return;
      }
      kept.claim();
      exchange.answer(200, leaseBody({ ...lease, ...times }));
    } finally {
      if (!isAway) borrowed.giveBack();
    }
  }

  /** Ends all polls. Resolves when the grace of the last request is over. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#polls) end();
    // The callers of the polls that have ended are away first.
    await new Promise<void>((resolve) => this.#clock.soon(resolve));
    await Promise.all(this.#away);
  }

  /** Resolves to `undefined` when the poll ends before the take. */
  #poll(
    { ended }: Exchange,
    taken: Promise<Lease>,
    { waitMs, pollMs: chosenMs = POLL_MS_MAX, ttlMs }: PolledTake,
  ): Promise<Lease | undefined> {
    const pollMs = Math.min(chosenMs, pollMsOf(ttlMs));
    return new Promise((resolve, reject) => {
      const end = (): void => resolve(undefined);
      ended.addEventListener("abort", end, { once: true });
      if (ended.aborted) end();
      // The table ends a wait by itself, and says so.
      const timer = waitMs > pollMs ? this.#clock.setTimer(pollMs, end) : undefined;
      timer?.setKeepsProcess(true);
      this.#polls.add(end);
      if (this.#isDraining) end();
      const over = (): void => {
        timer?.cancel();
        this.#polls.delete(end);
        ended.removeEventListener("abort", end);
      };
      taken.then(
        (lease) => {
          over();
          resolve(lease);
        },
        (error: unknown) => {
          over();
          reject(error);
        },
      );
    });
  }

  #leave(kept: KeptTake, borrowed: BorrowedClient): void {
    kept.leave(GRACE_MS);
    const over = kept.over.then(() => {
      this.#away.delete(over);
      borrowed.giveBack();
    });
    this.#away.add(over);
  }
}

function optionsOf(wish: PolledTake, signal: AbortSignal | undefined): TakeLeaseOptions {
  const { owner, request, name, ttlMs, waitMs } = wish;
  return { owner, request, name, ttlMs, waitMs, signal };
}

function pollMsOf(ttlMs: number): number {
  return ttlMs === 0 ? POLL_MS_MAX : Math.min(POLL_MS_MAX, POLL_TTLS_MAX * ttlMs);
}

/** Which part of what a new lease could be relied on is left of this one, `sinceMs` after it was asked for. */
function trustShare({ trustMs }: Lease, sinceMs: number, ttlMs: number): number {
  if (trustMs === Number.POSITIVE_INFINITY) return 1;
  const fullMs = ttlMs - Math.max(ttlMs / 10, 250);
  return fullMs <= 0 ? 1 : (trustMs - sinceMs) / fullMs;
}

/**
 * While nobody led, the time of the lease stood still and the caller's did not. Returns the new
 * times, from `sinceMs` ago on.
 */
async function extended(
  client: Client,
  { wanted, owner, ttlMs }: PolledTake,
  sinceMs: number,
): Promise<Pick<Lease, "trustMs" | "endsInMs">> {
  const key = typeof wanted === "string" ? wanted : (wanted[0]?.key ?? "");
  const [lease] = await client.leases.extend(key, { owner, ttlMs });
  assert(lease !== undefined, () => "an extend without a lease");
  const { trustMs, endsInMs } = lease;
  return { trustMs: trustMs + sinceMs, endsInMs: endsInMs + sinceMs };
}
