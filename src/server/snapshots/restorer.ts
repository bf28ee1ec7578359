/**
 * Fills a new table from a snapshot in the store and replaces the present one with it: one chunk or
 * one slice of the final work per turn, so that messages are answered in the meantime. The old
 * table stays complete until the new one is; only then are entries applied again. A chunk that
 * cannot be read or decoded ends the node, because the log names this snapshot.
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
  /** Read, and added in the next turn. */
  chunk: Uint8Array | undefined;
  /** Set once every chunk has been added. */
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

  /** The snapshot that is being restored. */
  get manifest(): SnapshotManifest | undefined {
    return this.#restoration?.manifest;
  }

  /** Whether the next turn has something to do without an answer of the store. */
  get hasWork(): boolean {
    return this.#restoration?.finishing !== undefined;
  }

  get installedTotal(): number {
    return this.#installedTotal;
  }

  /** Drops a restore that is under way. */
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
    // The store reads the next chunk while this one is added.
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
        // A snapshot that a newer one has replaced may have been removed in the meantime.
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
 * Fills `table` from the snapshot that the log names, before the node serves clients. `pause` lets
 * the loop turn in between, so that the node's pages can be read. Fails with a corruption error if
 * the snapshot is damaged.
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
