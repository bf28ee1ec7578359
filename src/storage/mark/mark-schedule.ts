/**
 * When the mark of a log moves: on request, with every new segment, before segments are removed,
 * when a peer is noted, when the log rests, and once a second while it does not. There is one sync
 * at a time; a caller that needs more than the sync under way covers waits for the next one.
 *
 * Once a second the file is also checked, so that even an idle process notices that another one has
 * taken the directory. After that it writes nothing more.
 */
import type { HardState, SnapshotPoint } from "../../raft/index.js";
import type { Timer } from "../storage-ports.js";
import { type KnownPeers, type NotedPeer, withPeer } from "./known-peers.js";
import type { Mark, MarkFile } from "./mark-file.js";

/** The log rests when nothing became durable for this long. */
const REST_MS = 50;
/**
 * The longest time for which the mark stays behind a growing log, or another process is not
 * noticed.
 */
export const LOOK_MS = 1_000;

/** Up to where the log is durable. */
export interface DurablePoint {
  readonly seq: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly hardState: HardState;
  readonly snapshot: SnapshotPoint | undefined;
}

/** The log, as the mark sees it. */
export interface MarkedLog {
  readonly durable: DurablePoint;
  readonly failure: Error | undefined;
  fail(error: Error): void;
}

/** What the mark must have reached; a field counts only if it is more than the mark has. */
export interface MarkDemand {
  readonly seq?: number;
  /** The number of notes of peers. */
  readonly notes?: number;
  readonly firstSegment?: number;
  readonly lastSegment?: number;
}

export class MarkSchedule {
  readonly #file: MarkFile;
  readonly #timer: Timer;
  readonly #log: MarkedLog;
  /** The sync or check under way. */
  #working: Promise<void> | undefined;
  #disarmRest: (() => void) | undefined;
  #disarmLook: (() => void) | undefined;
  /** The end of the log when the timer for its rest was armed. */
  #seqAtArming = 0;
  /** Includes notes that are not durable yet. */
  #peers: KnownPeers;
  /** The number of notes in `#peers`, and how many of them are durable. */
  #notes = 0;
  #notesDurable = 0;
  #isStopped = false;

  constructor(file: MarkFile, timer: Timer, log: MarkedLog) {
    this.#file = file;
    this.#timer = timer;
    this.#log = log;
    this.#peers = file.current.peers;
  }

  /** What is durable. */
  get current(): Mark {
    return this.#file.current;
  }

  /** Includes peers that were just noted. */
  get peers(): KnownPeers {
    return this.#peers;
  }

  /** Starts the checks. */
  start(): void {
    this.#disarmLook = this.#timer(LOOK_MS, () => this.#look());
  }

  /** Resolves when the demand is durable. Fails if the log has failed, now or before. */
  async move({ seq = 0, notes = 0, firstSegment = 0, lastSegment = 0 }: MarkDemand): Promise<void> {
    for (;;) {
      const { current } = this.#file;
      const isThere =
        current.seq >= seq &&
        this.#notesDurable >= notes &&
        current.firstSegment >= firstSegment &&
        current.lastSegment >= lastSegment;
      if (isThere) return;
      if (this.#log.failure !== undefined) throw this.#log.failure;
      this.#working ??= this.#attempt(() => this.#sync(firstSegment, lastSegment));
      await this.#working;
    }
  }

  /** Resolves when everything that the log has written and every noted peer is durable. */
  settle(): Promise<void> {
    return this.move({ seq: this.#log.durable.seq, notes: this.#notes });
  }

  /** The log grew: once it rests, the mark follows. */
  follow(): void {
    if (this.#disarmRest === undefined && !this.#isStopped) this.#awaitRest();
  }

  /** The note becomes durable soon, and before `settle` resolves. */
  notePeer(peer: NotedPeer): void {
    const peers = withPeer(this.#peers, peer);
    if (peers === this.#peers || this.#isStopped) return;
    this.#peers = peers;
    this.#notes += 1;
    this.#moveUnasked();
  }

  /** Ends the checks, and all moves except requested ones. */
  stop(): void {
    this.#isStopped = true;
    this.#disarmRest?.();
    this.#disarmLook?.();
  }

  /** Waits for the work under way, whose failure was reported. */
  async settled(): Promise<void> {
    await this.#working?.catch(() => {});
  }

  #awaitRest(): void {
    this.#seqAtArming = this.#log.durable.seq;
    this.#disarmRest = this.#timer(REST_MS, () => {
      this.#disarmRest = undefined;
      if (this.#isStopped) return;
      if (this.#log.durable.seq !== this.#seqAtArming) this.#awaitRest();
      else this.#moveUnasked();
    });
  }

  #look(): void {
    if (this.#isStopped) return;
    this.start();
    if (this.#file.current.seq < this.#log.durable.seq) this.#moveUnasked();
    else this.#working ??= this.#attempt(() => this.#file.demandOwn());
    this.#working?.catch(() => {});
  }

  #moveUnasked(): void {
    // The failure was reported to the log.
    this.settle().catch(() => {});
  }

  async #sync(firstSegmentMin: number, lastSegmentMin: number): Promise<void> {
    const { current } = this.#file;
    const { seq, lastIndex: index, lastTerm: term } = this.#log.durable;
    const firstSegment = Math.max(current.firstSegment, firstSegmentMin);
    const lastSegment = Math.max(current.lastSegment, lastSegmentMin);
    const notes = this.#notes;
    const peers = this.#peers;
    await this.#file.write({ ...current, seq, index, term, firstSegment, lastSegment, peers });
    this.#notesDurable = notes;
  }

  /** One at a time. A failure is a failure of the log. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.fail(error as Error);
      throw error;
    } finally {
      this.#working = undefined;
    }
  }
}
