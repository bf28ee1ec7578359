/**
 * The locks of one database, as one connection uses them: the calls of `LeaseCalls` in the order of the
 * connection's commands. It also keeps attempts that must fail out of the log, and finds polling
 * clients their places.
 */
import type { Buffer } from "node:buffer";
import type { GivenBack, LossReason } from "../../client/index.js";
import { HoldfastError } from "../../errors.js";
import type { CommandOrder, Decision } from "./command-order.js";
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
import type { HeldClient } from "./ports.js";
import { RefusedCommand } from "./refusals.js";

/** How often a key may change between a look and what follows it. */
const DECISIONS_MAX = 16;

export interface LockSpaceRules extends LeaseRules {
  /** `undefined`: polling clients have no places. */
  readonly fairWaits: FairWaits | undefined;
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
  ) {
    this.calls = new LeaseCalls(held, database, rules);
    this.#held = held;
    this.#order = order;
    this.#rules = rules;
  }

  /** Takes all of the keys or none; each becomes a lease of its own. */
  take(wish: TakeWish): Promise<TakeResult> {
    const { calls } = this;
    demandExpiry(wish.ttlMs, this.#rules);
    const { hotKeys, fairWaits } = this.#rules;
    const fair = fairWaits && calls.fairTakeOf(wish);
    if (fairWaits !== undefined && fair !== undefined) {
      return this.#order.write(() => this.#takeInTurn(wish, fair, fairWaits));
    }
    const hot = calls.tableKeys(wish.keys).filter((key) => hotKeys.has(key));
    if (hot.length === 0) return this.#order.write(() => calls.take(wish));
    return this.#order.look(async (): Promise<Decision<TakeResult>> => {
      const found = await calls.findTaken(hot, wish);
      return found === undefined ? { write: () => calls.take(wish) } : { answer: found };
    });
  }

  /** With a place in the queue for an attempt that fails. */
  async #takeInTurn(wish: TakeWish, fair: FairTake, waits: FairWaits): Promise<TakeResult> {
    if (waits.has(fair)) return (await waits.attempt(fair)) ? "taken" : "other";
    const result = await this.calls.take(wish);
    if (result === "other") waits.begin(fair);
    return result;
  }

  /** As that of `LeaseCalls`. */
  extend(wish: ExtendWish): Promise<LossReason | undefined> {
    return this.#order.write(() => this.calls.extend(wish));
  }

  /** As that of `LeaseCalls`; places in the queue are lost, too. */
  release(keys: readonly Buffer[], value: Buffer): Promise<GivenBack> {
    return this.#order.write(() => {
      this.#leaveQueues(keys, value);
      return this.calls.release(keys, value);
    });
  }

  /** As that of `LeaseCalls`; places in the queue are lost, too. */
  releaseRepeatably(keys: readonly Buffer[], value: Buffer): Promise<number> {
    return this.#order.write(() => {
      this.#leaveQueues(keys, value);
      return this.calls.releaseRepeatably(keys, value);
    });
  }

  look(key: Buffer): Promise<KeyState> {
    return this.#order.read(() => this.calls.look(key));
  }

  /**
   * Reads a key, and may then do something about it, before any later command of the connection. A
   * write that resolves to `undefined` met another state than the one it was decided for, and `decide`
   * is asked again. Rejects with `RefusedCommand` if the value that it was decided for does not hold the
   * key here, and with `BUSY` if the key goes on changing.
   */
  async decide<T>(key: Buffer, decide: (state: KeyState) => Decision<T | undefined>): Promise<T> {
    let triedToken: number | undefined;
    for (let i = 0; i < DECISIONS_MAX; i++) {
      let token: number | undefined;
      const decided = await this.#order.look(async () => {
        const state = await this.calls.look(key);
        token = state.kind === "lock" ? state.token : undefined;
        if (token !== undefined && token === triedToken) throw heldByOther();
        return decide(state);
      });
      if (decided !== undefined) return decided;
      triedToken = token;
    }
    throw new HoldfastError("BUSY", "the key changes too often; try again");
  }

  #leaveQueues(keys: readonly Buffer[], value: Buffer): void {
    const { fairWaits } = this.#rules;
    if (fairWaits === undefined || fairWaits.count === 0) return;
    const { client, identity } = this.#held;
    const owner = this.calls.ownerOf(value);
    for (const key of this.calls.tableKeys(keys)) fairWaits.leave(client, identity, key, owner);
  }
}

function heldByOther(): RefusedCommand {
  return new RefusedCommand("the key is held by a client of another identity or kind", "NOPERM");
}
