/**
 * The transfers of a leader: which peer gets a snapshot, and what happens if a transfer makes no
 * progress. A transfer that stalls or is refused is given up; the core learns that after a pause
 * that doubles each time, so that a receiver that cannot use snapshots costs little. A transfer
 * ends silently with its connection or term; then the core asks again, and the receiver continues
 * from what it has. A peer that can use only a later snapshot than there is waits until one was
 * taken.
 */
import { assert } from "../../errors/index.js";
import type { Input, NodeId, WantedSnapshot } from "../../raft/index.js";
import type { SnapshotManifest } from "../../storage/index.js";
import type { SnapshotPorts, SnapshotTuning, TransferStatus } from "./ports.js";
import { isSameSnapshot, type SnapshotRetention } from "./retention.js";
import type { StoreCalls } from "./store-calls.js";
import { SnapshotTransfer } from "./transfer.js";

/** Election timeouts without progress after which a transfer is given up. */
const STALL_TIMEOUTS = 10;
/** Election timeouts until the core learns that a transfer was given up; doubled each time … */
const PAUSE_TIMEOUTS_MIN = 1;
/** … up to this many. */
const PAUSE_TIMEOUTS_MAX = 64;

/**
 * Failures of one peer over one connection; forgotten with it, or when a snapshot was delivered.
 */
interface Failures {
  readonly epoch: number;
  pauseTimeouts: number;
  /** When the core learns of the last one; infinite once it has. */
  reportAtMs: number;
}

export class SnapshotSender {
  readonly #ports: SnapshotPorts;
  readonly #options: SnapshotTuning;
  readonly #calls: StoreCalls;
  readonly #retention: SnapshotRetention;
  readonly #transfers = new Map<NodeId, SnapshotTransfer>();
  readonly #failures = new Map<NodeId, Failures>();
  /** No snapshot is new enough for them so far. */
  readonly #waiting = new Map<NodeId, WantedSnapshot>();
  #term = 0;
  #nextDeadlineMs = Number.POSITIVE_INFINITY;

  constructor(
    ports: SnapshotPorts,
    options: SnapshotTuning,
    calls: StoreCalls,
    retention: SnapshotRetention,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#calls = calls;
    this.#retention = retention;
  }

  /** As of the last `work`. */
  get nextDeadlineMs(): number {
    return this.#nextDeadlineMs;
  }

  get status(): TransferStatus[] {
    return [...this.#transfers.values()].map((transfer) => transfer.status);
  }

  /**
   * The first entry that a receiver needs after its snapshot; infinite if there are no transfers.
   */
  get neededFrom(): number {
    let from = Number.POSITIVE_INFINITY;
    for (const { manifest } of this.#transfers.values()) from = Math.min(from, manifest.index + 1);
    return from;
  }

  /** Checksums of the snapshots that are being sent. */
  *inUse(): Iterable<string> {
    for (const { manifest } of this.#transfers.values()) yield manifest.checksum;
  }

  /** Whether a snapshot of the table up to `appliedIndex` would end a wait. */
  wantsOneOf(appliedIndex: number): boolean {
    if (this.#waiting.size === 0) return false;
    for (const { afterIndex } of this.#waiting.values()) if (appliedIndex > afterIndex) return true;
    return false;
  }

  /** The core of a leader asks for this: the log cannot help the peer. */
  begin(wanted: WantedSnapshot, nowMs: number): void {
    this.#endOthersThanOf(this.#ports.raft.term);
    this.#end(wanted.peer);
    const { afterIndex } = wanted;
    const newestIndex = this.#retention.newest?.index ?? 0;
    if (newestIndex <= afterIndex) this.#waiting.set(wanted.peer, wanted);
    else this.#send(wanted, nowMs);
  }

  #send({ peer, epoch }: WantedSnapshot, nowMs: number): void {
    const manifest = this.#newest();
    const { index } = manifest;
    this.#ports.logger("info", "sending a snapshot", { peer, index });
    const to = { peer, epoch };
    this.#transfers.set(
      peer,
      new SnapshotTransfer(this.#ports, this.#options, this.#calls, to, manifest, nowMs),
    );
    const failures = this.#failures.get(peer);
    if (failures === undefined) return;
    if (failures.epoch === epoch) failures.reportAtMs = Number.POSITIVE_INFINITY;
    else this.#failures.delete(peer);
  }

  onLinkDown(peer: NodeId, epoch: number): void {
    if (this.#transfers.get(peer)?.epoch === epoch) this.#end(peer);
    if (this.#waiting.get(peer)?.epoch === epoch) this.#waiting.delete(peer);
    if (this.#failures.get(peer)?.epoch === epoch) this.#failures.delete(peer);
  }

  onProgress(peer: NodeId, checksum: string, next: number, nowMs: number): void {
    const transfer = this.#transferOf(peer, checksum);
    if (transfer === undefined || transfer.isDelivered) return;
    transfer.onProgress(next, nowMs);
    if (!transfer.isDelivered) return;
    this.#failures.delete(peer);
    this.#ports.logger("info", "snapshot sent", { peer, index: transfer.manifest.index });
  }

  onRefused(peer: NodeId, checksum: string, reason: string, nowMs: number): void {
    const transfer = this.#transferOf(peer, checksum);
    if (transfer !== undefined) this.#giveUp(transfer, reason, nowMs);
  }

  /** Once a turn. `report` passes an input to the core. */
  work(nowMs: number, report: (input: Input) => void): void {
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    if (this.#transfers.size + this.#failures.size + this.#waiting.size === 0) return;
    const { raft } = this.#ports;
    this.#endOthersThanOf(raft.role === "leader" ? raft.term : 0);
    for (const wanted of [...this.#waiting.values()]) this.begin(wanted, nowMs);
    let deadlineMs = Number.POSITIVE_INFINITY;
    for (const transfer of this.#transfers.values()) {
      const isCutOff = transfer.manifest.index + 1 < raft.firstIndex;
      const stallsAtMs = transfer.stalledSinceMs + STALL_TIMEOUTS * this.#options.electionTimeoutMs;
      if (nowMs >= stallsAtMs || (isCutOff && transfer.isDelivered)) {
        this.#stalled(transfer, nowMs, report);
        continue;
      }
      if (isCutOff) this.#replace(transfer, nowMs);
      transfer.work(nowMs);
      deadlineMs = Math.min(deadlineMs, stallsAtMs, transfer.nextDeadlineMs);
    }
    for (const [peer, failures] of this.#failures) {
      const { epoch, reportAtMs } = failures;
      if (nowMs < reportAtMs) {
        deadlineMs = Math.min(deadlineMs, reportAtMs);
        continue;
      }
      failures.reportAtMs = Number.POSITIVE_INFINITY;
      report({ type: "snapshotFailed", peer, epoch });
    }
    this.#nextDeadlineMs = deadlineMs;
  }

  /** Ends all transfers. */
  stop(): void {
    this.#endOthersThanOf(0);
  }

  /** Transfers belong to one term of this node as leader; 0 if it does not lead. */
  #endOthersThanOf(term: number): void {
    if (term === this.#term) return;
    this.#term = term;
    for (const transfer of this.#transfers.values()) transfer.end();
    this.#transfers.clear();
    this.#failures.clear();
    this.#waiting.clear();
  }

  /** The log always continues after the newest snapshot. */
  #newest(): SnapshotManifest {
    const { newest } = this.#retention;
    assert(newest !== undefined, () => "the log has been cut and there is no snapshot");
    const first = this.#ports.raft.firstIndex;
    assert(first <= newest.index + 1, () => `log from ${first}, snapshot up to ${newest.index}`);
    return newest;
  }

  #transferOf(peer: NodeId, checksum: string): SnapshotTransfer | undefined {
    const transfer = this.#transfers.get(peer);
    return transfer?.manifest.checksum === checksum ? transfer : undefined;
  }

  /** The log was cut after the snapshot: its receiver could not continue from there. */
  #replace(transfer: SnapshotTransfer, nowMs: number): void {
    const newest = this.#newest();
    if (isSameSnapshot(newest, transfer.manifest)) return;
    const { peer } = transfer;
    this.#ports.logger("info", "sending a newer snapshot", { peer, index: newest.index });
    transfer.replace(newest, nowMs);
  }

  #stalled(transfer: SnapshotTransfer, nowMs: number, report: (input: Input) => void): void {
    const { peer, epoch, isDelivered } = transfer;
    if (!isDelivered) {
      this.#giveUp(transfer, "no progress", nowMs);
      return;
    }
    // If it was installed, the core ignores the report; otherwise it probes the peer.
    this.#end(peer);
    report({ type: "snapshotFailed", peer, epoch });
  }

  #giveUp(transfer: SnapshotTransfer, reason: string, nowMs: number): void {
    const { peer, epoch, manifest } = transfer;
    this.#ports.logger("warn", "snapshot not sent", { peer, index: manifest.index, reason });
    this.#end(peer);
    const pauseTimeouts = this.#failures.get(peer)?.pauseTimeouts ?? PAUSE_TIMEOUTS_MIN;
    this.#failures.set(peer, {
      epoch,
      pauseTimeouts: Math.min(2 * pauseTimeouts, PAUSE_TIMEOUTS_MAX),
      reportAtMs: nowMs + pauseTimeouts * this.#options.electionTimeoutMs,
    });
  }

  #end(peer: NodeId): void {
    this.#transfers.get(peer)?.end();
    this.#transfers.delete(peer);
    this.#waiting.delete(peer);
  }
}
