/**
 * Receives the snapshot that a leader offers, one at a time, and after each durable chunk tells the
 * sender where to continue. Received chunks stay in the store when the connection is lost or the
 * process ends, and the next offer of the same snapshot continues after them. A complete snapshot
 * goes to the core, which alone decides whether it is installed. A snapshot that cannot be used is
 * refused and removed.
 */
import { type Configuration, decodeConfiguration, type NodeId } from "../../raft/index.js";
import { isOutOfSpace, type SnapshotManifest } from "../../storage/index.js";
import { Fifo } from "../fifo.js";
import { isMismatch, SnapshotDraft } from "./draft.js";
import type { SnapshotChunk, SnapshotOffer, SnapshotPorts, TransferStatus } from "./ports.js";
import { isSameSnapshot } from "./retention.js";
import type { StoreCalls } from "./store-calls.js";

/** Chunks that may wait for the store; a sender's window is smaller. */
const WAITING_CHUNKS_MAX = 8;

interface Reception {
  readonly manifest: SnapshotManifest;
  readonly configuration: Configuration;
  /** From its latest offer. */
  from: NodeId;
  term: number;
  epoch: number;
  /** `undefined` until the store has been cleared for it. */
  draft: SnapshotDraft | undefined;
  readonly waiting: Fifo<Uint8Array>;
  /** The chunk that must come next; −1 until it is known what the store has. */
  expected: number;
  /** The last progress that the sender got; −1 before the first one. */
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
  /** It is complete and durable here: the core decides about it. */
  onReceived(received: ReceivedSnapshot): void;
  /** Everything in it is committed here: the core only has to tell the leader so. */
  onNeedless(received: ReceivedSnapshot): void;
  /** Something in the store has become garbage. */
  onGarbage(): void;
}

export class SnapshotReceiver {
  readonly #ports: SnapshotPorts;
  readonly #calls: StoreCalls;
  readonly #events: ReceiverEvents;
  #reception: Reception | undefined;
  /** Abandoned, with a call of the store under way. */
  readonly #leaving = new Set<SnapshotDraft>();

  constructor(ports: SnapshotPorts, calls: StoreCalls, events: ReceiverEvents) {
    this.#ports = ports;
    this.#calls = calls;
    this.#events = events;
  }

  get isUnderWay(): boolean {
    return this.#reception !== undefined || this.#leaving.size > 0;
  }

  /** Whether a call of an abandoned snapshot is under way. */
  get isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  /** Whether `open` must be called once the store has been cleared. */
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

  /** The checksum of the snapshot that is being received. */
  *inUse(): Iterable<string> {
    if (this.#reception !== undefined) yield this.#reception.manifest.checksum;
  }

  /** Ignores offers of deposed leaders, and of snapshots older than the one under way. */
  onOffer(from: NodeId, { term, epoch, snapshot }: SnapshotOffer): void {
    const { raft } = this.#ports;
    if (term < raft.term || (term === raft.term && raft.role === "leader")) return;
    // A term that no election can have reached must not keep out the offers of real leaders.
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

  /** Drops a chunk that is out of order: the sender gets the progress or asks for it. */
  onChunk(from: NodeId, { checksum, number, bytes }: SnapshotChunk): void {
    const reception = this.#reception;
    if (reception === undefined || reception.from !== from) return;
    if (reception.manifest.checksum !== checksum || reception.expected !== number) return;
    if (number >= reception.manifest.chunkCount) return;
    if (reception.waiting.length >= WAITING_CHUNKS_MAX) return;
    reception.expected += 1;
    reception.waiting.push(bytes);
  }

  /** The store has been cleared: writing may begin. */
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

  /** Once a turn: reports durable chunks and writes one of the waiting ones. */
  work(): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    const { manifest, draft, waiting } = reception;
    if (manifest.index <= this.#ports.raft.commitIndex) {
      // The log has brought everything in it in the meantime.
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

  /** Tells the sender that the snapshot cannot be used, and removes it. */
  refuse(reason: string): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    const { from, manifest } = reception;
    this.#refuse(from, manifest.checksum, manifest.index, reason);
    this.abandon();
  }

  /** Gives up the snapshot under way and removes what was written of it. */
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
