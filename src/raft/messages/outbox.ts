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

/** Things of one kind, in order. */
class Gathered<Item> {
  private items: Item[] = [];

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  add(item: Item): void {
    this.items.push(item);
  }

  clear(): void {
    this.items.length = 0;
  }

  take(): readonly Item[] {
    const { items } = this;
    if (items.length === 0) return EMPTY;
    this.items = [];
    return items;
  }
}

export class Outbox {
  readonly now = new Gathered<Message>();
  readonly accepted = new Gathered<Effects["accepted"][number]>();
  readonly refused = new Gathered<Refusal>();
  readonly reads = new Gathered<Effects["reads"][number]>();
  readonly readsRefused = new Gathered<number>();
  /** A leader's wish for a snapshot must not be sent under another leader's term. */
  readonly snapshotsWanted = new Gathered<Effects["snapshotsWanted"][number]>();
  private readonly durable = new Gathered<Message>();
  private restored: InstalledSnapshot | undefined = undefined;
  private transferEnded: Effects["transferEnded"] = undefined;

  /** Whether nothing waits to be drained. */
  get isEmpty(): boolean {
    return (
      this.now.isEmpty &&
      this.accepted.isEmpty &&
      this.durable.isEmpty &&
      this.refused.isEmpty &&
      this.reads.isEmpty &&
      this.readsRefused.isEmpty &&
      this.snapshotsWanted.isEmpty &&
      this.restored === undefined &&
      this.transferEnded === undefined
    );
  }

  get hasTransferEnded(): boolean {
    return this.transferEnded !== undefined;
  }

  sendNow(message: Message): void {
    this.now.add(message);
  }

  sendDurable(message: Message): void {
    this.durable.add(message);
  }

  accept(id: number, index: number, term: number): void {
    this.accepted.add({ id, index, term });
  }

  refuse(id: number, reason: Refusal["reason"]): void {
    this.refused.add({ id, reason });
  }

  answerRead(id: number, index: number): void {
    this.reads.add({ id, index });
  }

  refuseRead(id: number): void {
    this.readsRefused.add(id);
  }

  wantSnapshot(peer: NodeId, epoch: number, afterIndex: number): void {
    this.snapshotsWanted.add({ peer, epoch, afterIndex });
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
    if (this.durable.isEmpty) return EMPTY;
    return this.durable.take().map((message) => ({ seq, message }));
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
