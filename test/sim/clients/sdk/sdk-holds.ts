/**
 * What one process of an application has: its holds, from the lock that it was given to the last handle
 * that it gives back. The checks are told when it begins to count on one, or on more of it, and when
 * nothing is left of it.
 */
import type { Lock } from "../../../../src/client/index.js";
import type { ProcessLife } from "../../world/process-life.js";
import type { GuardedWrites } from "../guarded-writes.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { SdkCalls } from "./sdk-calls.js";
import { SdkHold } from "./sdk-hold.js";

export class SdkHolds {
  readonly #world: ProcessSurroundings;
  readonly #life: ProcessLife;
  readonly #calls: SdkCalls;
  readonly #writes: GuardedWrites;
  /** Those that are over too: what they guarded is used now and then all the same. */
  readonly #all: SdkHold[] = [];

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

  /** What it counts on. */
  get held(): readonly SdkHold[] {
    return this.#all.filter(({ count }) => count > 0);
  }

  /** Whether it counts on something that it was given in this session. */
  trustsSession(session: number): boolean {
    return this.#all.some((hold) => hold.session === session && hold.isTrusted);
  }

  trusts(token: number): boolean {
    return this.#all.some((hold) => hold.token === token && hold.isTrusted);
  }

  /** What the SDK says of a hold in contradiction to itself. */
  get contradictions(): readonly string[] {
    return this.#all.flatMap(({ contradiction }) => contradiction ?? []);
  }

  /** The process is about to stand still. */
  freeze(): void {
    for (const hold of this.#all) hold.freeze();
  }

  /** The process goes on. Returns those whose time ran out meanwhile. */
  thaw(): readonly SdkHold[] {
    return this.#all.filter((hold) => hold.thaw());
  }

  /** A lock that it was given in `session`. `isCapped`: it ends by itself. */
  take(lock: Lock, session: number, isCapped: boolean): void {
    // Also one whose handles were all given back, when another request was counted with it before.
    const known = this.#all.find(({ token }) => token === lock.token);
    if (known !== undefined) {
      known.add(lock);
      this.believe(known);
      return;
    }
    const { client, clock } = this.#world;
    const hold = new SdkHold(client, session, { life: this.#life, clock }, lock);
    hold.endsByItself ||= isCapped;
    this.#all.push(hold);
    this.believe(hold);
    this.#world.onGrant();
  }

  /** It begins to count on a hold, or on more of it. */
  believe(hold: SdkHold): void {
    // It was stopped in the middle of a turn that goes on to grant something.
    if (this.#life.isPaused) hold.freeze();
    this.#world.watch.onBelief(hold);
    this.#writes.learn(hold);
  }

  /** Gives one handle back. */
  release(hold: SdkHold): void {
    const { client, watch } = this.#world;
    hold.givingBack += 1;
    const { token } = hold;
    const released = hold.lock.release();
    this.#calls.track({ what: `release ${token}`, owner: 0 }, released, (outcome) => {
      hold.givingBack -= 1;
      const isLast = hold.count + hold.givingBack === 0 && !hold.isCounted;
      if (outcome.released && isLast) watch.onGivenBack(client, hold.session, hold.token);
    });
  }
}
