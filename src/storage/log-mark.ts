/**
 * When the mark of a log that is being written moves: when asked, with every new segment, before
 * segments are removed, and when the log rests. One sync of it at a time; whoever waits for one
 * that began too early waits for the next.
 */
import type { HardState, SnapshotPoint } from "../raft/index.js";
import type { Mark, MarkFile } from "./mark-file.js";
import type { Timer } from "./storage-ports.js";

/** The log rests when nothing became durable between two looks; the second syncs the mark. */
const LOOK_MS = 50;

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

/** What the mark must have reached; each counts only where it is more than the mark has. */
export interface MarkDemand {
  readonly seq?: number;
  readonly firstSegment?: number;
  readonly lastSegment?: number;
}

export class LogMark {
  readonly #file: MarkFile;
  readonly #timer: Timer;
  readonly #log: MarkedLog;
  #syncing: Promise<void> | undefined;
  #disarmLook: (() => void) | undefined;
  #seqAtLook = 0;
  #isStopped = false;

  constructor(file: MarkFile, timer: Timer, log: MarkedLog) {
    this.#file = file;
    this.#timer = timer;
    this.#log = log;
  }

  /** What is durable. */
  get current(): Mark {
    return this.#file.current;
  }

  /** Resolves when the demand is durable. Fails when the log has failed, by this or before. */
  async move({ seq = 0, firstSegment = 0, lastSegment = 0 }: MarkDemand): Promise<void> {
    for (;;) {
      const { current } = this.#file;
      const isThere =
        current.seq >= seq &&
        current.firstSegment >= firstSegment &&
        current.lastSegment >= lastSegment;
      if (isThere) return;
      if (this.#log.failure !== undefined) throw this.#log.failure;
      this.#syncing ??= this.#sync(firstSegment, lastSegment);
      await this.#syncing;
    }
  }

  /** The log grew: once it rests, the mark follows. */
  follow(): void {
    if (this.#disarmLook === undefined && !this.#isStopped) this.#lookLater();
  }

  /** No more looks. */
  stop(): void {
    this.#isStopped = true;
    this.#disarmLook?.();
    this.#disarmLook = undefined;
  }

  /** Waits for the sync under way, whose failure was reported. */
  async settled(): Promise<void> {
    await this.#syncing?.catch(() => {});
  }

  #lookLater(): void {
    this.#seqAtLook = this.#log.durable.seq;
    this.#disarmLook = this.#timer(LOOK_MS, () => {
      this.#disarmLook = undefined;
      if (this.#isStopped) return;
      const { seq } = this.#log.durable;
      if (seq !== this.#seqAtLook) this.#lookLater();
      // A failure has been reported by whoever moved the mark.
      else this.move({ seq }).catch(() => {});
    });
  }

  async #sync(firstSegmentMin: number, lastSegmentMin: number): Promise<void> {
    const { current } = this.#file;
    const { seq, lastIndex: index, lastTerm: term } = this.#log.durable;
    const firstSegment = Math.max(current.firstSegment, firstSegmentMin);
    const lastSegment = Math.max(current.lastSegment, lastSegmentMin);
    try {
      await this.#file.write({ ...current, seq, index, term, firstSegment, lastSegment });
    } catch (error) {
      this.#log.fail(error as Error);
      throw error;
    } finally {
      this.#syncing = undefined;
    }
  }
}
