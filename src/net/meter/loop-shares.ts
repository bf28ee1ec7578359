/**
 * How much of the event loop's time each party may use: all connections of one identity, all
 * connections of one address on an open cluster, or all strangers together. Nobody is limited while
 * alone. As soon as another party is active, each has a floor that nobody else can take, and may
 * use what the others leave, up to a busy loop. Who used more is in debt and waits.
 *
 * It must never make a party wait for one that is not there, and knows neither sockets nor clocks:
 * its time is what `settle` says, and what was spent is what its caller measured.
 */

import type { LimitedBy } from "../port-limits.js";

/** What parties may use together: the rest lets a request of somebody else begin at once. */
const BUSY_MAX = 0.7;
/**
 * This share of it is for strangers, whatever others use, and they never use more while others are
 * there.
 */
const STRANGERS_MIN = 0.05;
const STRANGERS_MAX = 0.3;
/** What may be spent at once after a pause. */
const BURST_MS = 10;
/** A longer debt is forgiven, so that one dear request silences nobody for long. */
const DEBT_MS_MAX = 100;
/** Over which time a rate is averaged. */
const SMOOTH_MS = 200;
/** A party counts as active for so long after it last spent something. */
const ACTIVE_MS = 1_000;

export type PartyKind = LimitedBy | "strangers" | "local";

export class Party {
  readonly kind: PartyKind;
  /** The name of the identity or address; strangers choose it. */
  readonly name: string;
  /** Loop time that it may spend; negative: owed. At most `BURST_MS`. */
  creditMs = BURST_MS;
  /** Since the last settlement. */
  spentMs = 0;
  /** Its share of the loop lately, from 0 to 1. */
  rate = 0;
  isActive = false;
  lastSpentMs = Number.NEGATIVE_INFINITY;

  constructor(kind: PartyKind, name: string) {
    this.kind = kind;
    this.name = name;
  }
}

export class LoopShares {
  readonly #active = new Set<Party>();
  #nowMs: number;
  /** What the loop did for nobody here, as a rate: entries of other nodes' clients, for example. */
  #otherRate = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  /** The loop has worked so long for that party. */
  spend(party: Party, ms: number): void {
    party.spentMs += ms;
    party.creditMs -= ms;
    party.lastSpentMs = this.#nowMs;
    if (party.isActive) return;
    party.isActive = true;
    this.#active.add(party);
  }

  /** Whether another party is active besides this one. */
  isContended(party: Party): boolean {
    return this.#active.size > (party.isActive ? 1 : 0);
  }

  /** Whether input of that party may be handled now. */
  mayBegin(party: Party): boolean {
    return party.creditMs > 0 || !this.isContended(party);
  }

  /** Which part of the loop's time that party may use. */
  shareOf(party: Party): number {
    let others = this.#otherRate;
    let equals = 0;
    for (const other of this.#active) {
      if (other.kind !== "strangers") equals += 1;
      if (other !== party) others += other.rate;
    }
    const left = BUSY_MAX - others;
    if (party.kind === "strangers") return Math.max(STRANGERS_MIN, Math.min(STRANGERS_MAX, left));
    return Math.max(BUSY_MAX / Math.max(1, equals), left);
  }

  /** How long that party must wait until it owes nothing; 0: it may begin now. */
  waitMsOf(party: Party): number {
    if (this.mayBegin(party)) return 0;
    return Math.max(1, -party.creditMs / this.shareOf(party));
  }

  /**
   * Time has gone on: adds what it is worth to each party, and forgets those that are not active.
   * @param otherMs for how long the loop worked for none of them meanwhile
   */
  settle(nowMs: number, otherMs: number): void {
    const elapsedMs = nowMs - this.#nowMs;
    if (elapsedMs <= 0) return;
    this.#nowMs = nowMs;
    const weight = Math.min(1, elapsedMs / SMOOTH_MS);
    this.#otherRate += (otherMs / elapsedMs - this.#otherRate) * weight;
    for (const party of this.#active) {
      party.rate += (party.spentMs / elapsedMs - party.rate) * weight;
      party.spentMs = 0;
    }
    for (const party of this.#active) {
      const leastMs = this.isContended(party) ? Math.max(-DEBT_MS_MAX, party.creditMs) : BURST_MS;
      party.creditMs = Math.min(BURST_MS, leastMs + this.shareOf(party) * elapsedMs);
    }
    for (const party of this.#active) {
      if (nowMs - party.lastSpentMs <= ACTIVE_MS || party.creditMs < 0) continue;
      party.isActive = false;
      party.rate = 0;
      party.creditMs = BURST_MS;
      this.#active.delete(party);
    }
  }
}
