/**
 * A snapshot that is being written into the store, one call at a time. It can be abandoned at any
 * moment: what was written is removed as soon as the call under way has ended. It never repeats a
 * call that failed.
 */
import { assert, HoldfastError } from "../../errors/index.js";
import { isOutOfSpace, type SnapshotManifest, type SnapshotWriter } from "../../storage/index.js";
import type { StoreCalls } from "./store-calls.js";

/** The outcome of a draft. Called in a turn. After `abandon` only `onGone` is called. */
export interface DraftEvents {
  /** The snapshot is complete and durable. */
  onComplete(manifest: SnapshotManifest, nowMs: number): void;
  /** The call under way failed; the draft can only be abandoned. */
  onFailure(error: unknown, nowMs: number): void;
  /** It was abandoned, and no call of it is under way any more. */
  onGone(): void;
}

/** Whether the received data does not match its manifest: the sender's fault, not the store's. */
export function isMismatch(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return false;
  if (error.code === "INVALID_ARGUMENT") return true;
  return error.code === "INTERNAL" && error.details["corrupt"] !== true;
}

export class SnapshotDraft {
  readonly #calls: StoreCalls;
  readonly #events: DraftEvents;
  #writer: SnapshotWriter | undefined;
  /** A call is under way. */
  #isBusy = true;
  #hasFailed = false;
  #isAbandoned = false;

  constructor(calls: StoreCalls, opening: Promise<SnapshotWriter>, events: DraftEvents) {
    this.#calls = calls;
    this.#events = events;
    calls.run(
      opening,
      (writer) => {
        this.#writer = writer;
        this.#onFree();
      },
      this.#onFailure,
    );
  }

  /** Whether `append` or `finish` may be called. */
  get isWritable(): boolean {
    return this.#writer !== undefined && !this.#isBusy && !this.#hasFailed && !this.#isAbandoned;
  }

  /** Chunks that are durable; 0 while it is being opened. */
  get chunkCount(): number {
    return this.#writer?.chunkCount ?? 0;
  }

  append(chunk: Uint8Array): void {
    const writer = this.#begin();
    this.#calls.run(writer.append(chunk), this.#onFree, this.#onFailure);
  }

  /** Hands over a chunk that is durable, unless the draft is abandoned in the meantime. */
  read(number: number, onRead: (chunk: Uint8Array) => void): void {
    const writer = this.#begin();
    this.#calls.run(
      writer.read(number),
      (chunk) => {
        this.#onFree();
        if (!this.#isAbandoned) onRead(chunk);
      },
      this.#onFailure,
    );
  }

  finish(configuration: Uint8Array): void {
    const writer = this.#begin();
    const onFinished = (manifest: SnapshotManifest, nowMs: number): void => {
      // Abandoned meanwhile: garbage, like every complete snapshot that the log does not name.
      if (this.#isAbandoned) this.#events.onGone();
      else this.#events.onComplete(manifest, nowMs);
    };
    this.#calls.run(writer.finish(configuration), onFinished, this.#onFailure);
  }

  abandon(): void {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    if (!this.#isBusy) this.#remove();
  }

  #begin(): SnapshotWriter {
    const writer = this.#writer;
    assert(this.isWritable && writer !== undefined, () => "this draft cannot be written to");
    this.#isBusy = true;
    return writer;
  }

  readonly #onFree = (): void => {
    this.#isBusy = false;
    if (this.#isAbandoned) this.#remove();
  };

  readonly #onFailure = (error: unknown, nowMs: number): void => {
    this.#isBusy = false;
    this.#hasFailed = true;
    if (!this.#isAbandoned) {
      this.#events.onFailure(error, nowMs);
      return;
    }
    if (!isOutOfSpace(error) && !isMismatch(error)) throw error;
    this.#remove();
  };

  #remove(): void {
    const writer = this.#writer;
    if (writer === undefined) {
      this.#events.onGone();
      return;
    }
    this.#isBusy = true;
    const onGone = (): void => this.#events.onGone();
    this.#calls.run(writer.abandon(), onGone, (error) => {
      // The next clearing of the store removes what could not be removed now.
      if (!isOutOfSpace(error)) throw error;
      onGone();
    });
  }
}
