/**
 * The disk of one node, which outlives its processes. If a process is killed, its cached bytes
 * stay; if the power fails, only what was synced stays, and any part of the rest. The contents
 * can be damaged: bits flipped, segments, batches and keys of the store lost, an older copy put
 * back.
 */

import { type FileOperation, MemoryFileSystem } from "../../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk, type StoreAccess } from "../../../../lab/memory/memory-ordered-store.js";
import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { FileSystem, OrderedStore, RestoringMeans } from "../../../../src/storage/index.js";
import { MARK_FILE_NAME, type Mark, readMark } from "../../../../src/storage/mark/mark-file.js";
import { openValue } from "../../../../src/storage/ordered-store.js";
import { decodeSnapshotRecord } from "../../../../src/storage/snapshots/snapshot-record.js";
import { chunkKey, KEY_PREFIX, snapshotIdOf } from "../../../../src/storage/store-keys.js";
import type { Simulation } from "../../engine/simulation.js";
import { type DiskTimes, DiskWeather } from "./disk-weather.js";
import { ProcessFiles } from "./process-files.js";
import { ProcessStore } from "./process-store.js";

export type CrashKind = "kill" | "power";

/**
 * What a process is about to do when it dies: write a record that names a snapshot, or one that it was
 * sent, or any record; give a segment its name; remove a file.
 */
export type DiskMoment =
  | "snapshotNamed"
  | "installNamed"
  | "record"
  | "segmentNamed"
  | "fileRemoved";

/** How the names begin under which a store has whole snapshots. */
const MANIFEST_NAMES = hexOf(Uint8Array.of(KEY_PREFIX.snapshotManifest));
/**
 * Among bits flipped in files, the share inside what was written, rather than in the room after
 * it.
 */
const USED_SHARE = 0.8;
/**
 * The share of flipped bits in the newest segment, and the share at the end of what was written.
 */
const TAIL_SHARE = 0.4;
const TAIL_BYTES = 100;
/** Larger writes always take their time. */
const QUICK_BYTES_MAX = 4 << 10;
/** The share of flipped bits in the ordered store, if there is anything in it. */
const STORE_SHARE = 0.3;

/** What lay on a disk at some time. */
export interface DiskCopy {
  readonly files: MemoryFileSystem;
  readonly store: MemoryStoreDisk;
}

export class NodeDisk {
  readonly weather: DiskWeather;
  readonly #random: RandomStream;
  readonly #fileOptions = {
    intercept: (operation: FileOperation): Promise<void> => this.weather.onFile(operation),
    capacityBytes: (): number => this.weather.capacityBytes,
    isQuickFor: (bytes: number): boolean => bytes <= QUICK_BYTES_MAX && this.weather.isQuick,
  };
  readonly #storeOptions = {
    intercept: (access: StoreAccess): Promise<void> => this.weather.onStore(access),
  };
  #files: MemoryFileSystem;
  #store: MemoryStoreDisk;
  #onMoment: (moment: DiskMoment | undefined) => void = () => {};

  constructor(simulation: Simulation, random: RandomStream, times: DiskTimes) {
    this.#random = random;
    this.weather = new DiskWeather(simulation, random, times);
    this.#files = new MemoryFileSystem(undefined, this.#fileOptions);
    this.#store = new MemoryStoreDisk(this.#storeOptions);
  }

  filesFor(life: ProcessLife): FileSystem {
    this.weather.hasFailed = false;
    return new ProcessFiles(life, this.#files, {
      onWriteNow: () => this.weather.onWriteNow(),
      onWritten: (path) => this.#onMoment(isSegment(path) ? "record" : undefined),
      onNamed: (path) => this.#onMoment(isSegment(path) ? "segmentNamed" : undefined),
      onRemoved: () => this.#onMoment("fileRemoved"),
    });
  }

  async openStoreFor(life: ProcessLife, mustExist: boolean): Promise<OrderedStore> {
    return new ProcessStore(life, this.#store.open(mustExist));
  }

  /** `task` is called when the next such thing is about to be done. */
  atMoment(moment: DiskMoment, task: () => void): void {
    this.#onMoment = (reached) => {
      if (reached !== moment) return;
      this.#onMoment = () => {};
      task();
    };
  }

  /** A record that names a snapshot is about to be written. `isReset`: of one that it was sent. */
  onSnapshotNamed(isReset: boolean): void {
    this.#onMoment("snapshotNamed");
    if (isReset) this.#onMoment("installNamed");
  }

  /** The process on it ended. */
  crash(kind: CrashKind): void {
    const { next } = this.#random;
    this.#store.crash(next);
    const options = this.#fileOptions;
    const files = this.#files;
    this.#files = kind === "kill" ? files.inherited(options) : files.crashed(next, options);
  }

  /** The number of the last segment of its log; 0 without one. What was set aside does not count. */
  get lastSegment(): number {
    let last = 0;
    for (const path of this.#files.sizes().keys()) {
      const number = Number(/^\/data\/log\/(\d+)\.seg$/.exec(path)?.[1] ?? 0);
      last = Math.max(last, number);
    }
    return last;
  }

  /** What the mark says that is durable; `undefined` without one. */
  async durableMark(): Promise<Mark | undefined> {
    const path = `/data/${MARK_FILE_NAME}`;
    const bytes = this.#files.durable(path);
    if (bytes === undefined) return undefined;
    const found = await readMark(new MemoryFileSystem(new Map([[path, bytes]])), "/data");
    return found?.mark;
  }

  /** Whether its store has the whole of the snapshot with this checksum, durably. */
  hasSnapshot(checksum: string): boolean {
    const { values } = this.#store;
    for (const [name, sealed] of values) {
      if (!name.startsWith(MANIFEST_NAMES)) continue;
      const key = Buffer.from(name, "hex");
      const record = decodeSnapshotRecord(openValue(key, sealed));
      if (record?.state !== "complete" || record.manifest.checksum !== checksum) continue;
      const id = snapshotIdOf(key);
      const numbers = Array.from({ length: record.manifest.chunkCount }, (_, number) => number);
      if (numbers.every((number) => values.has(hexOf(chunkKey(id, number))))) return true;
    }
    return false;
  }

  /** Turns bits over. Returns what was done, for people. */
  flipBits(count: number): string[] {
    const done: string[] = [];
    for (let left = count; left > 0; left -= 1) {
      const keys = [...this.#store.values.keys()].sort();
      const isStore = keys.length > 0 && this.#random.chance(STORE_SHARE);
      const flipped = isStore ? this.#flipInStore(keys) : this.#flipInFiles();
      if (flipped !== undefined) done.push(flipped);
    }
    return done;
  }

  /** Removes one file of the log. */
  loseSegment(): string[] {
    const names = [...this.#files.sizes().keys()].filter((name) => name.endsWith(".seg")).sort();
    const lost = this.#random.pickOrNone(names);
    if (lost === undefined) return [];
    this.#files.lose(lost);
    return [lost];
  }

  /**
   * Batches of the store's journal vanish without a word: the newest ones, as when its end is cut,
   * or some in the middle, as when a bit of it turns over.
   */
  loseRecords(isTail: boolean): string[] {
    const { journalLength } = this.#store;
    if (journalLength === 0) return [];
    const count = this.#random.integer(1, Math.min(8, journalLength));
    const from = isTail ? journalLength - count : this.#random.below(journalLength - count + 1);
    this.#store.loseBatches(from, count);
    return [`${count} batches of the store from the one of number ${from} of ${journalLength} on`];
  }

  /** Single keys of the store vanish, whenever they were written. */
  loseKeys(count: number): string[] {
    const lost = this.#random.shuffled([...this.#store.values.keys()].sort()).slice(0, count);
    for (const key of lost) this.#store.loseKey(key);
    return lost.map((key) => `key ${key} of the store is gone`);
  }

  /** Needs a disk without a process. */
  wipe(): void {
    this.#files = new MemoryFileSystem(undefined, this.#fileOptions);
    this.#store.wipe();
  }

  copy(): DiskCopy {
    return { files: this.#files.copy(), store: this.#store.copy() };
  }

  /** Needs a disk without a process. */
  putBack({ files, store }: DiskCopy): void {
    this.#files = files.copy(this.#fileOptions);
    this.#store = store.copy(this.#storeOptions);
  }

  /**
   * For a command that sets the data aside; the old store is evidence, which nobody here looks at.
   */
  meansFor(life: ProcessLife, random: RandomStream) {
    return {
      fileSystem: this.filesFor(life),
      openStore: (_path: string, mustExist: boolean) => this.openStoreFor(life, mustExist),
      moveStore: async () => {
        this.#store = new MemoryStoreDisk(this.#storeOptions);
      },
      ports: {
        randomBytes: (count: number) => Uint8Array.from({ length: count }, () => random.below(256)),
      },
    };
  }

  /** For who restores a directory: the store of one that was cut short is never looked at again. */
  restoringMeansFor(life: ProcessLife, random: RandomStream): RestoringMeans {
    return {
      fileSystem: this.filesFor(life),
      openStore: (_path, mustExist) => {
        this.#store = new MemoryStoreDisk(this.#storeOptions);
        return this.openStoreFor(life, mustExist);
      },
      ports: {
        timer: (delayMs, task) => life.timer(delayMs, task),
        nowMs: () => 0,
        randomBytes: (count) => Uint8Array.from({ length: count }, () => random.below(256)),
      },
    };
  }

  #flipInStore(keys: readonly string[]): string | undefined {
    const key = this.#random.pick(keys);
    const bytes = this.#store.values.get(key)?.length ?? 0;
    const bit = this.#random.below(bytes * 8);
    this.#store.damage(key, bit);
    return `store ${key} bit ${bit}`;
  }

  #flipInFiles(): string | undefined {
    const files = this.#files.files();
    const names = [...files.keys()].filter((name) => (files.get(name)?.length ?? 0) > 0).sort();
    const segments = names.filter((name) => name.endsWith(".seg"));
    const newest = this.#random.chance(TAIL_SHARE) ? segments.at(-1) : undefined;
    const name = newest ?? this.#random.pickOrNone(names);
    const content = name === undefined ? undefined : files.get(name);
    if (name === undefined || content === undefined) return undefined;
    const used = usedBytes(content);
    const end = this.#random.chance(USED_SHARE) ? used : content.length;
    // In the newest bytes, damage is hardest to distinguish from a write cut short.
    const from = this.#random.chance(TAIL_SHARE) ? Math.max(0, used - TAIL_BYTES) : 0;
    const offset = Math.min(end, from) + this.#random.below(Math.max(1, end - from));
    this.#files.damage(name, offset, this.#random.below(8));
    return `${name} byte ${offset}`;
  }
}

function isSegment(path: string): boolean {
  return path.endsWith(".seg");
}

function hexOf(key: Uint8Array): string {
  return Buffer.from(key).toString("hex");
}

/** Without the zeros at the end. */
function usedBytes(content: Uint8Array): number {
  let end = content.length;
  while (end > 0 && content[end - 1] === 0) end -= 1;
  return end;
}
