/**
 * What this session holds as far as its client may believe, by number. Rule: while a lock in here is
 * not aborted, the table still has it.
 *
 * A hold whose grant came when the lease was not proven is in here, but nobody is given it before it
 * is: what happened to it meanwhile is told in the order of the log.
 */
import { assert } from "../../assert.js";
import type { RecalledHold } from "../../protocol/index.js";
import type { Lease } from "../lease/lease.js";
import type { Hold } from "./hold.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Holds {
  readonly #lease: Lease;
  /** Also those that are being given back. */
  readonly #bySequence = new Map<number, Hold>();
  readonly #ends = new EndsHeap();

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  get size(): number {
    return this.#bySequence.size;
  }

  /** When the first hold that ends by itself is given up; `Infinity` when none does. */
  get nextEndMs(): number {
    const { first } = this.#ends;
    return first === undefined ? NEVER : this.#lease.localMs(first.endsAt);
  }

  get(sequence: number): Hold | undefined {
    return this.#bySequence.get(sequence);
  }

  all(): Hold[] {
    return [...this.#bySequence.values()];
  }

  add(hold: Hold): void {
    this.#bySequence.set(hold.sequence, hold);
  }

  /** Somebody is given it: from now on it is looked after when it ends by itself. */
  onHandedOut(hold: Hold, nowMs: number): void {
    this.#ends.place(hold);
    if (hold.endReason === "revoked") this.#announceRecalled(hold, nowMs);
  }

  remove(hold: Hold): void {
    if (this.#bySequence.get(hold.sequence) !== hold) return;
    this.#bySequence.delete(hold.sequence);
    this.#ends.remove(hold);
  }

  /** It is being given back: it ends by itself no more. */
  onEnding(hold: Hold): void {
    this.#ends.remove(hold);
  }

  /** Gives what ends by itself and may have ended. */
  ended(nowMs: number): Hold[] {
    const ended: Hold[] = [];
    for (let { first } = this.#ends; first !== undefined; first = this.#ends.first) {
      if (nowMs < this.#lease.localMs(first.endsAt)) break;
      this.#ends.remove(first);
      ended.push(first);
    }
    return ended;
  }

  /** The table still has it: as what, and until when it says for itself. */
  onStillHeld(hold: Hold, told: RecalledHold, nowMs: number): void {
    const { token, endsAt, isRevoked, isContended } = told;
    hold.token = Math.max(hold.token, token);
    if (endsAt > 0) this.#setEnd(hold, endsAt, isRevoked ? "revoked" : "maxHold");
    if (isRevoked) this.#announceRecalled(hold, nowMs);
    if (isContended) hold.contend();
  }

  /** A recall told that it is revoked; the reason went to the connection that broke. */
  #announceRecalled(hold: Hold, nowMs: number): void {
    if (hold.revocation !== undefined) return;
    hold.announce({ reason: "", remainingMs: this.remainingMs(hold, nowMs) });
  }

  /** The hold will be ended at `endsAt` in cluster time. */
  revoke(hold: Hold, endsAt: number, reason: string, nowMs: number): void {
    if (!this.#setEnd(hold, endsAt, "revoked")) return;
    hold.announce({ reason, remainingMs: this.remainingMs(hold, nowMs) });
  }

  /** How long the hold is still held by what is known. */
  remainingMs(hold: Hold, nowMs: number): number {
    const endMs = Math.min(this.#lease.deadlineMs, this.#lease.localMs(hold.endsAt));
    return Math.max(0, endMs - nowMs);
  }

  /** In cluster time, if not earlier. Returns whether that is news. */
  #setEnd(hold: Hold, endsAt: number, reason: "maxHold" | "revoked"): boolean {
    if (endsAt > hold.endsAt || (endsAt === hold.endsAt && reason === hold.endReason)) return false;
    hold.endsAt = endsAt;
    hold.endReason = reason;
    if (hold.taker === undefined) this.#ends.place(hold);
    return true;
  }
}

/**
 * Holds that end by themselves, the earliest first. The order is that of cluster times, which no
 * newer evidence changes; what they mean by the local clock is the lease's to say.
 */
class EndsHeap {
  readonly #holds: Hold[] = [];

  get first(): Hold | undefined {
    return this.#holds[0];
  }

  /** After `endsAt` of the hold was set or changed; Infinity takes it out. */
  place(hold: Hold): void {
    if (hold.endsAt === Number.POSITIVE_INFINITY) {
      this.remove(hold);
      return;
    }
    if (hold.heapIndex === -1) {
      this.#holds.push(hold);
      hold.heapIndex = this.#holds.length - 1;
    }
    this.#down(this.#up(hold.heapIndex));
  }

  remove(hold: Hold): void {
    const at = hold.heapIndex;
    if (at === -1) return;
    assert(this.#holds[at] === hold, () => `token ${hold.token} is not at ${at}`);
    hold.heapIndex = -1;
    const last = this.#holds.pop() as Hold;
    if (last === hold) return;
    this.#put(at, last);
    this.#down(this.#up(at));
  }

  #up(from: number): number {
    let at = from;
    const hold = this.#holds[at] as Hold;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = this.#holds[parentAt] as Hold;
      if (parent.endsAt <= hold.endsAt) break;
      this.#put(at, parent);
      at = parentAt;
    }
    this.#put(at, hold);
    return at;
  }

  #down(from: number): void {
    let at = from;
    const hold = this.#holds[at] as Hold;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = this.#holds[childAt];
      const right = this.#holds[childAt + 1];
      if (child !== undefined && right !== undefined && right.endsAt < child.endsAt) {
        child = right;
        childAt += 1;
      }
      if (child === undefined || child.endsAt >= hold.endsAt) break;
      this.#put(at, child);
      at = childAt;
    }
    this.#put(at, hold);
  }

  #put(at: number, hold: Hold): void {
    this.#holds[at] = hold;
    hold.heapIndex = at;
  }
}
