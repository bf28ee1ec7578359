/**
 * The locks of one database, as one connection uses them: the calls of `LeaseCalls` in the order of the
 * connection's commands. It also keeps attempts that must fail out of the log, and finds polling
 * clients their places.
 */
import type { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import type { GivenBack, LossReason } from "../../../client/index.js";
import { HoldfastError } from "../../../errors/index.js";
import type { CommandOrder, Decision } from "../command-order.js";
import type { HeldClient } from "../ports.js";
import { RefusedCommand } from "../refusals.js";
import type { LeaseWitness } from "./endings.js";
import type { FairTake, FairWaits } from "./fair-waits.js";
import {
  demandExpiry,
  type ExtendWish,
  type KeyState,
  LeaseCalls,
  type LeaseRules,
  type TakeResult,
  type TakeWish,
} from "./lease-calls.js";

/** How often a key may change between a look and what follows it. */
export const LOOKS_MAX = 16;

export interface LockSpaceRules extends LeaseRules {
  /** `undefined`: polling clients have no places. */
  readonly fairWaits: FairWaits | undefined;
}

/** The steps of a course. */
export interface LockSteps
  extends Pick<LeaseCalls, "take" | "extend" | "release" | "releaseRepeatably" | "act"> {
  /** Several keys as they are in one moment. Rejects with `BUSY` if there is none. */
  lookAtOnce(keys: readonly Buffer[]): Promise<readonly KeyState[]>;
}

export class LockSpace {
  /** For use within a decision. */
  readonly calls: LeaseCalls;
  readonly #held: Pick<HeldClient, "client" | "identity">;
  readonly #order: CommandOrder;
  readonly #rules: LockSpaceRules;

  constructor(
    held: Pick<HeldClient, "client" | "identity">,
    database: number,
    order: CommandOrder,
    rules: LockSpaceRules,
    witness: LeaseWitness,
  ) {
    this.calls = new LeaseCalls(held, database, rules, witness);
    this.#held = held;
    this.#order = order;
    this.#rules = rules;
  }

  /** Takes all of the keys or none; each becomes a lease of its own. */
  take(wish: TakeWish): Promise<TakeResult> {
    const { calls } = this;
    demandExpiry(wish.ttlMs, this.#rules);
    const names = namesOf(wish.keys);
    const hot = this.#hotKeysOf(wish);
    if (hot.length === 0) return this.#order.write(names, () => this.#takeNow(wish));
    return this.#order.look(names, async (): Promise<Decision<TakeResult>> => {
      const found = await calls.findTaken(hot, wish);
      return found === undefined ? { write: () => calls.take(wish) } : { answer: found };
    });
  }

  /** The keys that must be looked at before a take. */
  #hotKeysOf(wish: TakeWish): readonly string[] {
    const { hotKeys, fairWaits } = this.#rules;
    const keys = this.calls.tableKeys(wish.keys);
    if (fairWaits !== undefined && keys.length === 1) return [];
    return keys.filter((key) => hotKeys.has(key));
  }

  #takeNow(wish: TakeWish): Promise<TakeResult> {
    const { fairWaits } = this.#rules;
    const fair = fairWaits && this.calls.fairTakeOf(wish);
    if (fairWaits === undefined || fair === undefined) return this.calls.take(wish);
    return this.#takeInTurn(wish, fair, fairWaits);
  }

  /** With a place in the queue for an attempt that fails. */
  async #takeInTurn(wish: TakeWish, fair: FairTake, waits: FairWaits): Promise<TakeResult> {
    if (waits.has(fair)) return (await waits.attempt(fair)) ? "taken" : "other";
    const result = await this.calls.take(wish);
    if (result === "other") waits.begin(fair);
    return result;
  }

  /** As in `LeaseCalls`. */
  extend(wish: ExtendWish): Promise<LossReason | undefined> {
    return this.#order.write(namesOf(wish.keys), () => this.calls.extend(wish));
  }

  /** As in `LeaseCalls`; places in the queue are lost, too. */
  release(keys: readonly Buffer[], value: Buffer): Promise<GivenBack> {
    return this.#order.write(namesOf(keys), () => {
      this.#leaveQueues(keys, value);
      return this.calls.release(keys, value);
    });
  }

  /**
   * Several steps on these keys, before any later command of the connection that has one of them.
   * `steps` are the same calls without an order of their own.
   */
  course<T>(keys: readonly Buffer[], run: (steps: LockSteps) => Promise<T>): Promise<T> {
    const { calls } = this;
    const steps: LockSteps = {
      take: async (wish) => {
        demandExpiry(wish.ttlMs, this.#rules);
        const hot = this.#hotKeysOf(wish);
        const found = hot.length === 0 ? undefined : await calls.findTaken(hot, wish);
        return found ?? this.#takeNow(wish);
      },
      extend: (wish) => calls.extend(wish),
      act: (wishes) => calls.act(wishes),
      release: (ofKeys, value) => {
        this.#leaveQueues(ofKeys, value);
        return calls.release(ofKeys, value);
      },
      releaseRepeatably: (ofKeys, value) => {
        this.#leaveQueues(ofKeys, value);
        return calls.releaseRepeatably(ofKeys, value);
      },
      lookAtOnce: (ofKeys) => this.#lookAtOnce(ofKeys),
    };
    return this.#order.course(namesOf(keys), () => run(steps));
  }

  look(key: Buffer): Promise<KeyState> {
    return this.#order.read(() => this.calls.look(key));
  }

  /**
   * Reads a key, and may then do something about it, before any later command of the connection that
   * has the key. A write that resolves to `undefined` found another state than the one it was
   * decided for, and `decide` is asked again. Rejects with `RefusedCommand` if the value that it
   * was decided for does not hold the key here, and with `BUSY` if the key goes on changing.
   */
  decide<T>(key: Buffer, decide: (state: KeyState) => Decision<T | undefined>): Promise<T> {
    return this.course([key], async ({ lookAtOnce }) => {
      let triedToken: number | undefined;
      for (let i = 0; i < LOOKS_MAX; i++) {
        const [state] = (await lookAtOnce([key])) as [KeyState];
        const token = state.kind === "lock" ? state.token : undefined;
        if (token !== undefined && token === triedToken) throw heldByOther();
        const decision = decide(state);
        const decided = "write" in decision ? await decision.write() : decision.answer;
        if (decided !== undefined) return decided;
        triedToken = token;
      }
      throw changesTooOften();
    });
  }

  /** Several keys are looked at until two looks in turn have found the same holders. */
  async #lookAtOnce(keys: readonly Buffer[]): Promise<readonly KeyState[]> {
    const look = (): Promise<readonly KeyState[]> =>
      Promise.all(keys.map((key) => this.calls.look(key)));
    let states = await look();
    if (keys.length === 1) return states;
    for (let i = 0; i < LOOKS_MAX; i++) {
      const before = states;
      states = await look();
      if (states.every((state, at) => isSameHold(state, before[at] as KeyState))) return states;
    }
    throw changesTooOften();
  }

  #leaveQueues(keys: readonly Buffer[], value: Buffer): void {
    const { fairWaits } = this.#rules;
    if (fairWaits === undefined || fairWaits.count === 0) return;
    const { client, identity } = this.#held;
    const owner = this.calls.ownerOf(value);
    for (const key of this.calls.tableKeys(keys)) fairWaits.leave(client, identity, key, owner);
  }
}

export function heldByOther(): RefusedCommand {
  return new RefusedCommand("the key is held by a client of another identity or kind", "NOPERM");
}

function isSameHold(one: KeyState, other: KeyState): boolean {
  if (one.kind === "none" || one.kind === "semaphore") return one.kind === other.kind;
  return (
    "token" in other &&
    one.token === other.token &&
    isDeepStrictEqual(one, {
      ...other,
      remainingMs: one.remainingMs,
    })
  );
}

export function changesTooOften(): HoldfastError {
  return new HoldfastError("BUSY", "the keys change too often; try again");
}

/** As `CommandOrder` has them. */
function namesOf(keys: readonly Buffer[]): readonly string[] {
  return keys.map((key) => key.toString("latin1"));
}
