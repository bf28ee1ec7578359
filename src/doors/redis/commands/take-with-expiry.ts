/**
 * SETNX and EXPIRE of one key in one transaction, as clients take locks that know no SET with NX and an
 * expiry. It is one take with that expiry, so the lock has an end from the start.
 *
 * In Redis, EXPIRE moves the end of the lock even if another client has it. Here it does so only for
 * who proves to hold it, by the value or by what GET told of the watched key, or where no proof is asked.
 */
import type { Buffer } from "node:buffer";
import type { Decision } from "../command-order.js";
import type { ConnectionRules, ConnectionState } from "../connection-state.js";
import { demandExpiry, type KeyState } from "../locks/lease-calls.js";
import type { LockSpace } from "../locks/lock-space.js";
import { OK, type RespReply } from "../resp/index.js";
import type { QueuedCommand } from "../transaction.js";
import { EXPIRE_UNITS_MS, type ExpireTerms, expireTermsOf } from "./expire-terms.js";
import { expiryOf } from "./key-commands.js";
import { setOptionsOf } from "./set-command.js";

/** A command that takes a free key, and what it answers. */
interface Taking {
  /** `undefined`: without an expiry. */
  readonly ttlMs: number | undefined;
  readonly taken: RespReply;
  readonly missed: RespReply;
}

export class TakeWithExpiry {
  readonly #key: Buffer;
  readonly #value: Buffer;
  readonly #taking: Taking;
  readonly #terms: ExpireTerms;

  private constructor([key, value]: readonly Buffer[], taking: Taking, terms: ExpireTerms) {
    this.#key = key as Buffer;
    this.#value = value as Buffer;
    this.#taking = taking;
    this.#terms = terms;
  }

  static isBegunBy(command: QueuedCommand): boolean {
    return takingOf(command) !== undefined;
  }

  /** `undefined`: they are something else. Throws `RefusedCommand` for a lock that would have no end. */
  static of(
    first: QueuedCommand,
    { name, args: [key, ...args] }: QueuedCommand,
    rules: Pick<ConnectionRules, "allowsEndless">,
  ): TakeWithExpiry | undefined {
    const taking = takingOf(first);
    const isOfKey = first.args[0]?.equals(key as Buffer) === true;
    if (taking === undefined || !EXPIRE_UNITS_MS.has(name) || !isOfKey) return undefined;
    const terms = expireTermsOf(name, args);
    if (terms.ttlMs <= 0) return undefined;
    const take = new TakeWithExpiry(first.args, taking, terms);
    demandExpiry(take.#ttlMs, rules);
    return take;
  }

  run({ locks, rules }: ConnectionState): Promise<RespReply> {
    return locks.decide<RespReply>(this.#key, (state) => {
      const isProven = rules.allowsUnproven || locks.calls.isMine(state, this.#value);
      return this.decide(locks, state, isProven, [this.#taking.missed, 0]);
    });
  }

  /** `failed`: the answer if the key is free and cannot be taken all the same. */
  decide(
    locks: Pick<LockSpace, "calls">,
    state: KeyState,
    isProven: boolean,
    failed: RespReply,
  ): Decision<RespReply | undefined> {
    const { ttlMs, taken, missed } = this.#taking;
    if (state.kind === "none") {
      const wish = { keys: [this.#key], value: this.#value, ttlMs: this.#ttlMs };
      const reply = [taken, this.#terms.allows(ttlMs) ? 1 : 0];
      return { write: async () => ((await locks.calls.take(wish)) === "taken" ? reply : failed) };
    }
    if (state.kind !== "lock" || !isProven) return { answer: [missed, 0] };
    const moved = expiryOf(locks, this.#key, state, this.#terms);
    if ("answer" in moved) return { answer: [missed, moved.answer ?? 0] };
    return {
      write: async () => {
        const count = await moved.write();
        return count === undefined ? undefined : [missed, count];
      },
    };
  }

  /** How long the lock is for who takes it. */
  get #ttlMs(): number {
    const { ttlMs } = this.#taking;
    return this.#terms.allows(ttlMs) ? this.#terms.ttlMs : (ttlMs ?? 0);
  }
}

function takingOf({ name, args }: QueuedCommand): Taking | undefined {
  if (name === "SETNX") return { ttlMs: undefined, taken: 1, missed: 0 };
  if (name !== "SET") return undefined;
  const { condition, wantsOld, ttlMs } = setOptionsOf(args.slice(2));
  return condition === "NX" && !wantsOld ? { ttlMs, taken: OK, missed: null } : undefined;
}
