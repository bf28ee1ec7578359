/**
 * Fills the next segment with zeros while the current one is written, in bounded chunks and in step
 * with the log, so that neither the disk nor the log gets a burst. Because the zeros are on the
 * disk, a full disk is noticed half a segment before a record needs the room.
 *
 * Lack of room is reported and tried again later with an empty file; any other failure is final.
 */
import { assert } from "../../errors/index.js";
import { type File, type FileSystem, isNoSpace, removeIfPresent } from "../file-system.js";
import type { Timer } from "../storage-ports.js";
import type { PreparedFile } from "./segment.js";

/**
 * A write of zeros: small while the log is slow, larger if the preparation lags. Linux makes one
 * folio of the page cache from each write, and syncing a record costs more in a larger folio: 49
 * instead of 41 µs of CPU with 1 MiB.
 */
const CHUNK_BYTES_MIN = 64 << 10;
const CHUNK_BYTES_MAX = 256 << 10;
const RETRY_MS = 1_000;
const ZEROS = new Uint8Array(CHUNK_BYTES_MAX);
const NEXT_NAME = "next.tmp";
const OVERSIZED_NAME = "oversized.tmp";

export interface PreparerEvents {
  /** There is no room for the next segment; `undefined` once there is again. */
  onSpace(error: Error | undefined): void;
  onFailure(error: Error): void;
}

async function createZeroed(
  fileSystem: FileSystem,
  path: string,
  capacityBytes: number,
): Promise<PreparedFile> {
  await removeIfPresent(fileSystem, path);
  const file = await fileSystem.open(path, "create");
  try {
    for (let at = 0; at < capacityBytes; at += CHUNK_BYTES_MAX) {
      await file.write([ZEROS.subarray(0, capacityBytes - at)], at);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  return { path, file, capacityBytes };
}

/** Removes what an earlier process prepared and did not use. */
export async function removePrepared(fileSystem: FileSystem, directory: string): Promise<void> {
  for (const name of [NEXT_NAME, OVERSIZED_NAME]) {
    await removeIfPresent(fileSystem, `${directory}/${name}`);
  }
}

export class SegmentPreparer {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;
  readonly #segmentBytes: number;
  readonly #timer: Timer;
  #events: PreparerEvents | undefined;
  #file: File | undefined;
  #preparedBytes = 0;
  /** How far the file should be filled now. */
  #targetBytes = 0;
  /** The chunk under way; settles without failing. */
  #filling: Promise<void> | undefined;
  #disarmRetry: (() => void) | undefined;
  #lacksSpace = false;
  #isClosed = false;

  constructor(fileSystem: FileSystem, directory: string, segmentBytes: number, timer: Timer) {
    this.#fileSystem = fileSystem;
    this.#directory = directory;
    this.#segmentBytes = segmentBytes;
    this.#timer = timer;
  }

  start(events: PreparerEvents): void {
    this.#events = events;
  }

  /** The log grew: `usedBytes` of the current segment are used. */
  follow(usedBytes: number): void {
    // Twice as fast as the log, so that filling ends at half of the segment.
    this.#targetBytes = Math.min(this.#segmentBytes, 2 * usedBytes);
    if (this.#filling === undefined && !this.#lacksSpace) this.#fillInBackground();
  }

  /** The file of the next segment, filled to its end; a separate file if it must be larger. */
  async take(capacityBytesMin: number): Promise<PreparedFile> {
    if (capacityBytesMin > this.#segmentBytes) {
      const path = `${this.#directory}/${OVERSIZED_NAME}`;
      return createZeroed(this.#fileSystem, path, capacityBytesMin);
    }
    this.#targetBytes = this.#segmentBytes;
    while (this.#filling !== undefined) await this.#filling;
    this.#disarmRetry?.();
    while (this.#preparedBytes < this.#segmentBytes) await this.#fillChunk();
    const file = this.#file;
    assert(file !== undefined, () => "a prepared segment without a file");
    this.#forget();
    this.#reportSpace(undefined);
    return { path: this.#path, file, capacityBytes: this.#segmentBytes };
  }

  /** Waits for the chunk under way; the next opening removes what is prepared. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#disarmRetry?.();
    await this.#filling;
    await this.#file?.close();
    this.#forget();
  }

  get #path(): string {
    return `${this.#directory}/${NEXT_NAME}`;
  }

  #forget(): void {
    this.#file = undefined;
    this.#preparedBytes = 0;
    this.#targetBytes = 0;
  }

  #fillInBackground(): void {
    if (this.#isClosed || this.#preparedBytes >= this.#targetBytes) return;
    this.#filling = this.#fillChunk()
      .then(
        () => {
          // The first chunk of a new try may only fit into what the failed file gave back.
          if (this.#preparedBytes >= this.#targetBytes) this.#reportSpace(undefined);
          return true;
        },
        async (error: Error) => {
          await this.#failed(error);
          return false;
        },
      )
      .catch((error: Error) => {
        this.#events?.onFailure(error);
        return false;
      })
      .then((goesOn) => {
        this.#filling = undefined;
        if (goesOn) this.#fillInBackground();
      });
  }

  async #fillChunk(): Promise<void> {
    if (this.#file === undefined) {
      await removeIfPresent(this.#fileSystem, this.#path);
      this.#file = await this.#fileSystem.open(this.#path, "create");
      this.#preparedBytes = 0;
    }
    const lagBytes = Math.max(this.#targetBytes - this.#preparedBytes, CHUNK_BYTES_MIN);
    const bytes = Math.min(lagBytes, CHUNK_BYTES_MAX, this.#segmentBytes - this.#preparedBytes);
    await this.#file.write([ZEROS.subarray(0, bytes)], this.#preparedBytes);
    this.#preparedBytes += bytes;
  }

  async #failed(error: Error): Promise<void> {
    if (!isNoSpace(error)) {
      this.#events?.onFailure(error);
      this.#isClosed = true;
      return;
    }
    // A file with a failed write is not trusted: the next try begins with a new one.
    const file = this.#file;
    this.#file = undefined;
    this.#preparedBytes = 0;
    this.#reportSpace(error);
    await file?.close();
    if (this.#isClosed) return;
    this.#disarmRetry = this.#timer(RETRY_MS, () => {
      if (this.#filling === undefined) this.#fillInBackground();
    });
  }

  #reportSpace(error: Error | undefined): void {
    if (this.#lacksSpace === (error !== undefined)) return;
    this.#lacksSpace = error !== undefined;
    this.#events?.onSpace(error);
  }
}
