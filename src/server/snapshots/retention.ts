/**
 * Which complete snapshots are kept: the newest, which is the one that is sent, and those that the
 * log names or is about to name. Everything else in the store is garbage, which `clear` removes.
 * Until the log's record is durable, the snapshot that the log named before is kept, because it
 * counts again after a crash.
 */
import type { SnapshotPoint, Write } from "../../raft/index.js";
import { isOutOfSpace, type SnapshotManifest, type SnapshotStore } from "../../storage/index.js";
import type { StoreCalls } from "./store-calls.js";

interface Naming {
  readonly seq: number;
  readonly snapshot: SnapshotPoint;
}

/** Whether both are the same snapshot; snapshots at different indexes may have equal contents. */
export function isSameSnapshot(a: SnapshotPoint, b: SnapshotPoint): boolean {
  return a.index === b.index && a.term === b.term && a.checksum === b.checksum;
}

export class SnapshotRetention {
  readonly #store: SnapshotStore;
  readonly #calls: StoreCalls;
  #newest: SnapshotManifest | undefined;
  #named: SnapshotPoint | undefined;
  /** Records of the log that are not durable yet, in order. */
  #naming: Naming[] = [];
  /** There may be garbage; at the start there may be some from before. */
  #isDirty = true;
  #isClearingDue = false;
  #isClearing = false;

  /** `named`: the snapshot that the log names. */
  constructor(store: SnapshotStore, calls: StoreCalls, named: SnapshotManifest | undefined) {
    this.#store = store;
    this.#calls = calls;
    this.#newest = named;
    this.#named = named;
  }

  get newest(): SnapshotManifest | undefined {
    return this.#newest;
  }

  /** The store holds no garbage, and no removal is under way. */
  get isClean(): boolean {
    return !this.#isDirty && !this.#isClearing;
  }

  get isClearing(): boolean {
    return this.#isClearing;
  }

  /** Whether garbage should be removed now, rather than when room is needed. */
  get isClearingDue(): boolean {
    return this.#isClearingDue && !this.#isClearing;
  }

  /** A complete snapshot, which is sent from now on. */
  put(manifest: SnapshotManifest): void {
    this.#newest = manifest;
  }

  onWrite({ seq, snapshot }: Write): void {
    if (snapshot !== undefined) this.#naming.push({ seq, snapshot });
  }

  /** Whether the log has been given a record that names `snapshot`. */
  isNaming(snapshot: SnapshotPoint): boolean {
    return this.#naming.some((naming) => isSameSnapshot(naming.snapshot, snapshot));
  }

  /** Whether the log durably names `snapshot`. */
  isNamed(snapshot: SnapshotPoint): boolean {
    return this.#named !== undefined && isSameSnapshot(this.#named, snapshot);
  }

  /** Whether a record that names a snapshot is not durable yet. */
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

  /** Something in the store has become garbage. */
  leaveGarbage(): void {
    this.#isDirty = true;
    this.#isClearingDue = true;
  }

  /**
   * Removes everything except what is kept and what is in `inUse`. Only a snapshot of `inUse` may
   * be written at the same time. `onNoSpace`: the removal failed because the disk is full.
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
