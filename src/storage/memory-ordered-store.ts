/**
 * The ordered store in memory, for tests and the simulator. A `MemoryStoreDisk` outlives the stores
 * opened on it, as a disk outlives processes; like `level`, it lets in one at a time.
 */
import {
  type OrderedStore,
  openValue,
  type StoreEntry,
  type StoreOperation,
  type StoreRange,
  sealValue,
  WriteLine,
} from "./ordered-store.js";

/** Fails as `level` does when a directory is open already. */
class LockedError extends Error {
  readonly code = "LEVEL_LOCKED";
}

export class MemoryStoreDisk {
  /** Sealed values by the key in hex, which sorts as the bytes do. */
  readonly values = new Map<string, Uint8Array>();
  #owner: MemoryStore | undefined;

  open(): OrderedStore {
    if (this.#owner !== undefined) throw new LockedError("the store is open already");
    this.#owner = new MemoryStore(this, () => {
      this.#owner = undefined;
    });
    return this.#owner;
  }

  /** The process died: its lock is gone, what it wrote durably stays. */
  crash(): void {
    this.#owner?.detach();
    this.#owner = undefined;
  }
}

function hexOf(key: Uint8Array): string {
  return Buffer.from(key).toString("hex");
}

class MemoryStore implements OrderedStore {
  readonly #disk: MemoryStoreDisk;
  readonly #onClosed: () => void;
  readonly #line = new WriteLine();
  #isOpen = true;

  constructor(disk: MemoryStoreDisk, onClosed: () => void) {
    this.#disk = disk;
    this.#onClosed = onClosed;
  }

  write(operations: readonly StoreOperation[]): Promise<void> {
    return this.#line.run(async () => {
      this.#demandOpen();
      for (const operation of operations) {
        const name = hexOf(operation.key);
        if (operation.type === "remove") this.#disk.values.delete(name);
        else this.#disk.values.set(name, sealValue(operation.key, operation.value));
      }
    });
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    this.#demandOpen();
    const sealed = this.#disk.values.get(hexOf(key));
    return sealed === undefined ? undefined : openValue(key, sealed);
  }

  async *iterate({ from, to, limit }: StoreRange): AsyncIterable<StoreEntry> {
    this.#demandOpen();
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
