/**
 * Which complete snapshots matter: the newest one, which is what gets sent, and those that the log
 * stands on or is about to. Everything else in the store is garbage, removed by `clear`. Until the
 * log's record is durable the snapshot it named before stays: after a crash it counts again.
 */
import type { SnapshotPoint, Write } from "../../raft/index.js";
import type { SnapshotManifest, SnapshotStore } from "../../storage/index.js";
import { isOutOfSpace } from "./draft.js";
import type { StoreCalls } from "./store-calls.js";

interface Naming {
  readonly seq: number;
  readonly snapshot: SnapshotPoint;
}

/** Whether both are the same snapshot; equal contents may stand for different indexes. */
export function isSameSnapshot(a: SnapshotPoint, b: SnapshotPoint): boolean {
  return a.index === b.index && a.term === b.term && a.checksum === b.checksum;
}

export class SnapshotRetention {
  readonly #store: SnapshotStore;
  readonly #calls: StoreCalls;
  #newest: SnapshotManifest | undefined;
  #named: SnapshotPoint | undefined;
  /** Records of the log on their way to disk, in order. */
  #naming: Naming[] = [];
  /** There may be garbage; there may have been some when the node started. */
  #isDirty = true;
  #isClearingDue = false;
  #isClearing = false;

  /** `named`: what the log stands on. */
  constructor(store: SnapshotStore, calls: StoreCalls, named: SnapshotManifest | undefined) {
    this.#store = store;
    this.#calls = calls;
    this.#newest = named;
    this.#named = named;
  }

  get newest(): SnapshotManifest | undefined {
    return this.#newest;
  }

  /** Nothing but what matters lies in the store, and no removal is under way. */
  get isClean(): boolean {
    return !this.#isDirty && !this.#isClearing;
  }

  get isClearing(): boolean {
    return this.#isClearing;
  }

  /** Whether garbage should go now, as against when room for something new is needed. */
  get isClearingDue(): boolean {
    return this.#isClearingDue && !this.#isClearing;
  }

  /** A complete snapshot that is to be sent from now on. */
  put(manifest: SnapshotManifest): void {
    this.#newest = manifest;
  }

  onWrite({ seq, snapshot }: Write): void {
    if (snapshot !== undefined) this.#naming.push({ seq, snapshot });
  }

  /** Whether a record of the log that names `snapshot` was handed over. */
  isNaming(snapshot: SnapshotPoint): boolean {
    return this.#naming.some((naming) => isSameSnapshot(naming.snapshot, snapshot));
  }

  /** Whether the log durably stands on `snapshot`. */
  isNamed(snapshot: SnapshotPoint): boolean {
    return this.#named !== undefined && isSameSnapshot(this.#named, snapshot);
  }

  /** Whether a record of the log that names one is not durable yet. */
  get isNamingPending(): boolean {
    return this.#naming.length > 0;
  }

  /** Everything up to the write `seq` is durable. */
  onDurable(seq: number): void {
    for (let first = this.#naming[0]; first !== undefined; first = this.#naming[0]) {
      if (first.seq > seq) return;
      this.#naming.shift();
      this.#named = first.snapshot;
      this.leaveGarbage();
    }
  }

  /** Something in the store does not matter any more. */
  leaveGarbage(): void {
    this.#isDirty = true;
    this.#isClearingDue = true;
  }

  /**
   * Removes everything that does not matter and is not among `inUse`. Nothing may be written at
   * that moment but a snapshot of `inUse`. `onNoSpace`: it failed because the disk is full.
   */
  clear(inUse: Iterable<string>, onNoSpace: (nowMs: number) => void): void {
    const kept = new Set(inUse);
    for (const { snapshot } of this.#naming) kept.add(snapshot.checksum);
    for (const snapshot of [this.#newest, this.#named]) {
      if (snapshot !== undefined) kept.add(snapshot.checksum);
    }
    this.#isDirty = false;
    this.#isClearingDue = false;
    this.#isClearing = true;
    this.#calls.run(
      this.#store.removeExcept([...kept]),
      () => {
        this.#isClearing = false;
      },
      (error, nowMs) => {
        if (!isOutOfSpace(error)) throw error;
        this.#isClearing = false;
        this.#isDirty = true;
        onNoSpace(nowMs);
      },
    );
  }
}
