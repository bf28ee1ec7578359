/**
 * The snapshots of one driver: taken of its own table, sent to peers whose entries are gone from
 * the log, received from a leader, restored. Nothing here blocks the loop, and nothing acts outside
 * a turn. The log decides which snapshot counts; the core decides which one is installed and when
 * the log is cut. `SnapshotTurn` has the steps of a turn. An error that one of them throws, such as
 * a failure of the store, ends the node.
 */
import { assert, ERROR_NUMBERS } from "../../errors/index.js";
import type {
  Configuration,
  Input,
  InstalledSnapshot,
  NodeId,
  Raft,
  WantedSnapshot,
  Write,
} from "../../raft/index.js";
import type { SnapshotManifest } from "../../storage/index.js";
import { AppliedTrail } from "./applied-trail.js";
import { SnapshotExporter } from "./exporter.js";
import type {
  NamedSnapshots,
  SnapshotMessage,
  SnapshotPorts,
  SnapshotStatus,
  SnapshotTuning,
  SnapshotTurn,
} from "./ports.js";
import { type DecodedSnapshot, type ReceivedSnapshot, SnapshotReceiver } from "./receiver.js";
import { isSameSnapshot, SnapshotRetention } from "./retention.js";
import { SnapshotSender } from "./sender.js";
import { StoreCalls } from "./store-calls.js";
import { SnapshotTaker } from "./taker.js";

/** Transfers lengthen the log to at most this many times `snapshotLogBytes`. */
const LOG_FACTOR_MAX = 4;
/** The number of steps in which the trailing window moves. */
const TRAIL_STEPS = 16;

/** What may be called between two turns; the steps of a turn are reached through `beginTurn`. */
export type Snapshots = Omit<DriverSnapshots, keyof SnapshotTurn | keyof NamedSnapshots>;

interface Turn {
  readonly nowMs: number;
  /** The core was stepped with it in this turn, and has not accepted it so far. */
  undecided: DecodedSnapshot | undefined;
}

export class DriverSnapshots implements SnapshotTurn, NamedSnapshots {
  readonly #ports: SnapshotPorts;
  readonly #options: SnapshotTuning;
  readonly #calls: StoreCalls;
  readonly #retention: SnapshotRetention;
  readonly #trail: AppliedTrail;
  readonly #taker: SnapshotTaker;
  readonly #sender: SnapshotSender;
  readonly #receiver: SnapshotReceiver;
  /** Snapshots for operators. */
  readonly exporter: SnapshotExporter;
  #inputs: Input[] = [];
  /** Received completely, for the core to accept or not. */
  #received: DecodedSnapshot | undefined;
  /** Accepted by the core. The table is replaced once the log names it durably. */
  #accepted: DecodedSnapshot | undefined;
  #restoredIndex: number | undefined;
  #installedTotal = 0;
  /** `undefined` between two turns. */
  #turn: Turn | undefined;
  #isStopped = false;

  /** `named`: the snapshot that the log names, which is already in the table. */
  constructor(ports: SnapshotPorts, options: SnapshotTuning, named: SnapshotManifest | undefined) {
    this.#ports = ports;
    this.#options = options;
    this.#calls = new StoreCalls(() => ports.wake());
    this.#retention = new SnapshotRetention(ports.store, this.#calls, named);
    const { snapshotLogBytes, trailingLogBytes } = options;
    const windowBytes = Math.max(trailingLogBytes, snapshotLogBytes / TRAIL_STEPS);
    this.#trail = new AppliedTrail(named?.index ?? 0, windowBytes / TRAIL_STEPS);
    const onGarbage = (): void => this.#retention.leaveGarbage();
    this.#taker = new SnapshotTaker(ports, options, this.#calls, this.#retention, {
      onTaken: (manifest) => this.#onTaken(manifest),
      onGarbage,
      onNoSpace: () => this.#failExports(),
    });
    this.#sender = new SnapshotSender(ports, options, this.#calls, this.#retention);
    this.#receiver = new SnapshotReceiver(ports, this.#calls, {
      onReceived: (received) => {
        this.#received = received;
      },
      onNeedless: (received) => this.#inputs.push(inputOf(received)),
      onGarbage,
    });
    const { nodeId, clock, store } = ports;
    this.exporter = new SnapshotExporter(
      {
        nodeId,
        clock,
        store,
        electionTimeoutMs: options.electionTimeoutMs,
        newest: () => this.#retention.newest,
        appliedIndex: () => this.#taker.appliedIndex,
        onGarbage,
        onSaved: (attachment, index) => ports.onSaved?.(attachment, index),
      },
      this.#calls,
    );
  }

  /** Whether the disk is busy with writing a snapshot. */
  get isWriting(): boolean {
    return this.#taker.isUnderWay || this.#receiver.isUnderWay;
  }

  get isTaking(): boolean {
    return this.#taker.isTaking;
  }

  /** The table will be replaced: nothing may be applied until `takeRestored` returns an index. */
  get isRestoring(): boolean {
    return this.#accepted !== undefined || this.#restoredIndex !== undefined;
  }

  /** Whether the next turn has something to do without a further input. */
  get hasWork(): boolean {
    if (this.#inputs.length > 0 || this.#restoredIndex !== undefined) return true;
    return this.#receiver.hasWork || this.exporter.hasWork;
  }

  /** As of the end of the last turn; infinite if there is none. */
  get nextDeadlineMs(): number {
    const takingMs = this.#mayTake ? this.#taker.nextDeadlineMs : Number.POSITIVE_INFINITY;
    return Math.min(takingMs, this.#sender.nextDeadlineMs, this.exporter.nextDeadlineMs);
  }

  get status(): SnapshotStatus {
    const { newest } = this.#retention;
    return {
      takenTotal: this.#taker.takenTotal,
      installedTotal: this.#installedTotal,
      abandonedTotal: this.#taker.abandonedTotal,
      exportedTotal: this.exporter.exportedTotal,
      index: newest?.index ?? 0,
      bytes: newest?.byteLength ?? 0,
      durationMs: this.#taker.durationMs,
      isTaking: this.#taker.isTaking,
      isRestoring: this.isRestoring,
      sending: this.#sender.status,
      receiving: this.#receiver.status,
    };
  }

  /** Acts on what the store did since the last turn, and steps the core with the results. */
  beginTurn(nowMs: number, core: Pick<Raft, "step">): SnapshotTurn {
    assert(this.#turn === undefined, () => "the last turn of the snapshots has not ended");
    const received = this.#deliver(nowMs);
    this.#turn = { nowMs, undecided: received };
    const inputs = this.#inputs;
    if (inputs.length > 0) this.#inputs = [];
    for (const input of inputs) core.step(input);
    if (received !== undefined) core.step(inputOf(received));
    return this;
  }

  read(peer: NodeId, message: SnapshotMessage): void {
    const { nowMs } = this.#requireTurn();
    switch (message.type) {
      case "snapshotOffer":
        this.#receiver.onOffer(peer, message);
        break;
      case "snapshotChunk":
        this.#receiver.onChunk(peer, message);
        break;
      case "snapshotProgress":
        this.#sender.onProgress(peer, message.checksum, message.next, nowMs);
        break;
      case "snapshotRefused":
        this.#sender.onRefused(peer, message.checksum, message.reason, nowMs);
        break;
    }
  }

  onLinkDown(peer: NodeId, epoch: number): void {
    this.#sender.onLinkDown(peer, epoch);
  }

  onWrite(write: Write): NamedSnapshots {
    this.#requireTurn();
    this.#retention.onWrite(write);
    return this;
  }

  onWanted(wanted: WantedSnapshot): void {
    this.#sender.begin(wanted, this.#requireTurn().nowMs);
  }

  onApplied(index: number, bytes: number, configuration: Configuration): void {
    this.#requireTurn();
    assert(!this.isRestoring, () => `entry ${index} applied while a snapshot is being restored`);
    this.#trail.add(index, bytes);
    this.#taker.onApplied(index, bytes, configuration);
  }

  restore(snapshot: InstalledSnapshot): void {
    const turn = this.#requireTurn();
    const received = turn.undecided;
    assert(received !== undefined && isSameSnapshot(received.manifest, snapshot), () => {
      const { index } = received?.manifest ?? {};
      return `restoring snapshot ${snapshot.index}, but snapshot ${index} was received`;
    });
    assert(this.#retention.isNaming(snapshot), () => `no write names snapshot ${snapshot.index}`);
    turn.undecided = undefined;
    this.#restoredIndex = undefined;
    this.#accepted = received;
    this.#retention.put(received.manifest);
    this.#taker.restart();
  }

  takeRestored(): number | undefined {
    this.#requireTurn();
    const index = this.#restoredIndex;
    this.#restoredIndex = undefined;
    return index;
  }

  end(durableSeq: number): void {
    const { nowMs, undecided } = this.#requireTurn();
    this.#turn = undefined;
    if (this.#isStopped) return;
    this.#retention.onDurable(durableSeq);
    if (undecided !== undefined) this.#dropIgnored(undecided.manifest);
    this.#restore();
    this.#receiver.work(nowMs);
    this.#sender.work(nowMs, (input) => this.#inputs.push(input));
    this.exporter.work(nowMs);
    this.#prepareWriting(nowMs);
    this.#taker.work();
  }

  /** Begins nothing more, and waits for the calls of the store that are under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#taker.stop();
    this.#sender.stop();
    await this.#calls.settled();
  }

  #requireTurn(): Turn {
    const turn = this.#turn;
    assert(turn !== undefined, () => "this turn of the snapshots has ended");
    return turn;
  }

  /** Returns a snapshot that was received completely, for the core to accept or not. */
  #deliver(nowMs: number): DecodedSnapshot | undefined {
    this.#calls.deliver(nowMs);
    const received = this.#received;
    this.#received = undefined;
    return received;
  }

  #onTaken(manifest: SnapshotManifest): void {
    const { index, term, checksum } = manifest;
    this.#retention.put(manifest);
    const keepFrom = this.#keepFrom(index);
    this.#trail.forget(keepFrom);
    this.#inputs.push({ type: "compact", snapshot: { index, term, checksum }, keepFrom });
  }

  /** Keeps what slow followers and the receivers of snapshots need, within limits. */
  #keepFrom(snapshotIndex: number): number {
    const { trailingLogBytes, snapshotLogBytes } = this.#options;
    const wanted = Math.min(
      this.#trail.reachingBack(trailingLogBytes),
      this.#sender.neededFrom,
      snapshotIndex + 1,
    );
    const atLeast = this.#trail.reachingBack(LOG_FACTOR_MAX * snapshotLogBytes);
    const kept = Math.max(wanted, Math.min(atLeast, snapshotIndex + 1));
    return Math.max(kept, this.#ports.raft.firstIndex);
  }

  /** The core has moved on and will not ask for it. */
  #dropIgnored({ index }: SnapshotManifest): void {
    this.#ports.logger("info", "received snapshot not needed", { index });
    this.#retention.leaveGarbage();
  }

  /** The log names it, so that the next start would make the same table. */
  #restore(): void {
    const accepted = this.#accepted;
    if (accepted === undefined || !this.#retention.isNamed(accepted.manifest)) return;
    const { index } = accepted.manifest;
    this.#ports.table.become(accepted.table);
    this.#installedTotal += 1;
    this.#accepted = undefined;
    this.#restoredIndex = index;
    this.#trail.restart(index);
    this.#ports.logger("info", "snapshot installed", { index });
  }

  /**
   * Whether a snapshot may be taken: the table stays, nothing else is being written, and the log
   * durably names the last snapshot, so that its predecessor is gone when the next one begins.
   */
  get #mayTake(): boolean {
    if (this.#receiver.isUnderWay || this.isRestoring || !this.#taker.knowsMembers) return false;
    return this.#canWrite && !this.#retention.isNamingPending;
  }

  /** An operator or a peer wants a snapshot of a later index than the newest one has. */
  get #isOneAskedFor(): boolean {
    if (this.#taker.isUnderWay) return false;
    const newestIndex = this.#retention.newest?.index ?? 0;
    if (this.exporter.wantedIndex > newestIndex) return true;
    const { appliedIndex } = this.#taker;
    return appliedIndex > newestIndex && this.#sender.wantsOneOf(appliedIndex);
  }

  /** Whether nothing is being written that a removal would take for garbage. */
  get #canWrite(): boolean {
    return !this.#retention.isClearing && !this.#taker.isUnderWay && !this.#receiver.isLeaving;
  }

  /**
   * One snapshot is written at a time, and garbage is removed before, so that the disk never holds
   * more than the snapshots that count, those being sent, and the one being written. A received
   * snapshot goes first.
   */
  #prepareWriting(nowMs: number): void {
    const { isWaitingToOpen } = this.#receiver;
    // An offer whose chunks never come must not keep this node from taking its own.
    const isOwnWanted = this.#taker.isDue(nowMs) || this.#isOneAskedFor;
    if (isOwnWanted && this.#receiver.isSilentAt(nowMs)) {
      this.#receiver.refuse("nothing more of it came");
    }
    if (isWaitingToOpen) this.#taker.abandon();
    if (!this.#canWrite) return;
    const isTakingDue = this.#mayTake && (this.#taker.isDue(nowMs) || this.#isOneAskedFor);
    const isRoomNeeded = isWaitingToOpen || isTakingDue;
    if (this.#retention.isClearingDue || (!this.#retention.isClean && isRoomNeeded)) {
      this.#clear();
    } else if (isWaitingToOpen) {
      this.#receiver.open();
    } else if (isTakingDue) {
      this.#taker.begin(nowMs);
    }
  }

  #clear(): void {
    const parts = [this.#sender, this.#receiver, this.exporter];
    const inUse = parts.flatMap((part) => [...part.inUse()]);
    this.#retention.clear(inUse, (nowMs) => {
      if (this.#receiver.isWaitingToOpen) this.#receiver.refuse("no room for a snapshot");
      else if (this.#taker.isDue(nowMs)) this.#taker.postpone(nowMs);
      this.#failExports();
    });
  }

  #failExports(): void {
    this.exporter.fail(ERROR_NUMBERS.DISK_FULL, "the node has no room for a snapshot on its disk");
  }
}

function inputOf({ manifest, configuration, from, term, epoch }: ReceivedSnapshot): Input {
  const { index, term: entryTerm, checksum } = manifest;
  const snapshot = { index, term: entryTerm, checksum, configuration };
  return { type: "snapshotReceived", from, term, epoch, snapshot };
}
