/**
 * What this session holds, as far as its client may believe, by number. Invariant: while a lock in
 * here is not aborted, the table still has it.
 *
 * A hold whose grant came while the lease was not proven is in here, but no caller gets it until
 * the lease is proven. What happens to it meanwhile is reported in the order of the log.
 */
import { assert } from "../../errors/index.js";
import type { RecalledHold } from "../../protocol/index.js";
import type { SessionLease } from "../session-lease/session-lease.js";
import type { Hold } from "./hold.js";
import { SequenceTable } from "./sequence-table.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Holds {
  readonly #lease: SessionLease;
  /** Including holds that are being given back. */
  readonly #bySequence = new SequenceTable<Hold>();
  readonly #ends = new EndsHeap();

  constructor(lease: SessionLease) {
    this.#lease = lease;
  }

  get size(): number {
    return this.#bySequence.size;
  }

  /** When the first hold that ends by itself is given up; `Infinity` if there is none. */
  get nextEndMs(): number {
    const { first } = this.#ends;
    return first === undefined ? NEVER : this.#lease.localMs(first.endsAt);
  }

  get(sequence: number): Hold | undefined {
    return this.#bySequence.get(sequence);
  }

  /** In the order in which they were asked for. */
  all(): Hold[] {
    return this.#bySequence.all();
  }

  add(hold: Hold): void {
    this.#bySequence.set(hold);
  }

  /** A caller gets it: from now on this class watches its end. */
  onHandedOut(hold: Hold, nowMs: number): void {
    this.#ends.place(hold);
    const { forcedReason } = this.#lease;
    if (forcedReason !== undefined) this.#announce(hold, forcedReason, nowMs);
    else if (hold.endReason === "revoked") this.#announce(hold, "", nowMs);
  }

  remove(hold: Hold): void {
    if (this.#bySequence.get(hold.sequence) !== hold) return;
    this.#bySequence.delete(hold.sequence);
    this.#ends.remove(hold);
  }

  /** It is being given back: its own end no longer matters. */
  onEnding(hold: Hold): void {
    this.#ends.remove(hold);
  }

  /** Returns the holds that end by themselves and may have ended. */
  ended(nowMs: number): Hold[] {
    const ended: Hold[] = [];
    for (let { first } = this.#ends; first !== undefined; first = this.#ends.first) {
      if (nowMs < this.#lease.localMs(first.endsAt)) break;
      this.#ends.remove(first);
      ended.push(first);
    }
    return ended;
  }

  /** The table still has it, with this mode and, if it ends by itself, this end. */
  onStillHeld(hold: Hold, told: RecalledHold, nowMs: number): void {
    const { token, endsAt, isRevoked, isContended } = told;
    hold.token = Math.max(hold.token, token);
    if (endsAt > 0) this.#setEnd(hold, endsAt, isRevoked ? "revoked" : "maxHold");
    // The reason was sent over the connection that broke.
    if (isRevoked) this.#announce(hold, "", nowMs);
    if (isContended) hold.contend();
  }

  /** Announces an end that nothing has announced for this hold yet. */
  #announce(hold: Hold, reason: string, nowMs: number): void {
    if (hold.revocation !== undefined) return;
    hold.announce({ reason, remainingMs: this.remainingMs(hold, nowMs) });
  }

  /** The hold will end at `endsAt` in cluster time. */
  revoke(hold: Hold, endsAt: number, reason: string, nowMs: number): void {
    if (!this.#setEnd(hold, endsAt, "revoked")) return;
    hold.announce({ reason, remainingMs: this.remainingMs(hold, nowMs) });
  }

  /** How long the hold is certain to be held. */
  remainingMs(hold: Hold, nowMs: number): number {
    const endMs = Math.min(this.#lease.deadlineMs, this.#lease.localMs(hold.endsAt));
    return Math.max(0, endMs - nowMs);
  }

  /** Sets the end, in cluster time, if it is earlier. Returns whether it was. */
  #setEnd(hold: Hold, endsAt: number, reason: "maxHold" | "revoked"): boolean {
    if (endsAt > hold.endsAt || (endsAt === hold.endsAt && reason === hold.endReason)) return false;
    hold.endsAt = endsAt;
    hold.endReason = reason;
    if (hold.taker === undefined) this.#ends.place(hold);
    return true;
  }
}

/**
 * A heap of the holds that end by themselves, the earliest first. They are ordered by cluster time,
 * which newer evidence does not change; the lease converts it to the local clock.
 */
class EndsHeap {
  readonly #holds: Hold[] = [];

  get first(): Hold | undefined {
    return this.#holds[0];
  }

  /** After `endsAt` of the hold was set or changed; `Infinity` removes the hold. */
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
