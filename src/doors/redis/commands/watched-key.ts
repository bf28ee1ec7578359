/**
 * The one key that a transaction watches, and what its command does if the key still is as GET told.
 * Otherwise EXEC is nil, and nothing is done. What GET told is the proof that releases and extends.
 */
import type { Buffer } from "node:buffer";
import type { Decision } from "../command-order.js";
import type { ConnectionRules } from "../connection-state.js";
import { demandExpiry, type KeyState } from "../locks/lease-calls.js";
import type { LockSpace } from "../locks/lock-space.js";
import { RefusedCommand } from "../refusals.js";
import { NULL_ARRAY, OK, type RespReply } from "../resp/index.js";
import { wordOf } from "./command.js";
import { expireTermsOf } from "./expire-terms.js";
import { endlessnessOf, expiryOf, LOOKS, type LockedState } from "./key-commands.js";
import { setOptionsOf } from "./set-command.js";
import type { TakeWithExpiry } from "./take-with-expiry.js";

type WatchedPlan = () => Promise<RespReply>;

const WHAT =
  "a transaction on a key that is watched does what takes, extends, ends or shows that one lock";

export class WatchedKey {
  readonly #locks: LockSpace;
  readonly #key: Buffer;
  readonly #told: Buffer | null;

  constructor(locks: LockSpace, key: Buffer, told: Buffer | null) {
    this.#locks = locks;
    this.#key = key;
    this.#told = told;
  }

  /** `args`: after the key. Throws `RefusedCommand` for what cannot be done so. */
  planOf(
    name: string,
    args: readonly Buffer[],
    rules: Pick<ConnectionRules, "allowsEndless">,
  ): WatchedPlan {
    try {
      return this.#planOf(name, args, rules);
    } catch (error) {
      if (!(error instanceof RefusedCommand) || error.code !== "ERR") throw error;
      // Redis finds that out within EXEC, and answers it there.
      const { code, message } = error;
      return () => this.confirm([{ code, message }]);
    }
  }

  #planOf(
    name: string,
    args: readonly Buffer[],
    rules: Pick<ConnectionRules, "allowsEndless">,
  ): WatchedPlan {
    const told = this.#told;
    const look = LOOKS.get(name);
    if (look !== undefined) return () => this.#look((state) => look(state, args));
    switch (name) {
      case "EXISTS":
        demand(args.length === 0);
        return () => this.confirm([told === null ? 0 : 1]);
      case "DEL":
      case "UNLINK":
        demand(args.length === 0);
        return () => this.#end();
      case "DELIFEQ":
        return this.#endIfEqual(args[0] as Buffer);
      case "DELEX":
        demand(wordOf(args[0]) === "IFEQ");
        return this.#endIfEqual(args[1] as Buffer);
      case "EXPIRE":
      case "PEXPIRE":
        return this.#expire(name, args);
      case "PERSIST":
        if (told === null) return () => this.confirm([0]);
        demandExpiry(0, rules);
        return () => this.#move((state) => endlessnessOf(this.#locks, this.#key, state));
      case "SETNX":
        if (told !== null) return () => this.confirm([0]);
        demandExpiry(0, rules);
        return () => this.#take(args[0] as Buffer, 0, 1);
      case "SET":
        return this.#set(args, rules);
      default:
        throw new RefusedCommand(WHAT);
    }
  }

  confirm(reply: readonly RespReply[]): Promise<RespReply> {
    const looked = this.#locks.look(this.#key);
    return looked.then((state) => (this.#isAsTold(state) ? reply : NULL_ARRAY));
  }

  takeWithExpiry(take: TakeWithExpiry): Promise<RespReply> {
    return this.#locks.decide<RespReply>(this.#key, (state) =>
      this.#isAsTold(state)
        ? take.decide(this.#locks, state, true, NULL_ARRAY)
        : { answer: NULL_ARRAY },
    );
  }

  #look(replyOf: (state: KeyState) => RespReply): Promise<RespReply> {
    const looked = this.#locks.look(this.#key);
    return looked.then((state) => (this.#isAsTold(state) ? [replyOf(state)] : NULL_ARRAY));
  }

  #end(): Promise<RespReply> {
    if (this.#told === null) return this.confirm([0]);
    const ended = this.#locks.release([this.#key], this.#told);
    return ended.then(({ count }) => (count === 0 ? NULL_ARRAY : [count]));
  }

  #endIfEqual(value: Buffer): WatchedPlan {
    const isEqual = this.#told?.equals(value) === true;
    return () => (isEqual ? this.#end() : this.confirm([0]));
  }

  #expire(name: string, args: readonly Buffer[]): WatchedPlan {
    const told = this.#told;
    const terms = expireTermsOf(name, args);
    if (told === null) return () => this.confirm([0]);
    if (!terms.isConditional) {
      return () => (terms.ttlMs <= 0 ? this.#end() : this.#extend(told, terms.ttlMs, 1));
    }
    return () => this.#move((state) => expiryOf(this.#locks, this.#key, state, terms));
  }

  /** Does what depends on the end of the lock. */
  async #move(move: (state: LockedState) => Decision<number | undefined>): Promise<RespReply> {
    const moved = await this.#locks.decide<number | "changed">(this.#key, (state) =>
      state.kind === "lock" && this.#isAsTold(state) ? move(state) : { answer: "changed" },
    );
    return moved === "changed" ? NULL_ARRAY : [moved];
  }

  #set(
    [value, ...words]: readonly Buffer[],
    rules: Pick<ConnectionRules, "allowsEndless">,
  ): WatchedPlan {
    const { condition, expected, wantsOld, ttlMs } = setOptionsOf(words);
    demand(!wantsOld);
    const told = this.#told;
    if (told === null) {
      if (condition === "XX" || condition === "IFEQ") return () => this.confirm([null]);
      demandExpiry(ttlMs ?? 0, rules);
      return () => this.#take(value as Buffer, ttlMs ?? 0, OK);
    }
    if (condition === "NX") return () => this.confirm([null]);
    if (condition === "IFEQ" && expected?.equals(told) !== true) return () => this.confirm([null]);
    if (ttlMs === undefined || value?.equals(told) !== true) {
      throw new RefusedCommand(
        "SET in a transaction takes a key that is free, or extends the lock of the same value",
      );
    }
    return () => this.#extend(told, ttlMs, OK);
  }

  #extend(value: Buffer, ttlMs: number, reply: RespReply): Promise<RespReply> {
    const extended = this.#locks.extend({ keys: [this.#key], value, ttlMs });
    return extended.then((loss) => (loss === undefined ? [reply] : NULL_ARRAY));
  }

  /** Without a place in the queue: a client that gets nil begins again with GET. */
  #take(value: Buffer, ttlMs: number, reply: RespReply): Promise<RespReply> {
    const { calls } = this.#locks;
    const wish = { keys: [this.#key], value, ttlMs };
    const take = async (): Promise<RespReply> =>
      (await calls.take(wish)) === "taken" ? [reply] : NULL_ARRAY;
    return this.#locks.decide<RespReply>(this.#key, (state) =>
      this.#isAsTold(state) ? { write: take } : { answer: NULL_ARRAY },
    );
  }

  #isAsTold(state: KeyState): boolean {
    if (this.#told === null) return state.kind === "none";
    return state.kind === "lock" && state.value.equals(this.#told);
  }
}

function demand(isAnswered: boolean): void {
  if (!isAnswered) throw new RefusedCommand(WHAT);
}
