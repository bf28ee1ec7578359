/**
 * A hold as an application of the SDK believes in it: each handle as what was asked for by it, for
 * as long as its signal is not aborted. Nobody looks at `isHeld` for it, since looking makes the
 * SDK read its clock: a process that runs must have been notified in time. One that stands still
 * cannot be notified; what it would see if it looked is what its SDK said when it was stopped,
 * counted on by its own clock.
 *
 * What the SDK says of the mode of a lock is compared with that, and never taken for it.
 */

import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Lock } from "../../../../src/client/index.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import type { ClaimMode } from "../../../../src/protocol/index.js";
import type { BeliefClaim, HeldBelief } from "../belief.js";

/** Far below any margin. */
const ROUNDING_MS = 0.01;

/** What was asked for by a handle, by key. */
export type WantedModes = ReadonlyMap<string, ClaimMode>;

export class SdkHandle {
  readonly lock: Lock;
  /** Kept, as applications do. */
  readonly signal: AbortSignal;
  /** How often its listeners were called. */
  contendedCount = 0;
  revokingCount = 0;
  readonly #modes: Map<string, ClaimMode>;
  /** How often it was made shared: an upgrade from before does not count any more. */
  #lowerings = 0;
  /** Upgrades on their way. */
  readonly #upgrading = new Set<{ readonly key: string }>();

  constructor(lock: Lock, modes: WantedModes) {
    this.lock = lock;
    this.signal = lock.signal;
    this.#modes = new Map(modes);
    lock.on("contended", () => {
      this.contendedCount += 1;
    });
    lock.on("revoking", () => {
      this.revokingCount += 1;
    });
  }

  get isLive(): boolean {
    return !this.signal.aborted;
  }

  /** Keys of locks that it wants in that mode. */
  keysIn(mode: ClaimMode): string[] {
    return [...this.#modes].filter(([, wanted]) => wanted === mode).map(([key]) => key);
  }

  /** Keys that are, or may become, exclusive. */
  get strongKeys(): string[] {
    const upgrading = [...this.#upgrading].map(({ key }) => key);
    return [...new Set([...this.keysIn("exclusive"), ...upgrading])];
  }

  modeOf(key: string): ClaimMode | undefined {
    return this.#modes.get(key);
  }

  /** Before it is asked for: others may be let in before that is heard. */
  lower(key: string): void {
    this.#lowerings += 1;
    this.#modes.set(key, "shared");
  }

  /** It is to become exclusive. Returns what is to be done when it did, or did not. */
  raise(key: string): { readonly done: () => void; readonly over: () => void } {
    const upgrade = { key };
    this.#upgrading.add(upgrade);
    const then = this.#lowerings;
    return {
      done: () => {
        if (this.#lowerings === then) this.#modes.set(key, "exclusive");
      },
      over: () => {
        this.#upgrading.delete(upgrade);
      },
    };
  }
}

/** Why a lock is lost, by the error that its signal was aborted with; `undefined`: it is not. */
export function lossOf({ reason }: AbortSignal): unknown {
  return reason instanceof HoldfastError ? reason.details["reason"] : undefined;
}

export class SdkHold implements HeldBelief {
  readonly client: { readonly host: number };
  readonly session: number;
  readonly handles: SdkHandle[] = [];
  /** Another request of the same task may be counted with it. */
  isCounted = false;
  /** It has a cap: kept now and then, so that this end is seen. */
  isCapped = false;
  /** Calls on their way that give a handle back. */
  givingBack = 0;
  readonly #life: ProcessLife;
  readonly #clock: ProcessClock;
  #token: number;
  /** By the clock of a process that stands still, which counts sleep, when its SDK gives the hold up. */
  #frozenUntilMs = Number.POSITIVE_INFINITY;

  constructor(
    client: { readonly host: number },
    session: number,
    process: { readonly life: ProcessLife; readonly clock: ProcessClock },
    handle: SdkHandle,
  ) {
    this.client = client;
    this.session = session;
    this.#life = process.life;
    this.#clock = process.clock;
    this.#token = handle.lock.token;
    this.add(handle);
  }

  /** It was left to others, also if requests of its task wanted to share it. */
  get isHandedOver(): boolean {
    return this.#left.length > 0;
  }

  /** Keys that no handle wanted exclusively when the hold was left to others. */
  get sharedWhenLeft(): readonly string[] {
    const strong = this.#left.flatMap(({ strongKeys }) => strongKeys);
    return this.lock.items.map(({ key }) => key).filter((key) => !strong.includes(key));
  }

  get #left(): SdkHandle[] {
    // The error is the same as after a release, which has no code.
    return this.handles.filter(({ signal }) => String(signal.reason).includes("was handed over"));
  }

  /** A handle that was given up does not hear of a newer one. */
  get token(): number {
    this.#token = this.live[0]?.lock.token ?? this.#token;
    return this.#token;
  }

  get task(): number {
    return this.lock.task.id;
  }

  /** Handles that were not given up. */
  get live(): SdkHandle[] {
    return this.handles.filter(({ isLive }) => isLive);
  }

  /** To ask something of the hold with. */
  get lock(): Lock {
    const handle = this.live[0] ?? this.handles[0];
    if (handle === undefined) throw new Error("a hold has a handle");
    return handle.lock;
  }

  get count(): number {
    return this.live.length;
  }

  /** It has a cap, or was revoked. */
  get endsByItself(): boolean {
    return this.isCapped || this.handles.some(({ revokingCount }) => revokingCount > 0);
  }

  /** In each key the most that one of the handles was asked for. */
  get claims(): readonly BeliefClaim[] {
    const { handles, live } = this;
    const those = live.length > 0 ? live : handles;
    return this.lock.items.map(({ key, slots }) => {
      const modes = those.map((handle) => handle.modeOf(key));
      if (modes.includes("permits")) return { key, mode: "permits", slots };
      return { key, mode: modes.includes("exclusive") ? "exclusive" : "shared", slots };
    });
  }

  get givenUp(): "lapsed" | undefined {
    return this.#life.isAlive && this.count > 0 ? undefined : "lapsed";
  }

  get isTrusted(): boolean {
    return this.givenUp === undefined && this.#clock.withSleepMs() < this.#frozenUntilMs;
  }

  claimOf(key: string): BeliefClaim | undefined {
    return this.claims.find((claim) => claim.key === key);
  }

  /** Another handle of the same hold. */
  add(handle: SdkHandle): void {
    if (this.handles.some(({ lock }) => lock === handle.lock)) return;
    this.handles.push(handle);
  }

  /** `Infinity`: the process runs, or it is given up. */
  get frozenUntilMs(): number {
    return this.#frozenUntilMs;
  }

  /** The process is about to stand still. */
  freeze(): void {
    if (this.givenUp !== undefined) return;
    this.#frozenUntilMs = this.#clock.withSleepMs() + this.lock.remainingMs;
  }

  /**
   * The process goes on. Returns whether the time of the hold ran out meanwhile. `roundingMs`: how far
   * off the clocks are by which it knows how long it stood still.
   */
  thaw(roundingMs: number): boolean {
    const wasOver = this.#clock.withSleepMs() > this.#frozenUntilMs + ROUNDING_MS + roundingMs;
    this.#frozenUntilMs = Number.POSITIVE_INFINITY;
    return wasOver && this.count > 0;
  }

  /** What the SDK says of the hold in contradiction to itself; `undefined`: nothing. */
  get contradiction(): string | undefined {
    for (const { lock, signal } of this.handles) {
      if (lock.isHeld && signal.aborted) return `${this.token} is held, and its signal was aborted`;
      // What its own handle gave back was not lost, and what another handle gave back does not
      // concern it.
      if (lossOf(signal) === "released") return `${this.token} is lost, since it was released`;
    }
    for (const handle of this.live) {
      const weak = handle.lock.items.find(({ key, mode }) => {
        return mode === "shared" && handle.modeOf(key) === "exclusive";
      });
      if (weak !== undefined) return `${this.token} was asked to be exclusive, and is said shared`;
    }
    return undefined;
  }
}
