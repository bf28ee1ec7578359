/**
 * One hold of the table as its session knows it: one token, all its keys, and the handles that were
 * handed out for it. What ends it ends all of them; each is released by itself.
 */
import { lockLost } from "./failures.js";
import type { HeldLock, LockHost } from "./held-lock.js";
import type { TokenBearer } from "./hold-calls.js";
import type { HeldItem, LossReason, Revocation } from "./lock-types.js";
import type { Owner } from "./owner.js";

/** What the table granted. */
export interface Granted {
  readonly token: number;
  readonly items: readonly HeldItem[];
  readonly value: string;
  /** When it ends by itself, in cluster time; Infinity: with the session. */
  readonly endsAt: number;
  /** False: what became of it since must be asked for before it is handed out. */
  readonly isCertain: boolean;
}

/** Makes the handle of a hold. */
export type MakeLock = (host: LockHost, hold: Hold) => HeldLock;

/** Who is to be given the lock. */
export interface GrantTaker {
  readonly owner: Owner;
  /** It wants nothing any more. */
  readonly isSettled: boolean;
  /** Stack of the call, where stacks are captured. */
  readonly askedAt: string | undefined;
  /** `undefined`: a plain lock. */
  readonly makeLock: MakeLock | undefined;
  /** The grant waits until it is certain. */
  putAside(token: number): void;
  /** How often it was granted what it is given one handle for. */
  readonly count: number;
  handOut(lock: HeldLock): void;
  /** The table said that what it was handed out is still held. */
  onStillHeld(): void;
  onSessionLost(reason: LossReason): void;
  fail(reason: unknown): void;
}

/** A wish that is over when the hold is. */
export interface PendingUpgrade {
  fail(reason: unknown): void;
}

const NO_HANDLES: readonly HeldLock[] = Object.freeze([]);
const NONE: readonly OldToken[] = Object.freeze([]);

/** A token that a newer one replaced, and what may still be answered in its name. */
export interface OldToken {
  readonly token: number;
  /** No command from this sequence on knew it. */
  readonly sequenceEnd: number;
  /** The last pulse that may have asked for it. */
  readonly pulse: number;
}

export class Hold implements TokenBearer {
  /** The newest. */
  token: number;
  readonly owner: Owner;
  items: readonly HeldItem[];
  value: string;
  /** Why it ends at `endsAt`. */
  endReason: "maxHold" | "revoked" = "maxHold";
  /** When it ends by itself, in cluster time; Infinity: with the session. */
  endsAt: number;
  /** Its place among those that end by themselves; -1: it has none. */
  heapIndex = -1;
  isContended = false;
  revocation: Revocation | undefined = undefined;
  /** Held, or released and not answered yet. */
  handles: readonly HeldLock[] = NO_HANDLES;
  /** On its way to be a ticket: nobody here holds it. */
  isLeaving = false;
  /** Why it is no more. */
  lostBy: LossReason | undefined = undefined;
  /** Stack of the call that brought it, where stacks are captured. */
  readonly askedAt: string | undefined;
  /** Those that newer ones replaced, the last told first, as long as an answer may name them. */
  oldTokens: readonly OldToken[] = NONE;
  /** It may not be what its first grant said: something in it was made shared, or exclusive. */
  isAltered: boolean;
  /** Made with the first one: nearly every hold has none. */
  #upgrades: Set<PendingUpgrade> | undefined;

  /** `former`: the same one, as it was when all its handles had been given back. */
  constructor(
    { owner, askedAt }: Pick<GrantTaker, "owner" | "askedAt">,
    { token, items, value, endsAt }: Granted,
    former: Hold | undefined,
  ) {
    this.askedAt = askedAt;
    this.token = token;
    this.owner = owner;
    this.items = items;
    this.value = value;
    this.endsAt = endsAt;
    this.isAltered = former !== undefined;
    for (const { key, mode } of former?.items ?? []) if (mode === "shared") this.setMode(key, mode);
  }

  hasToken(token: number): boolean {
    return this.token === token || this.oldTokens.some((old) => old.token === token);
  }

  /** It has one more token, and the largest is the newest. */
  rename(token: number, old: Omit<OldToken, "token">): void {
    this.oldTokens = [{ token: Math.min(token, this.token), ...old }, ...this.oldTokens];
    this.token = Math.max(token, this.token);
  }

  addHandle(lock: HeldLock): void {
    // Nearly every hold has one.
    this.handles = this.handles.length === 0 ? [lock] : [...this.handles, lock];
  }

  removeHandle(lock: HeldLock): void {
    const { handles } = this;
    const isOnly = handles.length === 1 && handles[0] === lock;
    this.handles = isOnly ? NO_HANDLES : handles.filter((each) => each !== lock);
  }

  /** Handles that nobody has given back yet: so often the table counts it at least. */
  get heldCount(): number {
    let count = 0;
    for (const handle of this.handles) if (!handle.isReleasing) count += 1;
    return count;
  }

  setMode(key: string | undefined, mode: "exclusive" | "shared"): void {
    this.isAltered = true;
    this.items = this.items.map((item) => {
      const isMeant = (key === undefined || item.key === key) && item.mode !== "permits";
      return isMeant ? { ...item, mode } : item;
    });
  }

  addUpgrade(upgrade: PendingUpgrade): void {
    this.isAltered = true;
    this.#upgrades ??= new Set();
    this.#upgrades.add(upgrade);
  }

  removeUpgrade(upgrade: PendingUpgrade): void {
    this.#upgrades?.delete(upgrade);
  }

  /** Somebody began to wait behind it. */
  contend(): void {
    if (this.isContended) return;
    this.isContended = true;
    for (const handle of this.handles) handle.notify("contended");
  }

  /** The end was set, or moved to earlier. */
  announce(revocation: Revocation): void {
    this.revocation = revocation;
    for (const handle of this.handles) handle.notify("revoking");
  }

  /** Gives up all handles, for ever. Runs the listeners of their signals before it returns. */
  lose(reason: LossReason): void {
    this.lostBy ??= reason;
    const { handles } = this;
    this.failUpgrades(reason);
    for (const handle of handles) handle.lose(reason);
  }

  failUpgrades(reason: LossReason): void {
    const upgrades = this.#upgrades;
    this.#upgrades = undefined;
    if (upgrades === undefined) return;
    const error = lockLost(this.items, this.token, reason);
    for (const upgrade of upgrades) upgrade.fail(error);
  }
}
