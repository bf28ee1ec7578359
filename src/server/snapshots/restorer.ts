/**
 * Fills a new table from a snapshot in the store and puts it in the place of the old one: one chunk
 * or one slice of the final work per turn, so that messages are answered meanwhile. The old table
 * stays whole until the new one is; entries are applied again only behind it. A chunk that cannot
 * be read or understood ends the node: the log stands on this snapshot.
 */
import { type LockTable, TableRestore } from "../../lockfsm/index.js";
import type { SnapshotManifest, SnapshotStore } from "../../storage/index.js";
import type { SnapshotPorts } from "./ports.js";
import type { StoreCalls } from "./store-calls.js";

interface Restoration {
  readonly manifest: SnapshotManifest;
  readonly table: TableRestore;
  nextChunk: number;
  isReading: boolean;
  /** Read, and to be added in the next turn. */
  chunk: Uint8Array | undefined;
  /** Once every chunk is in. */
  finishing: Generator<void, LockTable, void> | undefined;
}

export class SnapshotRestorer {
  readonly #ports: Pick<SnapshotPorts, "store" | "table">;
  readonly #calls: StoreCalls;
  #restoration: Restoration | undefined;
  #installedTotal = 0;

  constructor(ports: Pick<SnapshotPorts, "store" | "table">, calls: StoreCalls) {
    this.#ports = ports;
    this.#calls = calls;
  }

  /** What is being restored. */
  get manifest(): SnapshotManifest | undefined {
    return this.#restoration?.manifest;
  }

  /** Whether the next turn has something to do that no call of the store will announce. */
  get hasWork(): boolean {
    return this.#restoration?.finishing !== undefined;
  }

  get installedTotal(): number {
    return this.#installedTotal;
  }

  /** One that was under way is of no use any more. */
  begin(manifest: SnapshotManifest): void {
    this.#restoration = {
      manifest,
      table: new TableRestore(),
      nextChunk: 0,
      isReading: false,
      chunk: undefined,
      finishing: undefined,
    };
  }

  /** Once a turn. Returns whether the table has just been replaced. */
  work(): boolean {
    const restoration = this.#restoration;
    if (restoration === undefined) return false;
    if (restoration.finishing !== undefined) return this.#finish(restoration.finishing);
    const { chunk, table, manifest } = restoration;
    restoration.chunk = undefined;
    // The store reads the next one while this one is taken in.
    this.#read(restoration);
    if (chunk !== undefined) table.add(chunk);
    const hasAll = restoration.nextChunk === manifest.chunkCount && !restoration.isReading;
    if (hasAll) restoration.finishing = table.finish();
    return false;
  }

  stop(): void {
    this.#restoration = undefined;
  }

  #read(restoration: Restoration): void {
    const { manifest, nextChunk } = restoration;
    if (restoration.isReading || nextChunk === manifest.chunkCount) return;
    restoration.isReading = true;
    this.#calls.run(
      this.#ports.store.readChunk(manifest, nextChunk),
      (bytes) => {
        restoration.isReading = false;
        restoration.nextChunk += 1;
        restoration.chunk = bytes;
      },
      (error) => {
        // Of one that was replaced by a newer one, it may have been removed in the meantime.
        if (restoration === this.#restoration) throw error;
      },
    );
  }

  #finish(finishing: Generator<void, LockTable, void>): boolean {
    const step = finishing.next();
    if (step.done !== true) return false;
    this.#ports.table.become(step.value);
    this.#restoration = undefined;
    this.#installedTotal += 1;
    return true;
  }
}

/**
 * Fills `table` from the snapshot that the log stands on, before the node serves anybody. `pause`
 * lets the loop turn in between, so that the node can be asked what it is doing. Fails with a
 * corruption error when the snapshot is damaged.
 */
export async function restoreAtBoot(
  store: Pick<SnapshotStore, "readChunk">,
  manifest: SnapshotManifest,
  table: Pick<LockTable, "become">,
  pause: () => Promise<void> = async () => {},
): Promise<void> {
  const restore = new TableRestore();
  for (let number = 0; number < manifest.chunkCount; number += 1) {
    restore.add(await store.readChunk(manifest, number));
    await pause();
  }
  const finishing = restore.finish();
  for (;;) {
    const step = finishing.next();
    if (step.done === true) {
      table.become(step.value);
      return;
    }
    await pause();
  }
}
