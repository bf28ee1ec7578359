/** The ordered store as one process sees it: unreachable once the process has ended. */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type {
  OrderedStore,
  StoreEntry,
  StoreOperation,
  StoreRange,
} from "../../../../src/storage/ordered-store.js";

export class ProcessStore implements OrderedStore {
  readonly #life: ProcessLife;
  readonly #store: OrderedStore;

  constructor(life: ProcessLife, store: OrderedStore) {
    this.#life = life;
    this.#store = store;
  }

  write(operations: readonly StoreOperation[]): Promise<void> {
    return this.#life.through(() => this.#store.write(operations));
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#life.through(() => this.#store.get(key));
  }

  async *iterate(range: StoreRange): AsyncIterable<StoreEntry> {
    // A view of one moment is read at once; only its time passes before.
    const entries = await this.#life.through(async () => {
      const found: StoreEntry[] = [];
      for await (const entry of this.#store.iterate(range)) found.push(entry);
      return found;
    });
    yield* entries;
  }

  close(): Promise<void> {
    return this.#life.through(() => this.#store.close());
  }
}
