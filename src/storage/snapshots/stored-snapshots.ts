/**
 * The port of snapshots over the ordered store: lists, receives and removes snapshots. Chunks are
 * opaque here, and the log decides which snapshot counts.
 */
import { HoldfastError } from "../../errors/index.js";
import type { SnapshotPoint } from "../../raft/index.js";
import { damageOf } from "../corruption.js";
import type { OrderedStore } from "../ordered-store.js";
import { missing, SnapshotCatalog, type StoredSnapshot } from "./catalog.js";
import { isChecksum } from "./snapshot-record.js";
import type { SnapshotManifest, SnapshotStore, SnapshotWriter } from "./snapshot-store.js";
import { StoredSnapshotWriter } from "./stored-snapshot-writer.js";

/** Fields of a snapshot whose contents are not known yet. */
const NOTHING = {
  checksum: "0".repeat(64),
  chunkCount: 0,
  byteLength: 0,
  configuration: new Uint8Array(0),
};

export function openSnapshotStore(store: OrderedStore): StoredSnapshots {
  return new StoredSnapshots(store);
}

export class StoredSnapshots implements SnapshotStore {
  readonly #catalog: SnapshotCatalog;

  constructor(store: OrderedStore) {
    this.#catalog = new SnapshotCatalog(store);
  }

  async list(): Promise<readonly SnapshotManifest[]> {
    await this.#catalog.load();
    const complete = this.#catalog.all().filter(({ isComplete }) => isComplete);
    return complete.map(({ record }) => record.manifest).sort((a, b) => a.index - b.index);
  }

  async create({ index, term }: Pick<SnapshotPoint, "index" | "term">): Promise<SnapshotWriter> {
    await this.#catalog.load();
    const snapshot = this.#catalog.begin("own", { ...NOTHING, index, term });
    return this.#writerOf(snapshot, undefined);
  }

  async receive(manifest: SnapshotManifest): Promise<SnapshotWriter> {
    const { checksum } = manifest;
    if (!isChecksum(checksum)) {
      throw new HoldfastError(
        "INVALID_ARGUMENT",
        `"${checksum}" is not the checksum of a snapshot`,
      );
    }
    await this.#catalog.load();
    let snapshot = this.#catalog.find(checksum);
    if (snapshot !== undefined && !isSame(snapshot.record.manifest, manifest)) {
      // The checksum covers all of it, so one manifest is wrong; the chunks will show which.
      if (!snapshot.isComplete) await this.#catalog.remove(snapshot);
      snapshot = undefined;
    }
    snapshot ??= this.#catalog.begin("received", manifest);
    const former = snapshot.writer;
    const writer = this.#writerOf(snapshot, manifest);
    await former?.supersede();
    try {
      await writer.resume();
      return writer;
    } catch (error) {
      if (damageOf(error) === undefined || snapshot.isComplete) throw error;
      // No one relies on a part of a snapshot: it is received again from its beginning.
      await writer.abandon();
      return this.receive(manifest);
    }
  }

  async readChunk(manifest: SnapshotManifest, number: number): Promise<Uint8Array> {
    await this.#catalog.load();
    const snapshot = this.#catalog.find(manifest.checksum);
    if (snapshot?.isComplete !== true) throw missing(manifest, "it does not exist");
    return this.#catalog.readChunk(snapshot, number);
  }

  async removeExcept(checksums: readonly string[]): Promise<void> {
    await this.#catalog.load();
    for (const snapshot of this.#catalog.all()) {
      const { state, manifest } = snapshot.record;
      // A snapshot that is being written has no checksum yet; its writer decides about it.
      const isBeingWritten = state === "own" && snapshot.writer !== undefined;
      const isNamed = state !== "removed" && checksums.includes(manifest.checksum);
      if (!isBeingWritten && !isNamed) await this.#catalog.remove(snapshot);
    }
  }

  /** Fails with a corruption error unless the snapshot that the log names exists. Reads only. */
  async demand(named: SnapshotPoint): Promise<void> {
    await this.#catalog.load();
    const snapshot = this.#catalog.find(named.checksum);
    const { index, term } = snapshot?.record.manifest ?? NOTHING_AT_ALL;
    if (snapshot?.isComplete === true && index === named.index && term === named.term) return;
    throw missing(named, "the log names it, but it does not exist");
  }

  /**
   * At opening: makes the snapshot that the log names the only one that exists. The newest one
   * after it stays as a draft, so that its transfer can continue.
   */
  async settle(named: SnapshotPoint | undefined): Promise<void> {
    await this.#catalog.load();
    const newest = this.#newestBeyond(named?.index ?? 0);
    if (newest?.isComplete === true) await this.#catalog.demote(newest);
    const kept = [named?.checksum, newest?.record.manifest.checksum];
    await this.removeExcept(kept.filter((checksum) => checksum !== undefined));
  }

  #newestBeyond(index: number): StoredSnapshot | undefined {
    return this.#catalog
      .all()
      .filter(({ record: { state, manifest } }) => {
        const isUsable = state === "complete" || state === "received";
        return isUsable && manifest.index > index;
      })
      .sort((a, b) => b.record.manifest.index - a.record.manifest.index)[0];
  }

  #writerOf(snapshot: StoredSnapshot, offered: SnapshotManifest | undefined): StoredSnapshotWriter {
    const writer = new StoredSnapshotWriter(this.#catalog, snapshot, offered);
    snapshot.writer = writer;
    return writer;
  }
}

const NOTHING_AT_ALL = { index: 0, term: 0 };

function isSame(a: SnapshotManifest, b: SnapshotManifest): boolean {
  return (
    a.index === b.index &&
    a.term === b.term &&
    a.chunkCount === b.chunkCount &&
    a.byteLength === b.byteLength &&
    Buffer.compare(a.configuration, b.configuration) === 0
  );
}
