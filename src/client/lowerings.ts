/**
 * What makes holds shared and was sent but not answered: downgrades, and the cancels of upgrades
 * that somebody left. A node may refuse such a command and take the next one, so it may be executed
 * behind what was asked for later. Two rules follow. A *raise*, which asks for a key exclusively
 * that its owner may hold already, is not sent before the lowerings of that key which were asked
 * for earlier were answered: upgrades, and reentrant acquires. And no upgrade is believed any more
 * once a lowering was sent behind it, whichever of their answers comes first; one that the cancel of
 * another undoes is asked for again.
 */
import type { AwaitedCall } from "./awaited-call.js";

export interface Lowering {
  /** Whose hold becomes shared; `undefined`: nobody knows. */
  readonly owner: number | undefined;
  /** Its place in the order of asking: a number of `Lowerings`, 0 for before all of them. */
  readonly askedAs: number;
  /** Whether that key of the owner's may become shared. */
  concerns(key: string): boolean;
}

/** One without an answer. */
export interface PendingUpgrade {
  readonly owner: number;
  /** Something of the owner's may be made shared, perhaps behind it. */
  onLowering(lowering: Lowering): void;
}

/** What a call asks for exclusively and its owner may hold already. */
export interface Raise {
  readonly owner: number;
  readonly keys: readonly string[];
}

type AnyCall = AwaitedCall<never>;

interface HeldBack {
  readonly raise: Raise;
  readonly askedAs: number;
  /** What it waits for, or for now: looking for the next one costs as much as there are. */
  behind: Lowering;
}

const NO_CALLS: readonly AnyCall[] = Object.freeze([]);

export class Lowerings {
  /** By owner. Nearly always there are none. */
  readonly #underWay = new Map<number | undefined, Set<Lowering>>();
  /** By owner. */
  readonly #upgrades = new Map<number, Set<PendingUpgrade>>();
  /** In the order in which they were asked for. */
  readonly #heldBack = new Map<AnyCall, HeldBack>();
  #lastNumber = 0;

  nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  begin(lowering: Lowering): void {
    const { owner } = lowering;
    addTo(this.#underWay, owner, lowering);
    // What nobody knows the owner of was there before all upgrades.
    if (owner === undefined) return;
    for (const upgrade of this.#upgrades.get(owner) ?? []) upgrade.onLowering(lowering);
  }

  /** Answered, or certainly never executed. Gives the calls that waited for no other one. */
  end(lowering: Lowering): readonly AnyCall[] {
    if (!removeFrom(this.#underWay, lowering.owner, lowering)) return NO_CALLS;
    const ready: AnyCall[] = [];
    for (const [call, heldBack] of this.#heldBack) {
      if (heldBack.behind !== lowering) continue;
      const next = this.#find(heldBack.raise, heldBack.askedAs);
      if (next !== undefined) heldBack.behind = next;
      else ready.push(call);
    }
    for (const call of ready) this.#heldBack.delete(call);
    return ready;
  }

  addUpgrade(upgrade: PendingUpgrade): void {
    addTo(this.#upgrades, upgrade.owner, upgrade);
  }

  removeUpgrade(upgrade: PendingUpgrade): void {
    removeFrom(this.#upgrades, upgrade.owner, upgrade);
  }

  /** Keeps a call that was asked for now and may not be sent yet. Returns whether it is one. */
  holdBack(call: AnyCall): boolean {
    if (this.#underWay.size === 0) return false;
    const { raise } = call;
    if (raise === undefined) return false;
    const askedAs = this.nextNumber();
    const behind = this.#find(raise, askedAs);
    if (behind === undefined) return false;
    this.#heldBack.set(call, { raise, askedAs, behind });
    return true;
  }

  isHeldBack(call: AnyCall): boolean {
    return this.#heldBack.has(call);
  }

  heldBack(): Iterable<AnyCall> {
    return this.#heldBack.keys();
  }

  /** Its caller waits no more: it need not be sent. */
  onSettled(call: AnyCall): void {
    if (this.#heldBack.size > 0) this.#heldBack.delete(call);
  }

  /** The session is gone, and its holds: nothing is lowered. Gives what was not sent for that. */
  clear(): readonly AnyCall[] {
    const calls = [...this.#heldBack.keys()];
    this.#heldBack.clear();
    this.#underWay.clear();
    this.#upgrades.clear();
    return calls;
  }

  #find({ owner, keys }: Raise, before: number): Lowering | undefined {
    for (const all of [this.#underWay.get(owner), this.#underWay.get(undefined)]) {
      for (const lowering of all ?? []) {
        const isEarlier = lowering.askedAs < before;
        if (isEarlier && keys.some((key) => lowering.concerns(key))) return lowering;
      }
    }
    return undefined;
  }
}

function addTo<Key, T>(sets: Map<Key, Set<T>>, key: Key, one: T): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([one]));
  else set.add(one);
}

/** Returns whether it was there. */
function removeFrom<Key, T>(sets: Map<Key, Set<T>>, key: Key, one: T): boolean {
  const set = sets.get(key);
  if (set?.delete(one) !== true) return false;
  if (set.size === 0) sets.delete(key);
  return true;
}
