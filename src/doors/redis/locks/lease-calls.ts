/**
 * What Redis clients mean by their commands and scripts, said as leases of one database. The value that
 * a client sets is the owner; so anyone who knows key and value can extend and release, by any
 * connection of any node, as in Redis. Each call is given to the cluster at once: the order among
 * the commands of a connection is the business of `LockSpace`.
 */
import type { Buffer } from "node:buffer";
import type {
  ExtendLeaseOptions,
  GivenBack,
  LeaseStep,
  LossReason,
  WantedItem,
} from "../../../client/index.js";
import { HoldfastError } from "../../../errors/index.js";
import { type KeyView, withLeaseMargin } from "../../../protocol/index.js";
import { withoutMargin } from "../durations.js";
import { leaseValueOf, ownerOf, redisValueOf, tableKeyOf } from "../names.js";
import type { HeldClient } from "../ports.js";
import type { RecordContent } from "../record-content.js";
import { RefusedCommand } from "../refusals.js";
import type { Confirmations } from "./confirmations.js";
import type { LeaseWitness } from "./endings.js";
import type { FairTake } from "./fair-waits.js";
import type { HotKeys } from "./hot-keys.js";
import { recordOf, recordOwnerOf, recordValueOf } from "./records.js";

/** The limit of one command; see semantics.md, 8. */
const KEYS_MAX = 16;

export interface TakeWish {
  readonly keys: readonly Buffer[];
  readonly value: Buffer;
  /** 0: without end. */
  readonly ttlMs: number;
  /** A take by the value that holds already is a success, and lasts until the later end. */
  readonly isRepeatable?: boolean;
  /** The client keeps a margin for clocks by itself. */
  readonly hasMargin?: boolean;
  /** For a semaphore: how many permits there are, and how many are wanted (default 1). */
  readonly limit?: number;
  readonly permits?: number;
}

/** `mine`: the value holds one of the keys already; `other`: another value does. */
export type TakeResult = "taken" | "mine" | "other";

export interface ExtendWish {
  readonly keys: readonly Buffer[];
  readonly value: Buffer;
  readonly ttlMs: number;
  /** Default: exactly, as Redis does. */
  readonly mode?: ExtendLeaseOptions["mode"];
  readonly hasMargin?: boolean;
}

/** What a key is. */
export type KeyState =
  | { readonly kind: "none" }
  | {
      readonly kind: "lock";
      readonly value: Buffer;
      readonly token: number;
      /** What a client may count on; `undefined`: it has no end. */
      readonly remainingMs: number | undefined;
      readonly identity: string;
    }
  | (RecordContent & {
      readonly token: number;
      readonly remainingMs: number | undefined;
      readonly identity: string;
    })
  | { readonly kind: "semaphore"; readonly remainingMs: number | undefined };

/** A key of an act, as `LeaseStep` has it; a record has no value of its own, and a lock one. */
export interface StepWish {
  readonly key: Buffer;
  /** The value that holds the key before and after; `undefined`: it is a record, or free. */
  readonly value?: Buffer;
  readonly isHeld: boolean;
  readonly staysHeld: boolean;
  readonly before?: RecordContent | undefined;
  readonly after?: RecordContent | undefined;
  /** 0: without end; `undefined`: as before. */
  readonly ttlMs: number | undefined;
}

export interface LeaseRules {
  /** Leases without end may be taken. */
  readonly allowsEndless: boolean;
  readonly hotKeys: HotKeys;
  readonly confirmations: Confirmations;
  /** Each node confirms a lease once, as if it were a server of its own. */
  readonly isRedlock: boolean;
}

export class LeaseCalls {
  readonly #held: Pick<HeldClient, "client" | "identity">;
  readonly #database: number;
  readonly #rules: LeaseRules;
  readonly #witness: LeaseWitness;

  constructor(
    held: Pick<HeldClient, "client" | "identity">,
    database: number,
    rules: LeaseRules,
    witness: LeaseWitness,
  ) {
    this.#held = held;
    this.#database = database;
    this.#rules = rules;
    this.#witness = witness;
  }

  /** Throws `RefusedCommand` for keys that cannot be used. */
  tableKeys(keys: readonly Buffer[]): readonly string[] {
    if (keys.length === 0 || keys.length > KEYS_MAX) {
      throw new RefusedCommand(`${keys.length} keys in one step, and 1 to ${KEYS_MAX} are allowed`);
    }
    return keys.map((key) => tableKeyOf(this.#database, key));
  }

  /** Takes all of the keys or none; each becomes a lease of its own. */
  async take(wish: TakeWish): Promise<TakeResult> {
    demandExpiry(wish.ttlMs, this.#rules);
    const { isRepeatable = false } = wish;
    const keys = this.tableKeys(wish.keys);
    this.#witness.demandEnding(keys);
    const { owner, value, ttlMs } = this.#termsOf(wish);
    const items = keys.map((key) => itemOf(key, wish));
    const options = { owner, ttlMs, value, ...(isRepeatable ? { request: owner } : {}) };
    const { leases } = this.#held.client;
    const { hotKeys } = this.#rules;
    try {
      if (isRepeatable || keys.length > 1) await leases.takeEach(items, options);
      else {
        const { token } = await leases.take(items, { ...options, waitMs: 0 });
        this.#rules.confirmations.note(keys[0] as string, owner, token);
      }
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === "LOCK_HELD")) throw error;
      for (const key of keys) hotKeys.note(key);
      return error.details["isSameOwner"] === true ? this.confirm(wish) : "other";
    }
    for (const key of keys) hotKeys.forget(key);
    this.#witness.noteTaken(keys, wish.value);
    return "taken";
  }

  /**
   * The value of a take holds its key already: `taken` if the nodes confirm by themselves, and this one
   * has not done so.
   */
  async confirm(wish: TakeWish): Promise<TakeResult> {
    const { isRepeatable = false, keys, limit } = wish;
    const [key] = keys;
    if (isRepeatable || key === undefined || keys.length > 1 || limit !== undefined) return "mine";
    const { confirmations, isRedlock } = this.#rules;
    const [tableKey] = this.tableKeys(keys) as [string];
    const owner = this.ownerOf(wish.value);
    const confirmed = confirmations.tokenOf(tableKey, owner);
    if (!isRedlock) {
      if (confirmed === undefined) confirmations.noteElsewhere(owner);
      return "mine";
    }
    const state = await this.look(key);
    if (!this.isMine(state, wish.value) || state.token === confirmed) return "mine";
    confirmations.note(tableKey, owner, state.token);
    return "taken";
  }

  /** The same as one that waits in the queue of its key; `undefined` for several keys. */
  fairTakeOf(wish: TakeWish): FairTake | undefined {
    if (wish.keys.length !== 1) return undefined;
    const [key] = this.tableKeys(wish.keys) as [string];
    const { client, identity } = this.#held;
    return { client, identity, item: itemOf(key, wish), ...this.#termsOf(wish) };
  }

  /** Whether the table, as it is after a read barrier, shows why a take of the wish fails. */
  async findTaken(keys: readonly string[], wish: TakeWish): Promise<TakeResult | undefined> {
    const { client, identity } = this.#held;
    const views = await Promise.all(keys.map((key) => client.inspect(key)));
    const value = leaseValueOf(wish.value);
    const isOwn = (hold: KeyView["holds"][number]): boolean =>
      hold.value === value && hold.identity === identity;
    const taken = views.filter((view) => isTakenFor(view, wish, isOwn));
    if (taken.length === 0) return undefined;
    return taken.some(({ holds }) => holds.some(isOwn)) ? this.confirm(wish) : "other";
  }

  /**
   * Moves the ends of the value's leases in all of the keys. Resolves to `undefined`, or to why it
   * holds one of them not; then nothing has changed.
   */
  async extend(wish: ExtendWish): Promise<LossReason | undefined> {
    const { mode = "exactly" } = wish;
    const { owner, ttlMs } = this.#termsOf(wish);
    try {
      await this.#held.client.leases.extend(this.tableKeys(wish.keys), { owner, ttlMs, mode });
      return undefined;
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === "NOT_HELD")) throw error;
      return (error.details["reason"] as LossReason | undefined) ?? "unknown";
    }
  }

  /**
   * Does all of the steps if each key is as its step says, or nothing: then it resolves to `undefined`,
   * otherwise to the token of each step's lease, 0 where there is none.
   */
  async act(wishes: readonly StepWish[]): Promise<readonly number[] | undefined> {
    const keys = this.tableKeys(wishes.map(({ key }) => key));
    const isTaken = ({ isHeld, staysHeld }: StepWish): boolean => !isHeld && staysHeld;
    this.#witness.demandEnding(keys.filter((_, at) => isTaken(wishes[at] as StepWish)));
    const steps = wishes.map((wish, at) => this.#stepOf(keys[at] as string, wish));
    const tokens = await this.#held.client.leases.compareAndAct(steps);
    const { hotKeys } = this.#rules;
    for (const [at, wish] of wishes.entries()) {
      const key = keys[at] as string;
      if (!isTaken(wish)) {
        if (tokens !== undefined && wish.isHeld && !wish.staysHeld) this.#witness.noteEnded([key]);
      } else if (tokens === undefined) hotKeys.note(key);
      else {
        hotKeys.forget(key);
        if (wish.value !== undefined) this.#witness.noteTaken([key], wish.value);
      }
    }
    return tokens;
  }

  #stepOf(key: string, { value, isHeld, staysHeld, before, after, ttlMs }: StepWish): LeaseStep {
    const text = (content: RecordContent | undefined): string =>
      value === undefined && content !== undefined
        ? recordValueOf(content)
        : leaseValueOf(value as Buffer);
    if (staysHeld && ttlMs !== undefined) demandExpiry(ttlMs, this.#rules);
    return {
      key,
      owner: value === undefined ? recordOwnerOf(this.#database) : this.ownerOf(value),
      before: isHeld ? text(before) : undefined,
      after: staysHeld ? text(after) : undefined,
      ...(ttlMs === undefined ? {} : { ttlMs: withLeaseMargin(ttlMs) }),
    };
  }

  /** Ends the value's leases in the keys. */
  async release(keys: readonly Buffer[], value: Buffer): Promise<GivenBack> {
    const owner = this.ownerOf(value);
    const tableKeys = this.tableKeys(keys);
    const { confirmations, isRedlock } = this.#rules;
    const confirmed = tableKeys.filter((key) => confirmations.end(key, owner));
    const ended = await this.#held.client.leases.giveBack(tableKeys, { owner });
    if (ended.count > 0) this.#witness.noteEnded(tableKeys);
    // Another node has ended what this one confirmed, too.
    const isEndedThere = ended.count === 0 && ended.reason === "released";
    return isRedlock && isEndedThere ? { ...ended, count: confirmed.length } : ended;
  }

  /**
   * Resolves to how many of the keys the value held, or had released already a moment ago: the
   * answer that the first of several equal releases got.
   */
  async releaseRepeatably(keys: readonly Buffer[], value: Buffer): Promise<number> {
    const { count, reason } = await this.release(keys, value);
    if (count === keys.length || reason !== "released") return count;
    if (keys.length === 1) return 1;
    const each = await Promise.all(keys.map((key) => this.release([key], value)));
    return each.filter((one) => one.reason === "released").length;
  }

  async look(key: Buffer): Promise<KeyState> {
    const [tableKey] = this.tableKeys([key]) as [string];
    return stateOf(await this.#held.client.inspect(tableKey));
  }

  /** Whether the record of a key is one of this identity. */
  isOwnRecord(state: KeyState): boolean {
    const { identity } = this.#held;
    return (state.kind === "hash" || state.kind === "note") && state.identity === identity;
  }

  /** Whether the key is held by that value, for the identity of this connection. */
  isMine(state: KeyState, value: Buffer): state is KeyState & { readonly kind: "lock" } {
    const { identity } = this.#held;
    return state.kind === "lock" && state.identity === identity && state.value.equals(value);
  }

  ownerOf(value: Buffer): string {
    return ownerOf(this.#database, leaseValueOf(value));
  }

  #termsOf(wish: Pick<TakeWish, "value" | "ttlMs" | "hasMargin">) {
    const value = leaseValueOf(wish.value);
    const ttlMs = wish.hasMargin === true ? wish.ttlMs : withLeaseMargin(wish.ttlMs);
    return { owner: ownerOf(this.#database, value), value, ttlMs };
  }
}

/** Throws `RefusedCommand` for a lock that may not be taken, or left, without an end. */
export function demandExpiry(ttlMs: number, { allowsEndless }: Pick<LeaseRules, "allowsEndless">) {
  if (ttlMs > 0 || allowsEndless) return;
  throw new RefusedCommand(
    "a lock without an expiry would outlive the process that took it: give it one in the same step " +
      "(SET key value NX PX milliseconds; in a script, PEXPIRE), or start the nodes with " +
      "--redis-allow-endless and set endlessLeases",
  );
}

function itemOf(key: string, { limit, permits = 1 }: TakeWish): WantedItem {
  return limit === undefined ? { key } : { key, permits, limit };
}

/** Whether a take of this wish would fail. */
function isTakenFor(
  { holds, waiters, cooldowns, kind, limit }: KeyView,
  wish: TakeWish,
  isOwn: (hold: KeyView["holds"][number]) => boolean,
): boolean {
  if (wish.isRepeatable === true && holds.some(isOwn)) return false;
  if (kind !== "semaphore") return holds.length + waiters.length + cooldowns.length > 0;
  if (waiters.length > 0) return true;
  const used = [...holds, ...cooldowns].reduce((sum, { permits }) => sum + permits, 0);
  return used + (wish.permits ?? 1) > limit;
}

function stateOf({ kind, holds }: KeyView): KeyState {
  const [hold] = holds;
  if (hold === undefined) return { kind: "none" };
  if (kind === "semaphore") {
    const ends = holds.map(remainingOf);
    const isEndless = ends.some((end) => end === undefined);
    const remainingMs = isEndless ? undefined : Math.max(...ends.map((end) => end ?? 0));
    return { kind: "semaphore", remainingMs };
  }
  const { token, identity } = hold;
  const common = { token, identity, remainingMs: remainingOf(hold) };
  const record = recordOf(hold.value);
  if (record !== undefined) return { ...record, ...common };
  return { kind: "lock", value: redisValueOf(hold.value), ...common };
}

function remainingOf({ ttlMs, leaseMs, endsInMs }: KeyView["holds"][number]): number | undefined {
  const leftMs = ttlMs === 0 ? Number.POSITIVE_INFINITY : withoutMargin(leaseMs);
  const endMs = Math.min(leftMs, endsInMs ?? Number.POSITIVE_INFINITY);
  return endMs === Number.POSITIVE_INFINITY ? undefined : Math.max(1, Math.floor(endMs));
}
