/**
 * The ordered store on disk, over `level`. Its lock file also guards the whole data directory; the
 * operating system releases the lock with the process, however that ends.
 */
import { stat, writeFile } from "node:fs/promises";
import { Level } from "level";
import { HoldfastError } from "../errors/index.js";
import { corruption } from "./corruption.js";
import { diskFailure, errnoOf } from "./file-system.js";
import { nodeFileSystem } from "./node-file-system.js";
import {
  isOutOfSpace,
  type OrderedStore,
  openValue,
  type StoreEntry,
  type StoreOperation,
  type StoreRange,
  sealValue,
  WriteLine,
} from "./ordered-store.js";

type BinaryLevel = Level<Uint8Array, Uint8Array>;

/** The lock file, in the directory of the store. */
export const LOCK_NAME = "LOCK";
/** `level` leaves its lock file empty, like a user who makes it by hand. */
const LOCK_TEXT = "Keeps a second process out of this data directory. Never remove this file.\n";

class LevelStore implements OrderedStore {
  readonly #level: BinaryLevel;
  readonly #line = new WriteLine();
  /**
   * The disk was full during a batch: its torn traces end the journal, and nothing may be written
   * after them.
   */
  #isTorn = false;
  /** While the store is being opened again. */
  #reopening: Promise<void> | undefined;

  constructor(level: BinaryLevel) {
    this.#level = level;
  }

  write(operations: readonly StoreOperation[]): Promise<void> {
    return this.#line.run(async () => {
      if (this.#isTorn) await this.#reopen();
      try {
        await explaining(() => this.#batch(operations));
      } catch (error) {
        this.#isTorn = isOutOfSpace(error);
        throw error;
      }
    });
  }

  #batch(operations: readonly StoreOperation[]): Promise<void> {
    return this.#level.batch(
      operations.map((operation) =>
        operation.type === "put"
          ? { type: "put", key: operation.key, value: sealValue(operation.key, operation.value) }
          : { type: "del", key: operation.key },
      ),
      { sync: true },
    );
  }

  /** Opening begins a new journal, which needs room; without room this fails. */
  async #reopen(): Promise<void> {
    this.#reopening ??= explaining(async () => {
      await this.#level.close();
      await this.#level.open();
    });
    try {
      await this.#reopening;
      this.#isTorn = false;
    } finally {
      this.#reopening = undefined;
    }
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    await this.#demandOpen();
    const sealed = await explaining(() => this.#level.get(key));
    return sealed === undefined ? undefined : openValue(key, sealed);
  }

  async *iterate({ from, to, limit }: StoreRange): AsyncIterable<StoreEntry> {
    await this.#demandOpen();
    const iterator = this.#level.iterator({ gte: from, lt: to, limit: limit ?? -1 });
    try {
      for (;;) {
        const entry = await explaining(() => iterator.next());
        if (entry === undefined) return;
        const [key, sealed] = entry;
        yield { key, value: openValue(key, sealed) };
      }
    } finally {
      await iterator.close();
    }
  }

  /** A store that could not be opened again because the disk is full cannot be read either. */
  async #demandOpen(): Promise<void> {
    await this.#reopening?.catch(() => {});
    if (this.#isTorn && this.#level.status !== "open") {
      throw new HoldfastError("DISK_FULL", "no room to open the store again");
    }
  }

  async close(): Promise<void> {
    await this.#line.settled();
    await this.#level.close();
  }
}

/** A file is gone, cut short or unreadable: `level` has no code of its own for these. */
const DAMAGE = /No such file or directory|Invalid argument/;

/** Runs a call of `level` and explains its failure. */
async function explaining<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw explainedStoreError(error);
  }
}

/**
 * Separates damage, lack of room and a failed disk from the other errors of `level`. A device that
 * does not read or write says nothing about the data on it, so that is not damage.
 */
export function explainedStoreError(error: unknown): unknown {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = errnoOf(cause);
  const message = cause instanceof Error ? cause.message : "";
  const isIo = code === "LEVEL_IO_ERROR";
  if (isIo && /No space left|quota exceeded/.test(message)) {
    return new HoldfastError("DISK_FULL", `no room for the store: ${message}`, { cause: error });
  }
  if (/Input\/output error/.test(message)) return diskFailure(`EIO: store: ${message}`, error);
  // A failure of the lock file says nothing about the others.
  const isDamage = isIo && DAMAGE.test(message) && !message.includes("/LOCK:");
  if (code !== "LEVEL_CORRUPTION" && !isDamage) return error;
  return corruption({ file: "store", offset: 0, index: 0 }, message);
}

/**
 * Opens the store at `path`, an existing directory, or creates the store there unless `mustExist`
 * is set. A lock file that was made by hand kept no other process out: `outlast` then runs with the
 * lock held, and the store is opened again after it. Fails as `outlast` does, with a corruption
 * error, with `DISK_FULL`, with `EIO` if the disk fails, with `UNAVAILABLE` if the lock file was
 * removed, and otherwise with `level`'s own errors.
 */
export async function openLevelStore(
  path: string,
  mustExist = false,
  outlast?: () => Promise<void>,
): Promise<OrderedStore> {
  if (mustExist) await demandStore(path);
  const lock = `${path}/${LOCK_NAME}`;
  if ((await sizeOf(lock)) === 0) {
    if (mustExist && outlast !== undefined) {
      const level = await openLevel(path, mustExist);
      await outlast().finally(() => level.close());
    }
    // Done before opening, because closing any descriptor of the file releases the lock of this
    // process. Synced, because a loss of power could otherwise leave it empty, as if made by hand.
    await writeFile(lock, LOCK_TEXT, { mode: 0o600, flush: true });
  }
  const level = await openLevel(path, mustExist);
  await nodeFileSystem.syncDirectory(path);
  return new LevelStore(level);
}

async function openLevel(path: string, mustExist: boolean): Promise<BinaryLevel> {
  const level: BinaryLevel = new Level(path, {
    keyEncoding: "view",
    valueEncoding: "view",
    createIfMissing: !mustExist,
  });
  await explaining(() => level.open());
  return level;
}

/** 0 if the file does not exist. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return 0;
  }
}

/**
 * Without CURRENT, `level` would take the directory for an empty one and remove the tables in it.
 * Without LOCK, it would make a new lock file while a process may still hold the old one.
 */
async function demandStore(path: string): Promise<void> {
  const names = await nodeFileSystem.list(path).catch((error: unknown): string[] => {
    if (errnoOf(error) !== "ENOENT") throw error;
    return [];
  });
  const place = { file: `${path}/CURRENT`, offset: 0, index: 0 };
  if (!names.includes("CURRENT")) throw corruption(place, "the store is gone, the file is missing");
  if (names.includes(LOCK_NAME)) return;
  const message =
    `${path}/LOCK was removed, so another process may be using this directory: ` +
    "make sure that none does, then create the file again, empty";
  throw new HoldfastError("UNAVAILABLE", message);
}
