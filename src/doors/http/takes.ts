/**
 * Takes of leases by HTTP, and the long polls in which they wait. A poll ends when its time is over,
 * or when something on the way ends the request; its wait stays in the queue for a short grace.
 * Nothing has to be joined when it is repeated, at this node or another: the table hands a wait, and a
 * lease, over to the repeat. What was granted to nobody is given back, and never what a repeat has by
 * then.
 */

import type { Client, Lease, TakeLeaseOptions, WantedItem } from "../../client/index.js";
import { assert } from "../../errors/index.js";
import type { DoorClock } from "../clock.js";
import type { BorrowedClient } from "../door-clients.js";
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

export interface TakeWish {
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
  /** Takes without a caller that waits for them. */
  readonly #parked = new Set<Promise<void>>();
  readonly #clock: DoorClock;
  #isDraining = false;

  constructor(clock: DoorClock) {
    this.#clock = clock;
  }

  /** Answers the exchange. `borrowed` is given back when the last of it is over. */
  async take(exchange: Exchange, borrowed: BorrowedClient, wish: TakeWish): Promise<void> {
    const { client } = borrowed;
    const beganMs = this.#clock.monotonicMs();
    const isWaiting = wish.waitMs > 0;
    const abandoning = new AbortController();
    const signal = isWaiting ? abandoning.signal : exchange.leaving;
    let isParked = false;
    try {
      const taken = client.leases.take(wish.wanted, optionsOf(wish, signal));
      const lease = await (isWaiting ? this.#poll(exchange, taken, wish) : taken);
      const sinceMs = (): number => this.#clock.monotonicMs() - beganMs;
      const isShort =
        lease !== undefined && trustShare(lease, sinceMs(), wish.ttlMs) < TRUST_SHARE_MIN;
      const times = isShort ? await extended(client, wish, sinceMs()) : {};
      if (lease === undefined || exchange.isCallerGone) {
        isParked = true;
        this.#park(borrowed, wish, taken, abandoning);
        if (exchange.isCallerGone) return;
        if (this.#isDraining) throw stopping();
        exchange.answer(202, QUEUED_BODY);
        return;
      }
      exchange.answer(200, leaseBody({ ...lease, ...times }));
    } finally {
      if (!isParked) borrowed.giveBack();
    }
  }

  /** Ends all polls. Resolves when the grace of the last request is over. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#polls) end();
    // The polls that have ended park their requests first.
    await new Promise<void>((resolve) => this.#clock.soon(resolve));
    await Promise.all(this.#parked);
  }

  /** Resolves to `undefined` when the poll ends before the take. */
  #poll(
    { ended }: Exchange,
    taken: Promise<Lease>,
    { waitMs, pollMs: chosenMs = POLL_MS_MAX, ttlMs }: TakeWish,
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

  #park(
    borrowed: BorrowedClient,
    wish: TakeWish,
    taken: Promise<Lease>,
    abandoning: AbortController,
  ): void {
    const left = leaveLater(this.#clock, borrowed.client, wish, taken, abandoning);
    const parked = left.finally(() => {
      this.#parked.delete(parked);
      borrowed.giveBack();
    });
    this.#parked.add(parked);
  }
}

/** Never rejects. */
async function leaveLater(
  clock: DoorClock,
  { leases }: Client,
  { wanted, owner }: TakeWish,
  taken: Promise<Lease>,
  abandoning: AbortController,
): Promise<void> {
  let onGraceOver: () => void = () => {};
  const graceOver = new Promise<void>((resolve) => {
    onGraceOver = resolve;
  });
  const timer = clock.setTimer(GRACE_MS, onGraceOver);
  timer.setKeepsProcess(true);
  try {
    // A take that fails is over: it timed out, or a repeat has it.
    await Promise.race([graceOver, taken.then(() => graceOver)]);
    abandoning.abort(new DOMException("not repeated in time", "AbortError"));
    const lease = await taken;
    const keys = typeof wanted === "string" ? wanted : wanted.map(({ key }) => key);
    await leases.giveBack(keys, { owner, only: lease });
  } catch {
    // Nothing is left of it here.
  } finally {
    timer.cancel();
  }
}

function optionsOf(wish: TakeWish, signal: AbortSignal): TakeLeaseOptions {
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
  { wanted, owner, ttlMs }: TakeWish,
  sinceMs: number,
): Promise<Pick<Lease, "trustMs" | "endsInMs">> {
  const key = typeof wanted === "string" ? wanted : (wanted[0]?.key ?? "");
  const [lease] = await client.leases.extend(key, { owner, ttlMs });
  assert(lease !== undefined, () => "an extend without a lease");
  const { trustMs, endsInMs } = lease;
  return { trustMs: trustMs + sinceMs, endsInMs: endsInMs + sinceMs };
}
