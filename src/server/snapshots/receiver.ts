/**
 * Receives the snapshot that a leader offers, one at a time, and answers each durable chunk with
 * the place where the sender should continue. A chunk goes into the table under construction before
 * it goes into the store, and the snapshot is completed there only when the table is. Received
 * chunks stay in the store when the connection is lost or the process ends, and the next offer of
 * the same snapshot continues after them. A complete snapshot goes to the core, which alone decides
 * whether it is installed. A snapshot that cannot be used is refused and removed.
 */
import { assert } from "../../errors/index.js";
import { Fifo, type LockTable } from "../../lockfsm/index.js";
import { type Configuration, decodeConfiguration, type NodeId } from "../../raft/index.js";
import { damageOf, isOutOfSpace, type SnapshotManifest } from "../../storage/index.js";
import { isMismatch, SnapshotDraft } from "./draft.js";
import type { SnapshotChunk, SnapshotOffer, SnapshotPorts, TransferStatus } from "./ports.js";
import { ReceivedTable, SnapshotRefusal } from "./received-table.js";
import { isSameSnapshot } from "./retention.js";
import type { StoreCalls } from "./store-calls.js";

/** Chunks that may wait for the store; a sender's window is smaller. */
const WAITING_CHUNKS_MAX = 8;

/** How long the sender of a snapshot may say nothing between two chunks. */
const SILENCE_MS_MAX = 10_000;

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
  /** Has every durable chunk, except the chunks of an earlier process, which are read again. */
  readonly contents: ReceivedTable;
  /** Set once it is complete; the store is completed after it. */
  table: LockTable | undefined;
  /** The chunk that must come next; −1 until it is known what the store has. */
  expected: number;
  /** The last progress that the sender got; −1 before the first one. */
  toldNext: number;
  /** Chunks that had come when something last came, and when that was noticed. */
  heard: number;
  heardAtMs: number;
}

/** A snapshot that a leader sent. */
export interface ReceivedSnapshot {
  readonly manifest: SnapshotManifest;
  readonly configuration: Configuration;
  readonly from: NodeId;
  readonly term: number;
  readonly epoch: number;
}

/** A snapshot with the table that was made of it. */
export interface DecodedSnapshot extends ReceivedSnapshot {
  readonly table: LockTable;
}

export interface ReceiverEvents {
  /** It is complete and durable here: the core decides about it. */
  onReceived(received: DecodedSnapshot): void;
  /** Everything in it is committed here: the core only has to say so to the leader. */
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

  /** Whether the next turn has something to do without an answer of the store. */
  get hasWork(): boolean {
    const reception = this.#reception;
    if (reception === undefined || reception.table !== undefined) return false;
    const { contents, manifest, draft } = reception;
    return draft?.isWritable === true && contents.chunkCount === manifest.chunkCount;
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

  /** Whether its sender owes the next chunk, and has said nothing for long. */
  isSilentAt(nowMs: number): boolean {
    const reception = this.#reception;
    if (reception?.draft?.isWritable !== true || this.hasWork) return false;
    const { table, waiting, heardAtMs } = reception;
    return table === undefined && waiting.length === 0 && nowMs - heardAtMs > SILENCE_MS_MAX;
  }

  /** The checksum of the snapshot that is being received. */
  *inUse(): Iterable<string> {
    if (this.#reception !== undefined) yield this.#reception.manifest.checksum;
  }

  /** Ignores offers of deposed leaders, and of snapshots older than the one under way. */
  onOffer(from: NodeId, { term, epoch, snapshot }: SnapshotOffer): void {
    const { raft } = this.#ports;
    if (term < raft.term || (term === raft.term && raft.role === "leader")) return;
    const isLeader = term === raft.term && from === raft.leader;
    if (term === raft.term && raft.leader !== 0 && !isLeader) return;
    // A term that no election can have reached must not keep out the offers of real leaders.
    if (!raft.isTermInReach(term)) return;
    if (snapshot.index <= raft.commitIndex) {
      this.#endNeedless(from, term, epoch, snapshot);
      return;
    }
    const current = this.#reception;
    if (current !== undefined) {
      // A leader that this node follows is believed before one of a term that it does not know.
      const isSure = isLeader && current.from !== from;
      if (term < current.term && !isSure) return;
      if (isSameSnapshot(current.manifest, snapshot)) {
        current.from = from;
        current.term = term;
        current.epoch = epoch;
        this.#tellProgress(current);
        return;
      }
      if (!isSure && term === current.term && snapshot.index <= current.manifest.index) return;
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
        const { configuration, from, term, epoch, table } = reception;
        assert(table !== undefined, () => `snapshot ${complete.index} is complete without a table`);
        this.#ports.logger("info", "snapshot received", { from, index: complete.index });
        this.#events.onReceived({ manifest: complete, configuration, from, term, epoch, table });
      },
      onFailure: (error) => {
        if (isOutOfSpace(error)) this.refuse("no room for a snapshot");
        else if (damageOf(error) !== undefined) this.refuse("a chunk was damaged on this disk");
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
  work(nowMs: number): void {
    const reception = this.#reception;
    if (reception === undefined) return;
    if (reception.heard !== reception.expected) {
      reception.heard = reception.expected;
      reception.heardAtMs = nowMs;
    }
    const { manifest, draft } = reception;
    if (manifest.index <= this.#ports.raft.commitIndex) {
      // The log has brought everything in it in the meantime.
      this.#endNeedless(reception.from, reception.term, reception.epoch, manifest);
      return;
    }
    if (draft === undefined || !draft.isWritable) return;
    if (reception.expected < 0) reception.expected = draft.chunkCount;
    if (draft.chunkCount > reception.toldNext) this.#tellProgress(reception);
    this.#orRefuse(() => this.#continue(reception, draft));
  }

  /** Adds a chunk to the table, and then to the store; or completes one, and then the other. */
  #continue(reception: Reception, draft: SnapshotDraft): void {
    const { manifest, contents, waiting } = reception;
    const number = contents.chunkCount;
    if (number < draft.chunkCount) {
      draft.read(number, (chunk) => this.#orRefuse(() => contents.add(chunk)));
    } else if (number < manifest.chunkCount) {
      const chunk = waiting.shift();
      if (chunk === undefined) return;
      contents.add(chunk);
      draft.append(chunk);
    } else {
      reception.table = contents.finish(this.#ports.table);
      if (reception.table !== undefined) draft.finish(manifest.configuration);
    }
  }

  #orRefuse(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof SnapshotRefusal)) throw error;
      this.refuse(error.message);
    }
  }

  /** Answers the sender that the snapshot cannot be used, and removes it. */
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
    if (!this.#ports.knowsVoterOf(configuration, from)) {
      this.#refuse(from, checksum, index, "none of the members that vote in it is known here");
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
      contents: new ReceivedTable(manifest),
      table: undefined,
      expected: -1,
      toldNext: -1,
      heard: Number.NaN,
      heardAtMs: 0,
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
