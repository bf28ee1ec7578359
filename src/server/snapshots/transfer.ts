/**
 * One snapshot on its way to one peer over one connection. It is offered until the receiver says
 * where to continue, then sent in chunks: at most a window beyond what the receiver has durably,
 * one per turn, and none while much waits in the link, so that no heartbeat waits long. The
 * sender decides when to give up.
 */
import type { NodeId } from "../../raft/index.js";
import { isOutOfSpace, type SnapshotManifest } from "../../storage/index.js";
import type { SnapshotPorts, SnapshotTuning, TransferStatus } from "./ports.js";
import type { StoreCalls } from "./store-calls.js";

/** Chunks that may be sent beyond what the receiver has durably. */
const WINDOW_CHUNKS = 4;
/** No chunk is added while more bytes than this wait in the link. */
const BUFFERED_BYTES_MAX = 1 << 20;
/** How long to wait for a link to drain before looking again. */
const DRAIN_MS = 5;

export class SnapshotTransfer {
  readonly peer: NodeId;
  readonly epoch: number;
  readonly #ports: SnapshotPorts;
  readonly #options: SnapshotTuning;
  readonly #calls: StoreCalls;
  readonly #term: number;
  #manifest: SnapshotManifest;
  #phase: "offering" | "sending" | "delivered" = "offering";
  /** The receiver holds every chunk before it. */
  #durableNext = 0;
  #sentNext = 0;
  /** Read from the store and not sent yet. */
  #chunk: { readonly number: number; readonly bytes: Uint8Array } | undefined;
  #isReading = false;
  /** The most that the receiver has reported; −1 before its first message. */
  #bestNext = -1;
  #bestSinceMs: number;
  /** When to offer again because an answer to the offer or to sent chunks is missing. */
  #offerAtMs: number;
  /** When to look again whether the link has drained, while a chunk waits for that. */
  #drainAtMs = Number.POSITIVE_INFINITY;
  #hasEnded = false;

  constructor(
    ports: SnapshotPorts,
    options: SnapshotTuning,
    calls: StoreCalls,
    to: { readonly peer: NodeId; readonly epoch: number },
    manifest: SnapshotManifest,
    nowMs: number,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#calls = calls;
    this.#term = ports.raft.term;
    this.peer = to.peer;
    this.epoch = to.epoch;
    this.#manifest = manifest;
    this.#bestSinceMs = nowMs;
    this.#offerAtMs = nowMs;
  }

  get manifest(): SnapshotManifest {
    return this.#manifest;
  }

  /** The receiver has all of it; the cores decide about its use. */
  get isDelivered(): boolean {
    return this.#phase === "delivered";
  }

  /** Since when the receiver has reported nothing new. */
  get stalledSinceMs(): number {
    return this.#bestSinceMs;
  }

  get status(): TransferStatus {
    const { index, chunkCount } = this.#manifest;
    return { peer: this.peer, index, next: this.#durableNext, chunkCount };
  }

  get nextDeadlineMs(): number {
    if (this.#phase === "delivered") return Number.POSITIVE_INFINITY;
    return Math.min(this.#offerAtMs, this.#drainAtMs);
  }

  /** Continues with another snapshot: the log no longer holds the entries after this one. */
  replace(manifest: SnapshotManifest, nowMs: number): void {
    this.#manifest = manifest;
    this.#phase = "offering";
    this.#durableNext = 0;
    this.#sentNext = 0;
    this.#chunk = undefined;
    this.#bestNext = -1;
    this.#bestSinceMs = nowMs;
    this.#offerAtMs = nowMs;
  }

  /** Chunks that are still being read are dropped; the snapshot may be removed. */
  end(): void {
    this.#hasEnded = true;
  }

  onProgress(next: number, nowMs: number): void {
    if (next > this.#manifest.chunkCount || this.#phase === "delivered") return;
    if (next > this.#bestNext) {
      this.#bestNext = next;
      this.#bestSinceMs = nowMs;
    }
    if (this.#phase === "offering") {
      // The answer to an offer says where to continue, which may be earlier or later.
      this.#phase = "sending";
      this.#sentNext = next;
    } else if (next < this.#durableNext) {
      return;
    }
    this.#durableNext = next;
    this.#sentNext = Math.max(this.#sentNext, next);
    this.#offerAtMs = nowMs + this.#options.electionTimeoutMs;
    if (next === this.#manifest.chunkCount) this.#phase = "delivered";
  }

  /** Once a turn: sends at most one chunk. */
  work(nowMs: number): void {
    if (this.#phase === "delivered") return;
    if (nowMs >= this.#offerAtMs) this.#offer(nowMs);
    if (this.#phase !== "sending") return;
    this.#sendChunk(nowMs);
    this.#readChunk();
  }

  #offer(nowMs: number): void {
    const { index, term, checksum, chunkCount, byteLength, configuration } = this.#manifest;
    this.#phase = "offering";
    this.#drainAtMs = Number.POSITIVE_INFINITY;
    this.#offerAtMs = nowMs + this.#options.heartbeatIntervalMs;
    this.#ports.send(this.peer, {
      type: "snapshotOffer",
      term: this.#term,
      epoch: this.epoch,
      snapshot: { index, term, checksum, chunkCount, byteLength, configuration },
    });
  }

  #sendChunk(nowMs: number): void {
    const chunk = this.#chunk;
    this.#drainAtMs = Number.POSITIVE_INFINITY;
    if (chunk === undefined) return;
    if (chunk.number !== this.#sentNext) {
      // The receiver has moved the transfer since this chunk was read.
      this.#chunk = undefined;
      return;
    }
    if (this.#ports.peers.bufferedBytes(this.peer) > BUFFERED_BYTES_MAX) {
      this.#drainAtMs = nowMs + DRAIN_MS;
      return;
    }
    this.#chunk = undefined;
    this.#sentNext += 1;
    const { checksum } = this.#manifest;
    const { number, bytes } = chunk;
    this.#ports.send(this.peer, { type: "snapshotChunk", checksum, number, bytes });
  }

  #readChunk(): void {
    const manifest = this.#manifest;
    const number = this.#sentNext;
    if (this.#isReading || this.#chunk !== undefined || number >= manifest.chunkCount) return;
    if (number >= this.#durableNext + WINDOW_CHUNKS) return;
    this.#isReading = true;
    this.#calls.run(
      this.#ports.store.readChunk(manifest, number),
      (bytes) => {
        this.#isReading = false;
        if (manifest === this.#manifest) this.#chunk = { number, bytes };
      },
      (error, nowMs) => {
        this.#isReading = false;
        // A snapshot that is no longer sent may have been removed in the meantime.
        if (this.#hasEnded || manifest !== this.#manifest) return;
        if (!isOutOfSpace(error)) throw error;
        // The store cannot be read until it has room again: offer again later.
        this.#phase = "offering";
        this.#offerAtMs = nowMs + this.#options.electionTimeoutMs;
      },
    );
  }
}
