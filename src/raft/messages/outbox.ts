/**
 * The output of a turn, by kind, until `take` drains it. `sendNow` may leave before the local write
 * is durable; `sendDurable` must wait for everything that the node held at that time. The code that
 * makes a message decides between the two. No allocation while idle.
 */
import { assert } from "../../errors/index.js";
import type {
  DeferredMessage,
  Effects,
  InstalledSnapshot,
  Message,
  NodeId,
  Refusal,
} from "../types.js";

const EMPTY: readonly never[] = Object.freeze([]);

export class Outbox {
  private now: Message[] = [];
  private durable: Message[] = [];
  private accepted: Effects["accepted"][number][] = [];
  private refused: Refusal[] = [];
  private reads: Effects["reads"][number][] = [];
  private readsRefused: number[] = [];
  private snapshotsWanted: Effects["snapshotsWanted"][number][] = [];
  private restored: InstalledSnapshot | undefined = undefined;
  private transferEnded: Effects["transferEnded"] = undefined;

  /** Whether nothing waits to be drained. */
  get isEmpty(): boolean {
    return (
      this.now.length === 0 &&
      this.accepted.length === 0 &&
      this.durable.length === 0 &&
      this.refused.length === 0 &&
      this.reads.length === 0 &&
      this.readsRefused.length === 0 &&
      this.snapshotsWanted.length === 0 &&
      this.restored === undefined &&
      this.transferEnded === undefined
    );
  }

  get hasTransferEnded(): boolean {
    return this.transferEnded !== undefined;
  }

  sendNow(message: Message): void {
    this.now.push(message);
  }

  sendDurable(message: Message): void {
    this.durable.push(message);
  }

  accept(id: number, index: number, term: number): void {
    this.accepted.push({ id, index, term });
  }

  refuse(id: number, reason: Refusal["reason"]): void {
    this.refused.push({ id, reason });
  }

  answerRead(id: number, index: number): void {
    this.reads.push({ id, index });
  }

  refuseRead(id: number): void {
    this.readsRefused.push(id);
  }

  wantSnapshot(peer: NodeId, epoch: number, afterIndex: number): void {
    this.snapshotsWanted.push({ peer, epoch, afterIndex });
  }

  /** A leader's wish for a snapshot must not be sent under another leader's term. */
  forgetSnapshotsWanted(): void {
    this.snapshotsWanted.length = 0;
  }

  restore(snapshot: InstalledSnapshot): void {
    const { restored } = this;
    assert(restored === undefined, () => `snapshots ${restored?.index}, ${snapshot.index} at once`);
    this.restored = snapshot;
  }

  endTransfer(id: number, isDone: boolean): void {
    assert(!this.hasTransferEnded, () => `transfer ${id} is the second to end in a turn`);
    this.transferEnded = { id, isDone };
  }

  /** Each waits for `seq`, the latest record handed over, whether that is durable yet or not. */
  takeSendAfter(seq: number): readonly DeferredMessage[] {
    if (this.durable.length === 0) return EMPTY;
    const messages = this.durable;
    this.durable = [];
    return messages.map((message) => ({ seq, message }));
  }

  takeSendNow(): readonly Message[] {
    if (this.now.length === 0) return EMPTY;
    const messages = this.now;
    this.now = [];
    return messages;
  }

  takeAccepted(): Effects["accepted"] {
    if (this.accepted.length === 0) return EMPTY;
    const accepted = this.accepted;
    this.accepted = [];
    return accepted;
  }

  takeRefused(): readonly Refusal[] {
    if (this.refused.length === 0) return EMPTY;
    const refused = this.refused;
    this.refused = [];
    return refused;
  }

  takeReads(): Effects["reads"] {
    if (this.reads.length === 0) return EMPTY;
    const { reads } = this;
    this.reads = [];
    return reads;
  }

  takeReadsRefused(): readonly number[] {
    if (this.readsRefused.length === 0) return EMPTY;
    const { readsRefused } = this;
    this.readsRefused = [];
    return readsRefused;
  }

  takeSnapshotsWanted(): Effects["snapshotsWanted"] {
    if (this.snapshotsWanted.length === 0) return EMPTY;
    const { snapshotsWanted } = this;
    this.snapshotsWanted = [];
    return snapshotsWanted;
  }

  takeRestore(): InstalledSnapshot | undefined {
    const { restored } = this;
    this.restored = undefined;
    return restored;
  }

  takeTransferEnded(): Effects["transferEnded"] {
    const { transferEnded } = this;
    this.transferEnded = undefined;
    return transferEnded;
  }
}

/** The effects of a turn in which nothing happened. */
export function idleEffects(applyTo: number, nextDeadlineMs: number): Effects {
  return {
    sendNow: EMPTY,
    write: undefined,
    sendAfter: EMPTY,
    applyTo,
    accepted: EMPTY,
    refused: EMPTY,
    roleChange: undefined,
    reads: EMPTY,
    readsRefused: EMPTY,
    snapshotsWanted: EMPTY,
    restore: undefined,
    configuration: undefined,
    transferEnded: undefined,
    nextDeadlineMs,
  };
}
