/**
 * What this session has in the table, as far as its client knows: holds, and requests that wait. It
 * follows what the table says of each, and decides what becomes of all of them together: at a lapse
 * of the lease, at the end of the session, of the client, or when everything is handed over. What the
 * application asks for is in `locks.ts`.
 */
import {
  RECALL_STATE,
  type RecalledSequence,
  type Result,
  type Revoking,
} from "../../protocol/index.js";
import { Call } from "../calls/call.js";
import type { Outgoing } from "../calls/outgoing.js";
import { Waiters } from "../calls/waiters.js";
import { type LossReason, lossReasonOf } from "../failures.js";
import type { HandedOver } from "../options/hand-over-options.js";
import type { SessionLease } from "../session-lease/session-lease.js";
import type { ClientLog } from "../transport/client-log.js";
import { type GrantCall, type GrantHost, isGrantCall } from "./acquire-call.js";
import { CallSites } from "./call-sites.js";
import { HandOvers, type HandOversHost } from "./hand-overs.js";
import { type Granted, type GrantTaker, Hold, type HoldHost, UpgradeCall } from "./hold.js";
import { EndCall, type ReleaseWaiter } from "./hold-calls.js";
import { Holds } from "./holds.js";
import { SessionTask } from "./reentrance.js";
import { SequenceTable } from "./sequence-table.js";

/** What the claims of a session need from it. */
export interface ClaimsHost extends HandOversHost {
  /** 0 while there is none. */
  readonly sessionId: number;
  readonly capturesStacks: boolean;
  readonly log: ClientLog;
  /** The time at which this turn began. */
  turnMs(): number;
  /** The last open request was settled. */
  onIdle(): void;
}

export class Claims implements GrantHost, HoldHost {
  readonly waiters: Waiters;
  readonly handOvers: HandOvers;
  readonly sites: CallSites;
  readonly #holds: Holds;
  /**
   * Requests that the table answered with `queued`, by number: acquires that are wanted, and
   * upgrades.
   */
  readonly #waits = new SequenceTable<Call>();
  /** Holds that are handed out when the lease is proven. */
  readonly #unproven = new Set<Hold>();
  readonly #host: ClaimsHost;
  readonly #lease: SessionLease;
  readonly #window: Outgoing["window"];
  /** The last deadline that was acted on. */
  #lapsedAtMs = Number.NEGATIVE_INFINITY;

  constructor(host: ClaimsHost, lease: SessionLease, { window }: Pick<Outgoing, "window">) {
    this.#host = host;
    this.#lease = lease;
    this.#window = window;
    this.#holds = new Holds(lease);
    this.waiters = new Waiters(() => host.onIdle());
    this.handOvers = new HandOvers(host, this.waiters, (hold) => this.#takeOut(hold));
    this.sites = new CallSites(host.capturesStacks, this.#holds, this.#waits);
  }

  /** Whether a caller waits for an answer, or a lock is held. */
  get isBusy(): boolean {
    return this.waiters.count > 0 || this.#holds.size > 0;
  }

  /** Whether a lapse of the lease would end anything. */
  get isHolding(): boolean {
    return this.#holds.size > 0;
  }

  /** Whether no lock is held that was not given back. */
  get holdsNothing(): boolean {
    return this.#held().length === 0;
  }

  /** Grants wait for a proven lease. */
  get wantsEvidence(): boolean {
    return this.#unproven.size > 0;
  }

  /** When something is given up unless newer evidence arrives; `Infinity` if there is nothing. */
  get lapseMs(): number {
    if (this.#holds.size === 0) return Number.POSITIVE_INFINITY;
    const { deadlineMs } = this.#lease;
    const leaseMs = deadlineMs === this.#lapsedAtMs ? Number.POSITIVE_INFINITY : deadlineMs;
    return Math.min(leaseMs, this.#holds.nextEndMs);
  }

  // What calls and handles need.

  submit(call: Call): void {
    this.#host.submit(call);
  }

  traced(refusal: Result, askedAt: string | undefined): Result {
    return this.sites.addTo(refusal, this.#host.sessionId, askedAt);
  }

  remainingMs(hold: Hold, nowMs: number): number {
    return this.#holds.remainingMs(hold, nowMs);
  }

  /** Informs the table that this hold is no longer wanted here. */
  giveBack(hold: Hold, waiter?: ReleaseWaiter): void {
    this.#takeOut(hold);
    hold.ending = new EndCall(hold, waiter);
    // Before requests are sent that wanted to share it.
    this.submit(hold.ending);
    hold.end("released");
    this.handOvers.strand();
  }

  forget(hold: Hold): void {
    this.#holds.remove(hold);
  }

  onGranted(taker: GrantTaker, granted: Granted): void {
    const hold = new Hold(this, taker, granted);
    this.#holds.add(hold);
    SessionTask.of(hold.task).onGranted(hold);
    if (this.#isProven) this.#handOut(hold);
    else this.#unproven.add(hold);
  }

  onGrantLost(taker: GrantTaker, granted: Granted, reason: LossReason): void {
    const hold = new Hold(this, taker, granted);
    this.#handOut(hold);
    this.#tellLoss(hold, reason);
    hold.end(reason);
  }

  /** If the lease is proven, hands out the holds that wait for that. */
  onEvidence(): void {
    if (this.#unproven.size === 0 || !this.#isProven) return;
    for (const hold of this.#unproven) this.#handOut(hold);
  }

  get #isProven(): boolean {
    return this.#host.turnMs() < this.#lease.deadlineMs;
  }

  #handOut(hold: Hold): void {
    const { taker } = hold;
    if (taker === undefined) return;
    this.#unproven.delete(hold);
    hold.taker = undefined;
    this.#holds.onHandedOut(hold, this.#host.turnMs());
    taker.handOut(hold);
    hold.balance();
  }

  onLeft(call: GrantCall): void {
    const { sequence } = call;
    // The end of the session ends all of it.
    if (sequence === 0 || this.#host.isEnding) return;
    const hold = this.#holds.get(sequence);
    if (hold !== undefined) {
      this.giveBack(hold);
      return;
    }
    this.#waits.delete(sequence);
    this.submit(new EndCall(call));
  }

  // What the table says.

  /** It waits in the table. */
  onQueued(call: Call): void {
    // If nobody wants it, it is being ended.
    if (!(isGrantCall(call) && call.isSettled)) this.#waits.set(call);
  }

  /** Removes and returns the call that waits under this number. */
  takeWait(sequence: number): Call | undefined {
    const call = this.#waits.get(sequence);
    this.#waits.delete(sequence);
    return call;
  }

  /** The hold ended otherwise than by a command of this session. */
  onLost(sequence: number, reason: LossReason): void {
    const hold = this.#holds.get(sequence);
    if (hold === undefined) return;
    this.#window.acknowledge(sequence);
    if (hold.ending !== undefined) hold.ending.onLost(reason);
    else this.#lose([hold], reason);
  }

  /** What a recall found under the number of a hold. */
  onToldOfHold(told: RecalledSequence, nowMs: number): void {
    const { sequence, state } = told;
    const hold = this.#holds.get(sequence);
    if (hold === undefined) {
      // It was given up since the recall was sent: if the table had it then, it is being ended.
      if (state !== RECALL_STATE.held) this.#window.acknowledge(sequence);
    } else if (state === RECALL_STATE.held) this.#holds.onStillHeld(hold, told, nowMs);
    else if (state === RECALL_STATE.ended) this.onLost(sequence, lossReasonOf(told.reason));
    else this.onLost(sequence, "unknown");
  }

  onStillWaiting(sequence: number): void {
    const call = this.#waits.get(sequence);
    // Otherwise its caller has left since the recall was sent, and it is being ended.
    if (call !== undefined) call.isUncertain = false;
  }

  /** The connection is gone: what waits in the table may end without an event. */
  onDisconnected(): void {
    for (const call of this.#waits.all()) call.isUncertain = true;
  }

  onContended(sequence: number): void {
    this.#holds.get(sequence)?.contend();
  }

  onRevoking({ sequence, endsAt, reason }: Revoking, nowMs: number): void {
    if (sequence !== 0) {
      const hold = this.#holds.get(sequence);
      if (hold !== undefined) this.#holds.revoke(hold, endsAt, reason, nowMs);
      return;
    }
    this.#lease.force(endsAt, reason);
    for (const hold of this.#holds.all()) {
      hold.announce({ reason, remainingMs: this.#holds.remainingMs(hold, nowMs) });
    }
  }

  /** The numbers whose fate a new connection has to ask for. */
  sequencesToRecall(): number[] {
    const sequences = this.#waits.all().map(({ sequence }) => sequence);
    for (const { sequence, ending } of this.#holds.all()) {
      // The call that ends it reads its end.
      if (!(ending instanceof EndCall)) sequences.push(sequence);
    }
    return sequences;
  }

  // What happens to all of them.

  /** Ends everything here that may be over by now, forever; the session goes on if it can. */
  lapseIfDue(nowMs: number): void {
    if (nowMs < this.lapseMs) return;
    const { deadlineMs, endReason } = this.#lease;
    const isLapse = nowMs >= deadlineMs;
    if (isLapse) this.#lapsedAtMs = deadlineMs;
    // A hold that no caller has yet is certain again as soon as the lease is.
    const holds = isLapse
      ? this.#holds.all().filter(({ taker }) => taker === undefined)
      : this.#holds.ended(nowMs);
    // Before any request of a listener.
    for (const hold of holds) if (!(hold.ending instanceof EndCall)) this.submit(new EndCall(hold));
    this.#lose(holds, isLapse ? endReason : undefined);
  }

  /**
   * The session is over, with its holds and waits. Calls that were never sent wait for the next
   * one.
   */
  onSessionLost(reason: LossReason): void {
    const calls = [...this.#window.reset(), ...this.#waits.all()];
    this.#waits.clear();
    // In the next session the number belongs to another command.
    for (const call of calls) call.sequence = 0;
    const holds = this.#held();
    const takers = holds.map(({ taker }) => taker);
    for (const hold of holds) hold.taker = undefined;
    this.#lose(holds, reason);
    for (const call of calls) call.onSessionLost(reason);
    for (const taker of takers) taker?.onSessionLost(reason);
  }

  /** The client is closing: the end of its session does what a release would do. */
  onClosing(error: Error): void {
    this.#leaveStrong(error);
    this.#lose(this.#held(), "closed");
  }

  /** The client has ended: nothing is held, and nothing will be granted. */
  onEnded(error: unknown, reason: LossReason): void {
    this.#refuseTakers(error);
    this.#lose(this.#holds.all(), reason);
    this.waiters.leaveAll(error);
  }

  /**
   * Gives everything up: hands over what is held, and withdraws what was only asked for. Resolves when
   * the fate of each hold is known, or will not be.
   */
  async departAll(ttlMs: number, error: unknown): Promise<Pick<HandedOver, "confirmed" | "holds">> {
    this.handOvers.depart();
    const held = this.#held();
    this.#refuseTakers(error);
    const moving = held.filter(({ taker }) => taker === undefined);
    for (const hold of held) if (hold.taker !== undefined) this.giveBack(hold);
    this.#withdrawWaits();
    const departing = moving.map((hold) => this.handOvers.leave(hold, ttlMs));
    // Listeners may call anything, so the state is final before the first of them runs.
    for (const hold of moving) {
      this.#tellLoss(hold, "moved");
      hold.end("moved");
    }
    this.#leaveStrong(error);
    const outcomes = await Promise.allSettled(departing);
    const gone = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    return {
      confirmed: gone.every(({ confirmed }) => confirmed),
      holds: gone.map(({ keys, secret, task }) => ({ keys, secret, task })),
    };
  }

  /** Ends what waits in the table, and what may do so by now. */
  #withdrawWaits(): void {
    for (const call of this.#waits.all()) {
      if (!(call instanceof UpgradeCall)) this.submit(new EndCall({ sequence: call.sequence }));
    }
    for (const call of this.#window.sent()) {
      if (isGrantCall(call) && !call.isSettled) this.submit(new EndCall(call));
    }
  }

  /** Its session does not have it any more. */
  #takeOut(hold: Hold): void {
    this.#unproven.delete(hold);
    hold.taker = undefined;
    SessionTask.of(hold.task).onEnded(hold);
    this.#holds.onEnding(hold);
  }

  /** The holds that were not given back yet. */
  #held(): Hold[] {
    return this.#holds.all().filter(({ ending }) => ending === undefined);
  }

  /** Refuses the callers of holds that the table has granted and that were not handed out. */
  #refuseTakers(error: unknown): void {
    for (const { taker } of this.#unproven) taker?.fail(error);
  }

  /**
   * These holds are over for this client. Runs listeners of their signals. Without a `reason`, each
   * has its own.
   */
  #lose(holds: readonly Hold[], reason: LossReason | undefined): void {
    // Listeners may call anything, so the state is final before the first of them runs.
    for (const hold of holds) {
      // A caller that has not got its grant yet gets a lost lock, like any other holder.
      this.#handOut(hold);
      this.#takeOut(hold);
      this.#holds.remove(hold);
    }
    for (const hold of holds) {
      const { ending, endReason } = hold;
      ending?.onGivenUp(reason ?? endReason);
      this.#tellLoss(hold, reason ?? endReason);
      hold.end(reason ?? endReason);
    }
    this.handOvers.strand();
  }

  /** Before listeners run, since they may end the process. */
  #tellLoss({ handles, items, token }: Hold, reason: LossReason): void {
    if (handles.length === 0) return;
    // The application wanted these.
    const isWished = reason === "closed" || reason === "moved";
    const fields = { keys: items.map(({ key }) => key), token, reason };
    this.#host.log[isWished ? "debug" : "warn"]("lock lost", fields);
  }

  /** Calls that give something back still get their answers. */
  #leaveStrong(error: unknown): void {
    this.waiters.leaveAll(error, (awaited) => !(awaited instanceof Call) || !awaited.givesBack);
  }
}
