/**
 * Takes in the snapshot that a leader offers, one at a time, and tells after each durable chunk
 * where to go on. What was received stays in the store when the connection is lost or the process
 * ends, and the next offer of the same snapshot goes on behind it. Complete, it is handed to the
 * core, which alone decides whether it is installed. What cannot be used is refused and removed.
 */
import { type Configuration, decodeConfiguration, type NodeId } from "../../raft/index.js";
import type { SnapshotManifest } from "../../storage/index.js";
import { Fifo } from "../fifo.js";
import { isMismatch, isOutOfSpace, SnapshotDraft } from "./draft.js";
import type { SnapshotChunk, SnapshotOffer, SnapshotPorts, TransferStatus } from "./ports.js";
import { isSameSnapshot } from "./retention.js";
import type { StoreCalls } from "./store-calls.js";

/** Chunks that may wait for the store; a sender's window is smaller. */
const WAITING_CHUNKS_MAX = 8;

interface Reception {
  readonly manifest: SnapshotManifest;
  readonly configuration: Configuration;
  /** Of the latest offer of it. */
  from: NodeId;
  term: number;
  epoch: number;
  /** `undefined` until the store has been cleared for it. */
  draft: SnapshotDraft | undefined;
  readonly waiting: Fifo<Uint8Array>;
  /** The chunk that must come next; −1 until the store has told what it has. */
  expected: number;
  /** What the sender was last told; −1 before the first word. */
  toldNext: number;
  isFinishing: boolean;
}

/** A snapshot that a leader sent. */
export interface ReceivedSnapshot {
  readonly manifest: SnapshotManifest;
  readonly configuration: Configuration;
  readonly from: NodeId;
  readonly term: number;
  readonly epoch: number;
}

export interface ReceiverEvents {
  /** It is complete and durable here: the core is to judge it. */
  onReceived(received: ReceivedSnapshot): void;
  /** Everything in it is committed here: the core can tell the leader so, and nothing else. */
  onNeedless(received: ReceivedSnapshot): void;
  /** Something was left in the store that is of no use. */
  onGarbage(): void;
}

export class SnapshotReceiver {
  readonly #ports: SnapshotPorts;
  readonly #calls: StoreCalls;
  readonly #events: ReceiverEvents;
  #reception: Reception | undefined;
  /** Given up, and still in a call of the store. */
  readonly #leaving = new Set<SnapshotDraft>();

  constructor(ports: SnapshotPorts, calls: StoreCalls, events: ReceiverEvents) {
    this.#ports = ports;
    this.#calls = calls;
    this.#events = events;
  }

  get isUnderWay(): boolean {
    return this.#reception !== undefined || this.#leaving.size > 0;
  }

  /** Whether something of a snapshot given up is still being written. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Whether it waits for the store to be cleared: `open` is to be called. */
  get isWaitingToOpen(): boolean {
    return this.#reception !== undefined && this.#reception.draft === undefined;
  }

  get status(): TransferStatus | undefined {
    const reception = this.#reception;
    if (reception === undefined) return undefined;
    const { from, manifest, draft } = reception;
    const { index, chunkCount } = manifest;
    return { peer: from, index, next: draft?.chunkCount ?? 0, chunkCount };
  }

  /** Checksums of what is being received. */
  *inUse(): Iterable<string> {
    if (this.#reception !== undefined) yield this.#reception.manifest.checksum;
  }

  /** Offers of deposed leaders and of snapshots older than the one under way count for nothing. */
  onOffer(from: NodeId, { term, epoch, snapshot }: SnapshotOffer): void {
    const { raft } = this.#ports;
    if (term < raft.term || (term === raft.term && raft.role === "leader")) return;
    // Nor may it stand in the way of the offer of a real leader.
    if (!raft.isTermInReach(term)) return;
    if (snapshot.index <= raft.commitIndex) {
      this.#endNeedless(from, term, epoch, snapshot);
      return;
    }
    const current = this.#reception;
    if (current !== undefined) {
      if (term < current.term) return;
      if (isSameSnapshot(current.manifest, snapshot)) {
        current.from = from;
        current.term = term;
        current.epoch = epoch;
        this.#tellProgress(current);
        return;
      }
      if (term === current.term && snapshot.index <= current.manifest.index) return;
      this.abandon();
    }
    this.#begin(from, term, epoch, snapshot);
  }

  /** A chunk out of its order is left: the sender hears where to go on, or asks. */
  onChunk(from: NodeId, { checksum, number, bytes }: SnapshotChunk): void {
    const reception = this.#reception;
    if (reception === undefined || reception.from !== from) return;
    if (reception.manifest.checksum !== checksum || reception.expected !== number) return;
    if (number >= reception.manifest.chunkCount) return;
    if (reception.waiting.length >= WAITING_CHUNKS_MAX) return;
    reception.expected += 1;
    reception.waiting.push(bytes);
  }

  /** The store holds nothing but what is of use: writing may begin. */
  open(): void {
    const reception = this.#reception;
    if (reception === undefined || reception.draft !== undefined) return;
    const { manifest } = reception;
    const draft = new SnapshotDraft(this.#calls, this.#ports.store.receive(manifest), {
      onComplete: (complete) => {
        this.#reception = undefined;
        const { configuration, from, term, epoch } = reception;
        this.#ports.logger("info", "snapshot received", { from, index: complete.index });
        this.#events.onReceived({ manifest: complete, configuration, from, term, epoch });
      },
      onFailure: (error) => {
        if (isOutOfSpace(error)) this.refuse("no room for a snapshot");
        else if (isMismatch(error)) this.refuse((error as Error).message);
        else throw error;
      },
      onGone: () => {
        this.#leaving.delete(draft);
        this.#events.onGarbage();
      },
    });
    reception.draft = draft;
  }

  /** Once a turn: what is durable is told, what waits is handed on, one chunk at a time. */
  work(): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    const { manifest, draft, waiting } = reception;
    if (manifest.index <= this.#ports.raft.commitIndex) {
      // The log has brought everything here in the meantime.
      this.#endNeedless(reception.from, reception.term, reception.epoch, manifest);
      return;
    }
    if (draft === undefined || reception.isFinishing || !draft.isWritable) return;
    if (reception.expected < 0) reception.expected = draft.chunkCount;
    if (draft.chunkCount > reception.toldNext) this.#tellProgress(reception);
    if (draft.chunkCount >= manifest.chunkCount) {
      reception.isFinishing = true;
      draft.finish(manifest.configuration);
      return;
    }
    const chunk = waiting.shift();
    if (chunk !== undefined) draft.append(chunk);
  }

  /** Tells the sender that it cannot be used, and removes it. */
  refuse(reason: string): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    const { from, manifest } = reception;
    this.#refuse(from, manifest.checksum, manifest.index, reason);
    this.abandon();
  }

  /** Gives up the one under way and removes what came of it. */
  abandon(): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    this.#reception = undefined;
    if (reception.draft === undefined) {
      this.#events.onGarbage();
      return;
    }
    this.#leaving.add(reception.draft);
    reception.draft.abandon();
  }

  #endNeedless(from: NodeId, term: number, epoch: number, manifest: SnapshotManifest): void {
    const { checksum, chunkCount } = manifest;
    if (this.#reception?.manifest.checksum === checksum) this.abandon();
    this.#tell(from, checksum, chunkCount);
    const configuration = decodeConfiguration(manifest.configuration);
    if (configuration === undefined) return;
    this.#events.onNeedless({ manifest, configuration, from, term, epoch });
  }

  #begin(from: NodeId, term: number, epoch: number, manifest: SnapshotManifest): void {
    const { index, checksum } = manifest;
    const configuration = decodeConfiguration(manifest.configuration);
    if (configuration === undefined) {
      this.#refuse(from, checksum, index, "its configuration cannot be read");
      return;
    }
    this.#ports.logger("info", "receiving a snapshot", { from, index });
    this.#reception = {
      manifest,
      configuration,
      from,
      term,
      epoch,
      draft: undefined,
      waiting: new Fifo(),
      expected: -1,
      toldNext: -1,
      isFinishing: false,
    };
  }

  #tellProgress(reception: Reception): void {
    const { from, manifest, draft, expected } = reception;
    if (draft === undefined || expected < 0) return;
    reception.toldNext = draft.chunkCount;
    this.#tell(from, manifest.checksum, draft.chunkCount);
  }

  #tell(to: NodeId, checksum: string, next: number): void {
    this.#ports.send(to, { type: "snapshotProgress", checksum, next });
  }

  #refuse(from: NodeId, checksum: string, index: number, reason: string): void {
    this.#ports.logger("warn", "snapshot refused", { from, index, reason });
    this.#ports.send(from, { type: "snapshotRefused", checksum, reason });
  }
}
