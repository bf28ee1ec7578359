/**
 * A snapshot store whose calls a test can delay, make fail, or change; another store does the work.
 */
import type {
  SnapshotManifest,
  SnapshotStore,
  SnapshotWriter,
} from "../../../src/storage/index.js";

export type StoreCallName =
  | "create"
  | "receive"
  | "append"
  | "read"
  | "finish"
  | "abandon"
  | "readChunk"
  | "removeExcept";

export class GatedStore implements SnapshotStore {
  /** Every call that changes or reads something, in order. */
  readonly calls: StoreCallName[] = [];
  /** Awaited before each call goes through; may throw, or never end. */
  gate: (call: StoreCallName) => Promise<void> | void = () => {};
  /** What is written instead of a chunk. */
  alter: (chunk: Uint8Array) => Uint8Array = (chunk) => chunk;
  readonly #inner: SnapshotStore;

  constructor(inner: SnapshotStore) {
    this.#inner = inner;
  }

  list(): Promise<readonly SnapshotManifest[]> {
    return this.#inner.list();
  }

  async create(point: { readonly index: number; readonly term: number }): Promise<SnapshotWriter> {
    await this.pass("create");
    return new GatedWriter(this, await this.#inner.create(point));
  }

  async receive(manifest: SnapshotManifest): Promise<SnapshotWriter> {
    await this.pass("receive");
    return new GatedWriter(this, await this.#inner.receive(manifest));
  }

  async readChunk(manifest: SnapshotManifest, number: number): Promise<Uint8Array> {
    await this.pass("readChunk");
    return this.#inner.readChunk(manifest, number);
  }

  async removeExcept(checksums: readonly string[]): Promise<void> {
    await this.pass("removeExcept");
    await this.#inner.removeExcept(checksums);
  }

  async pass(call: StoreCallName): Promise<void> {
    this.calls.push(call);
    await this.gate(call);
  }

  count(call: StoreCallName): number {
    return this.calls.filter((made) => made === call).length;
  }
}

class GatedWriter implements SnapshotWriter {
  readonly #store: GatedStore;
  readonly #inner: SnapshotWriter;

  constructor(store: GatedStore, inner: SnapshotWriter) {
    this.#store = store;
    this.#inner = inner;
  }

  get chunkCount(): number {
    return this.#inner.chunkCount;
  }

  async append(chunk: Uint8Array): Promise<void> {
    await this.#store.pass("append");
    await this.#inner.append(this.#store.alter(chunk));
  }

  async read(number: number): Promise<Uint8Array> {
    await this.#store.pass("read");
    return this.#inner.read(number);
  }

  async finish(configuration: Uint8Array): Promise<SnapshotManifest> {
    await this.#store.pass("finish");
    return this.#inner.finish(configuration);
  }

  async abandon(): Promise<void> {
    await this.#store.pass("abandon");
    await this.#inner.abandon();
  }
}
