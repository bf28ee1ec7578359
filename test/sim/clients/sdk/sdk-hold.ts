/**
 * A hold as an application of the SDK believes in it: as long as the signal of one of its handles is
 * not aborted. Nobody looks at `isHeld` for it, since looking makes the SDK read its clock: a process
 * that runs must have been told in time. One that stands still cannot be told; what it would see when
 * it looked is what its SDK said when it was stopped, counted on by its own clock.
 */
import type { Lock } from "../../../../src/client/index.js";
import type { ProcessClock } from "../../world/process-clock.js";
import type { ProcessLife } from "../../world/process-life.js";
import type { BeliefClaim, HeldBelief } from "../belief.js";

/** Far below any margin. */
const ROUNDING_MS = 0.01;

interface Handle {
  readonly lock: Lock;
  /** Kept, as applications do. */
  readonly signal: AbortSignal;
}

export class SdkHold implements HeldBelief {
  readonly client: { readonly host: number };
  readonly session: number;
  readonly claims: readonly BeliefClaim[];
  /** Another request of the same task may be counted with it. */
  isCounted = false;
  /** A request to make it stronger, or weaker, is on its way. */
  isChanging = false;
  /** It has a cap, or is revoked: kept now and then, so that this end is seen. */
  endsByItself = false;
  /** Calls on their way that give a handle back. */
  givingBack = 0;
  readonly #life: ProcessLife;
  readonly #clock: ProcessClock;
  readonly #handles: Handle[] = [];
  #token: number;
  /** By the clock of a process that stands still, when its SDK gives the hold up. */
  #frozenUntilMs = Number.POSITIVE_INFINITY;

  constructor(
    client: { readonly host: number },
    session: number,
    process: { readonly life: ProcessLife; readonly clock: ProcessClock },
    lock: Lock,
  ) {
    this.client = client;
    this.session = session;
    this.#life = process.life;
    this.#clock = process.clock;
    this.#token = lock.token;
    this.claims = lock.items.map(({ key, mode, slots }) => ({ key, mode, slots }));
    this.add(lock);
  }

  /** A handle that was given up is told of no newer one. */
  get token(): number {
    const held = this.#handles.find(({ signal }) => !signal.aborted);
    this.#token = held?.lock.token ?? this.#token;
    return this.#token;
  }

  get owner(): number {
    return this.lock.owner.id;
  }

  /** To ask something of the hold with. */
  get lock(): Lock {
    const held = this.#handles.find(({ signal }) => !signal.aborted) ?? this.#handles[0];
    if (held === undefined) throw new Error("a hold has a handle");
    return held.lock;
  }

  /** Handles that were not given up. */
  get count(): number {
    return this.#handles.filter(({ signal }) => !signal.aborted).length;
  }

  get givenUp(): "lapsed" | undefined {
    return this.#life.isAlive && this.count > 0 ? undefined : "lapsed";
  }

  get isTrusted(): boolean {
    return this.givenUp === undefined && this.#clock.nowMs() < this.#frozenUntilMs;
  }

  claimOf(key: string): BeliefClaim | undefined {
    return this.claims.find((claim) => claim.key === key);
  }

  /** Another handle of the same hold. */
  add(lock: Lock): void {
    if (this.#handles.some((handle) => handle.lock === lock)) return;
    this.#handles.push({ lock, signal: lock.signal });
    lock.on("revoking", () => {
      this.endsByItself = true;
    });
  }

  setMode(key: string | undefined, mode: "exclusive" | "shared"): void {
    for (const claim of this.claims) {
      if (claim.mode !== "permits" && (key ?? claim.key) === claim.key) claim.mode = mode;
    }
  }

  /** The process is about to stand still. */
  freeze(): void {
    if (this.givenUp !== undefined) return;
    this.#frozenUntilMs = this.#clock.nowMs() + this.lock.remainingMs;
  }

  /** The process goes on. Returns whether the time of the hold ran out meanwhile. */
  thaw(): boolean {
    const wasOver = this.#clock.nowMs() > this.#frozenUntilMs + ROUNDING_MS;
    this.#frozenUntilMs = Number.POSITIVE_INFINITY;
    return wasOver && this.count > 0;
  }

  /** What the SDK says of the hold in contradiction to itself; `undefined`: nothing. */
  get contradiction(): string | undefined {
    const wrong = this.#handles.find(({ lock, signal }) => lock.isHeld && signal.aborted);
    return wrong && `${this.token} is held, and its signal was aborted`;
  }
}
