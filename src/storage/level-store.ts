/**
 * The ordered store on disk, over `level`. Its lock file also guards the whole data directory: the
 * operating system drops it with the process, however that ends.
 */
import { Level } from "level";
import { nodeFileSystem } from "./node-file-system.js";
import {
  type OrderedStore,
  openValue,
  type StoreEntry,
  type StoreOperation,
  type StoreRange,
  sealValue,
  WriteLine,
} from "./ordered-store.js";

type BinaryLevel = Level<Uint8Array, Uint8Array>;

class LevelStore implements OrderedStore {
  readonly #level: BinaryLevel;
  readonly #line = new WriteLine();

  constructor(level: BinaryLevel) {
    this.#level = level;
  }

  write(operations: readonly StoreOperation[]): Promise<void> {
    return this.#line.run(() =>
      this.#level.batch(
        operations.map((operation) =>
          operation.type === "put"
            ? { type: "put", key: operation.key, value: sealValue(operation.key, operation.value) }
            : { type: "del", key: operation.key },
        ),
        { sync: true },
      ),
    );
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const sealed = await this.#level.get(key);
    return sealed === undefined ? undefined : openValue(key, sealed);
  }

  async *iterate({ from, to, limit }: StoreRange): AsyncIterable<StoreEntry> {
    const iterator = this.#level.iterator({ gte: from, lt: to, limit: limit ?? -1 });
    for await (const [key, sealed] of iterator) yield { key, value: openValue(key, sealed) };
  }

  async close(): Promise<void> {
    await this.#line.settled();
    await this.#level.close();
  }
}

/** Opens the store at `path`, an existing directory. Fails with `level`'s own errors. */
export async function openLevelStore(path: string): Promise<OrderedStore> {
  const level: BinaryLevel = new Level(path, { keyEncoding: "view", valueEncoding: "view" });
  await level.open();
  await nodeFileSystem.syncDirectory(path);
  return new LevelStore(level);
}
