/**
 * The ordered store in memory, for tests and the simulator. A `MemoryStoreDisk` outlives the stores
 * opened on it, as a disk outlives processes; like `level`, it allows one at a time. A batch is on
 * the disk when it resolves; of an unresolved one, a crash keeps everything or nothing. `intercept`
 * is called before every operation, as with `MemoryFileSystem`.
 */
import { corruption } from "../../src/storage/corruption.js";
import {
  type OrderedStore,
  openValue,
  type StoreEntry,
  type StoreOperation,
  type StoreRange,
  sealValue,
  WriteLine,
} from "../../src/storage/ordered-store.js";
import type { CrashRandom } from "./memory-inode.js";

export interface StoreAccess {
  readonly kind: "write" | "get" | "iterate";
  /** Bytes of the values of a write. */
  readonly bytes: number;
}

export interface MemoryStoreDiskOptions {
  /** May delay an operation, let it hang, or make it fail; a failed batch may still be kept. */
  readonly intercept?: (access: StoreAccess) => Promise<void> | void;
}

/** Fails like `level` if a directory is open already. */
class LockedError extends Error {
  readonly code = "LEVEL_LOCKED";
}

/** Batches that the journal holds; damage to it loses whole batches. */
const JOURNAL_BATCHES_MAX = 64;

/** What a batch does to each key; `undefined` removes it. */
type Batch = readonly (readonly [name: string, sealed: Uint8Array | undefined])[];

export class MemoryStoreDisk {
  /** Sealed values by the key in hex, which sorts like the bytes. */
  readonly values = new Map<string, Uint8Array>();
  /** Like `values`, without the batches in the journal. */
  readonly #tables = new Map<string, Uint8Array>();
  /** The newest batches, in order. */
  readonly #journal: Batch[] = [];
  readonly #options: MemoryStoreDiskOptions;
  #owner: MemoryStore | undefined;
  /** A store was made on it. */
  #isMade = false;
  /** The batch that has not resolved; at most one. */
  #unconfirmed: readonly StoreOperation[] | undefined;

  constructor(options: MemoryStoreDiskOptions = {}) {
    this.#options = options;
  }

  /** Serves as the `OpenStore` of a data directory. */
  open(mustExist = false): OrderedStore {
    if (mustExist && !this.#isMade) {
      throw corruption({ file: "store", offset: 0, index: 0 }, "the store is gone");
    }
    this.#isMade = true;
    if (this.#owner !== undefined) throw new LockedError("the store is open already");
    this.#owner = new MemoryStore(this, this.#options.intercept, () => {
      this.#owner = undefined;
    });
    return this.#owner;
  }

  /**
   * The process died, with or without the machine: its lock is released, and nothing it still does
   * has an effect. `random` decides whether the batch under way is kept; without it, it is not.
   */
  crash(random?: CrashRandom): void {
    this.#owner?.detach();
    this.#owner = undefined;
    if (this.#unconfirmed !== undefined && random !== undefined && random() < 0.5) {
      this.confirm(this.#unconfirmed);
    }
    this.#unconfirmed = undefined;
  }

  /** A copy of its current contents on another disk: an image to be put back later. */
  copy(options: MemoryStoreDiskOptions = {}): MemoryStoreDisk {
    const copy = new MemoryStoreDisk(options);
    copy.#isMade = this.#isMade;
    for (const [name, sealed] of this.values) {
      const own = Uint8Array.from(sealed);
      copy.values.set(name, own);
      copy.#tables.set(name, own);
    }
    return copy;
  }

  /** Batches in the journal. */
  get journalLength(): number {
    return this.#journal.length;
  }

  /**
   * Damage at rest, of a kind that `level` does not report: `count` batches of the journal, from
   * number `from` on, are lost.
   */
  loseBatches(from: number, count: number): void {
    this.#journal.splice(from, count);
    this.values.clear();
    for (const [name, sealed] of this.#tables) this.values.set(name, sealed);
    for (const batch of this.#journal) apply(batch, this.values);
  }

  /** Damage at rest: one key is lost, as if it had never been written. `name`: the key in hex. */
  loseKey(name: string): void {
    if (!this.values.delete(name)) throw new Error(`no value of key ${name}`);
    this.#tables.delete(name);
    this.#journal.forEach((batch, at) => {
      this.#journal[at] = batch.filter(([key]) => key !== name);
    });
  }

  /** Nothing is left on it. */
  wipe(): void {
    this.values.clear();
    this.#tables.clear();
    this.#journal.length = 0;
    this.#isMade = false;
  }

  /** Damage at rest: flips one bit of a stored value, checksum included. `name`: the key in hex. */
  damage(name: string, bit: number): void {
    const stored = this.values.get(name);
    if (stored === undefined) throw new Error(`no value of key ${name}`);
    // In the table and in the journal.
    stored[bit >> 3] = (stored[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  }

  /** Called by the open store: a batch is on its way. */
  begin(operations: readonly StoreOperation[]): void {
    this.#unconfirmed = operations;
  }

  /** Called by the open store: the batch is on the disk. */
  confirm(operations: readonly StoreOperation[]): void {
    const batch = operations.map((operation) => {
      const { type, key } = operation;
      return [hexOf(key), type === "remove" ? undefined : sealValue(key, operation.value)] as const;
    });
    apply(batch, this.values);
    this.#journal.push(batch);
    if (this.#journal.length > JOURNAL_BATCHES_MAX)
      apply(this.#journal.shift() ?? [], this.#tables);
    this.#unconfirmed = undefined;
  }
}

function apply(batch: Batch, values: Map<string, Uint8Array>): void {
  for (const [name, sealed] of batch) {
    if (sealed === undefined) values.delete(name);
    else values.set(name, sealed);
  }
}

function hexOf(key: Uint8Array): string {
  return Buffer.from(key).toString("hex");
}

class MemoryStore implements OrderedStore {
  readonly #disk: MemoryStoreDisk;
  readonly #intercept: MemoryStoreDiskOptions["intercept"];
  readonly #onClosed: () => void;
  readonly #line = new WriteLine();
  #isOpen = true;

  constructor(
    disk: MemoryStoreDisk,
    intercept: MemoryStoreDiskOptions["intercept"],
    onClosed: () => void,
  ) {
    this.#disk = disk;
    this.#intercept = intercept;
    this.#onClosed = onClosed;
  }

  write(operations: readonly StoreOperation[]): Promise<void> {
    return this.#line.run(async () => {
      this.#demandOpen();
      let bytes = 0;
      for (const operation of operations) {
        if (operation.type === "put") bytes += operation.value.length;
      }
      this.#disk.begin(operations);
      await this.#intercept?.({ kind: "write", bytes });
      this.#demandOpen();
      this.#disk.confirm(operations);
    });
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    this.#demandOpen();
    await this.#intercept?.({ kind: "get", bytes: 0 });
    const sealed = this.#disk.values.get(hexOf(key));
    return sealed === undefined ? undefined : openValue(key, sealed);
  }

  async *iterate({ from, to, limit }: StoreRange): AsyncIterable<StoreEntry> {
    this.#demandOpen();
    await this.#intercept?.({ kind: "iterate", bytes: 0 });
    const first = hexOf(from);
    const end = hexOf(to);
    const inside = [...this.#disk.values].filter(([name]) => name >= first && name < end);
    inside.sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, sealed] of inside.slice(0, limit)) {
      const key = Uint8Array.from(Buffer.from(name, "hex"));
      yield { key, value: openValue(key, sealed) };
    }
  }

  async close(): Promise<void> {
    await this.#line.settled();
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onClosed();
  }

  detach(): void {
    this.#isOpen = false;
  }

  #demandOpen(): void {
    if (!this.#isOpen) throw new Error("the store is closed");
  }
}
