/**
 * What one process of an application has: its holds, from the lock that it was given to the last
 * handle that it gives back. The checks learn when it begins to count on one, or on more of it, and
 * when nothing is left of it. What the log says of a hold must be what was asked for.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Lock } from "../../../../src/client/index.js";
import type { GuardedWrites } from "../guarded-writes.js";
import { SIGHTINGS } from "../sightings.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { SdkCalls } from "./sdk-calls.js";
import { lossOf, SdkHandle, SdkHold, type WantedModes } from "./sdk-hold.js";
import { ADOPT } from "./told-holds.js";

/** What a client may take off a lease, as documented, and what clocks that count sleep may be off. */
const MARGIN_RATIO = 0.1;
const MARGIN_MS_MIN = 250;
const ROUNDING_MS = 25;
/** What clocks that stand still with their machines may be off. */
const TIMER_MS = 2;

/** For so long a lease of `ttlMs` is counted on, from before that was said which renewed it. */
function trustMs(ttlMs: number): number {
  return ttlMs - Math.max(ttlMs * MARGIN_RATIO, MARGIN_MS_MIN);
}

export class SdkHolds {
  readonly #world: ProcessSurroundings;
  readonly #life: ProcessLife;
  readonly #calls: SdkCalls;
  readonly #writes: GuardedWrites;
  /** Those that are over too: what they guarded is used now and then all the same. */
  readonly #all: SdkHold[] = [];
  /** When the process last went on. */
  #resumedMs = Number.NEGATIVE_INFINITY;

  constructor(
    world: ProcessSurroundings,
    life: ProcessLife,
    calls: SdkCalls,
    writes: GuardedWrites,
  ) {
    this.#world = world;
    this.#life = life;
    this.#calls = calls;
    this.#writes = writes;
  }

  /** What it has handles of. */
  get held(): readonly SdkHold[] {
    return this.#all.filter(({ count }) => count > 0);
  }

  /** What its session knows, or knew, by that number, if it had a handle. */
  find(session: number, number: number): SdkHold | undefined {
    const { watch } = this.#world;
    // The last one: in a restored cluster a session may have the number of one that is gone.
    return this.#all.findLast((hold) => {
      return hold.session === session && watch.numberInLog(session, hold.token) === number;
    });
  }

  /** What is on its way to others. */
  get leaving(): readonly SdkHold[] {
    return this.#all.filter(({ isHandedOver, token }) => {
      return isHandedOver && this.#calls.isOpen(`hand over ${token}`);
    });
  }

  /** What it counts on. */
  get trusted(): readonly SdkHold[] {
    return this.#all.filter(({ isTrusted }) => isTrusted);
  }

  /** What the SDK says of a hold in contradiction to itself, or to the log. */
  get contradictions(): readonly string[] {
    const own = this.#all.flatMap(({ contradiction }) => contradiction ?? []);
    return [...own, ...this.trusted.flatMap((hold) => this.#weakerInLog(hold) ?? [])];
  }

  /** The process is about to stand still. */
  freeze(): void {
    for (const hold of this.#all) {
      hold.freeze();
      this.#demandProof(hold, hold.frozenUntilMs);
    }
  }

  /** The process goes on. Returns those whose time ran out meanwhile. */
  thaw(roundingMs: number): readonly SdkHold[] {
    this.#resumedMs = this.#world.clock.withSleepMs();
    return this.#all.filter((hold) => hold.thaw(roundingMs));
  }

  #judgeLater(hold: SdkHold, handle: SdkHandle): void {
    const { signal } = handle;
    // Lost already when it was handed out.
    if (signal.aborted) this.#judgeLoss(hold, handle);
    else signal.addEventListener("abort", () => this.#judgeLoss(hold, handle), { once: true });
  }

  /**
   * A lease that was renewed just now lasts, and with it what is held: until the log ends that, or
   * somebody said when it would.
   */
  #judgeLoss(hold: SdkHold, { signal }: SdkHandle): void {
    const { session, token, endsByItself } = hold;
    const loss = lossOf(signal);
    if (endsByItself || (loss !== "expired" && loss !== "revoked")) return;
    const { watch, ears, plan, clock } = this.#world;
    if (loss === "expired") this.#demandProof(hold, clock.withSleepMs());
    const sinceMs = ears.sinceRenewedMs(session);
    if (sinceMs >= trustMs(plan.ttlMs) - ROUNDING_MS || !watch.isHeldInLog(session, token)) return;
    const what = `${token} is lost (${loss}) ${sinceMs} ms after session ${session} was renewed`;
    this.#calls.broken("nothing is lost without a cause", what);
  }

  /**
   * What was said last and answered proves a lease from before it was said on. A hold is counted on until
   * `untilMs`, by the clock that counts sleep; a process that stood still looks when it goes on.
   */
  #demandProof({ session, token }: SdkHold, untilMs: number): void {
    const { ears, plan } = this.#world;
    const roundingMs = plan.countsSleep ? ROUNDING_MS : TIMER_MS;
    const provenMs = ears.provenMs(session) + trustMs(plan.ttlMs) + roundingMs;
    if (untilMs <= Math.max(provenMs, this.#resumedMs) || untilMs === Number.POSITIVE_INFINITY)
      return;
    const what = `${token} is counted on for ${untilMs - provenMs} ms longer than was proven`;
    this.#calls.broken("lease from below", what);
  }

  /** A lock that it was given in `session`. `wanted`: as what it was asked for. */
  take(lock: Lock, session: number, wanted: WantedModes, isCapped: boolean): void {
    const handle = new SdkHandle(lock, wanted);
    // Also one whose handles were all given back, when another request was counted with it before.
    const known = this.#all.find((hold) => hold.token === lock.token);
    if (known !== undefined) {
      known.add(handle);
      this.#judgeLater(known, handle);
      this.#world.watch.onSeen(SIGHTINGS.countedUp);
      this.believe(known);
      return;
    }
    const { client, clock } = this.#world;
    const hold = new SdkHold(client, session, { life: this.#life, clock }, handle);
    hold.isCapped = isCapped;
    this.#judgeLater(hold, handle);
    this.#all.push(hold);
    this.believe(hold);
    this.#world.onGrant();
  }

  /** A lock that somebody else had, which is what the log says that it is. */
  inherit(lock: Lock, session: number): void {
    const { watch, board } = this.#world;
    const shared = board.sharedOf(this.#secretOf(lock, session));
    for (const { key, mode } of lock.items) {
      if (mode === "exclusive" && shared.includes(key)) {
        const what = `${key} by ${lock.token} was made shared, and is handed over as exclusive`;
        this.#calls.broken("as it was asked for", what);
      }
      const inLog = watch.modeInLog(lock.token, key);
      if (inLog === undefined || inLog === mode) continue;
      this.#calls.broken("as it was asked for", `${lock.token} is ${inLog}, and said ${mode}`);
    }
    this.take(lock, session, new Map(lock.items.map(({ key, mode }) => [key, mode])), false);
  }

  /** By which it was adopted. */
  #secretOf({ token }: Lock, session: number): string {
    const { watch, ears } = this.#world;
    const call = ears.holdsOf(session).callOf(watch.numberInLog(session, token));
    return call.slice(ADOPT.length);
  }

  /** It begins to count on a hold, or on more of it. */
  believe(hold: SdkHold): void {
    // It was stopped in the middle of a turn that goes on to grant something.
    if (this.#life.isPaused) hold.freeze();
    const weaker = this.#weakerInLog(hold) ?? hold.contradiction;
    if (weaker !== undefined) this.#calls.broken("as it was asked for", weaker);
    this.#world.watch.onBelief(hold);
    this.#writes.learn(hold);
  }

  /** Gives one handle back. */
  release(hold: SdkHold, handle = hold.live[0]): void {
    if (handle === undefined) return;
    const { client, watch } = this.#world;
    hold.givingBack += 1;
    const { token } = hold;
    const released = handle.lock.release();
    this.#calls.track({ what: `release ${token}`, task: 0 }, released, (outcome) => {
      hold.givingBack -= 1;
      const isLast = hold.count + hold.givingBack === 0 && !hold.isCounted;
      if (outcome.released && isLast) watch.onGivenBack(client, hold.session, hold.token);
    });
  }

  #weakerInLog({ token, claims }: SdkHold): string | undefined {
    const weak = claims.find(({ key, mode }) => {
      return mode === "exclusive" && this.#world.watch.modeInLog(token, key) === "shared";
    });
    return weak && `${weak.key} is shared in the log by ${token}, and counted on as exclusive`;
  }
}
