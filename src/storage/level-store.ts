/**
 * The ordered store on disk, over `level`. Its lock file also guards the whole data directory: the
 * operating system drops it with the process, however that ends.
 */
import { stat, writeFile } from "node:fs/promises";
import { Level } from "level";
import { HoldfastError } from "../errors.js";
import { corruption } from "./corruption.js";
import { diskFailure, errnoOf } from "./file-system.js";
import { nodeFileSystem } from "./node-file-system.js";
import {
  isForWantOfRoom,
  type OrderedStore,
  openValue,
  type StoreEntry,
  type StoreOperation,
  type StoreRange,
  sealValue,
  WriteLine,
} from "./ordered-store.js";

type BinaryLevel = Level<Uint8Array, Uint8Array>;

/** The file of the lock, in the directory of the store. */
export const LOCK_NAME = "LOCK";
/** `level` leaves the file of its lock empty, and so does somebody who makes it by hand. */
const LOCK_TEXT = "Keeps a second process out of this data directory. Never remove this file.\n";

class LevelStore implements OrderedStore {
  readonly #level: BinaryLevel;
  readonly #line = new WriteLine();
  /** A batch met a full disk: its torn traces end the journal, behind which nothing may be written. */
  #isTorn = false;
  /** While the store is opened anew. */
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
        this.#isTorn = isForWantOfRoom(error);
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

  /** Opening begins a new journal, which needs room: as long as there is none, this fails. */
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

/** A file it needs is gone, cut short or cannot be read: `level` has no code of its own for these. */
const DAMAGE = /No such file or directory|Invalid argument/;

/** Runs a call of `level`, and explains what it fails with. */
async function explaining<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw explainedStoreError(error);
  }
}

/**
 * Tells damage, lack of room and a disk that failed from the other errors of `level`. A device that
 * does not read or write says nothing of what lies on it, so that is no damage.
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
  // Of the lock's own file nothing follows for the others.
  const isDamage = isIo && DAMAGE.test(message) && !message.includes("/LOCK:");
  if (code !== "LEVEL_CORRUPTION" && !isDamage) return error;
  return corruption({ file: "store", offset: 0, index: 0 }, message);
}

/**
 * Opens the store at `path`, an existing directory unless the store must exist. When the file of the
 * lock was made by hand, the lock kept nobody out: `outlast` is run with the lock held, and the store
 * opened anew after it. Fails as `outlast` does, with a corruption error, with `DISK_FULL`, with `EIO`
 * when the disk fails, with `UNAVAILABLE` where the lock's file was removed, and otherwise with
 * `level`'s own errors.
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
    // Before it is opened: closing any descriptor of the file drops the lock of this process.
    // Synced: left empty by a loss of power, it would look as if it had been made by hand.
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

/** 0 for a file that is not there. */
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
 * Without LOCK, it would make a new one, beside the process that may still hold the one before.
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
    `${path}/LOCK was removed, so another process may use these data unseen: ` +
    "make sure that none does, then create the file again, empty";
  throw new HoldfastError("UNAVAILABLE", message);
}
