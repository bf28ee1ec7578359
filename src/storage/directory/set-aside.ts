/**
 * Sets the data of a node aside and puts a fresh directory of the same node and cluster in its
 * place. This is how a node whose disk was damaged or lost comes back: as one that waits to receive
 * everything from the others. The old data are evidence, and every file of them is kept.
 *
 * The file `recovering` is made first and removed last. While it exists, no process opens the
 * directory, and repeating the command completes it. So whatever is half made was made by this
 * code, and whatever is in the set-aside directory already is the original.
 */
import { HoldfastError } from "../../errors/index.js";
import { damageOf } from "../corruption.js";
import {
  createAtomically,
  errnoOf,
  type FileSystem,
  isDiskFailure,
  makeDirectories,
  readWhole,
  removeIfPresent,
} from "../file-system.js";
import { openLevelStore } from "../level-store.js";
import type { NodeIdentity } from "../log-store.js";
import {
  drawBirth,
  identityIn,
  MARK_FILE_NAME,
  type Mark,
  MarkFile,
  newMark,
  readMark,
} from "../mark/mark-file.js";
import { nodeFileSystem } from "../node-file-system.js";
import type { OrderedStore } from "../ordered-store.js";
import { NODE_STORAGE_PORTS, type StoragePorts } from "../storage-ports.js";
import type { OpenStore } from "./data-directory.js";
import {
  demandClusterId,
  demandNodeId,
  explained,
  LOG_NAME,
  RECOVERING_FILE_NAME,
  STORE_NAME,
  setAsideNameOf,
  setAsideNumberOf,
  stateOf,
  VERSION_FILE_NAME,
  writeVersion,
} from "./directory-layout.js";

export interface SetAsideOptions {
  /** May be empty or missing, if the disk was lost. */
  readonly path: string;
  /** Must be given if the mark cannot be read; otherwise it must equal the one in the mark. */
  readonly nodeId?: number | undefined;
  /** Likewise. */
  readonly clusterId?: string | undefined;
  /** The highest known incarnation of this node. Default 0. */
  readonly incarnationMin?: number | undefined;
  /** Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /** Default: `level`. */
  readonly openStore?: OpenStore;
  /**
   * Called before the directory of the closed store is moved, for a store whose contents are
   * elsewhere. Must be durable, and do nothing if there is a store at `to` already.
   */
  readonly moveStore?: (from: string, to: string) => Promise<void>;
  readonly ports?: Pick<StoragePorts, "randomBytes">;
}

/** The identity of the fresh directory; `movedTo`: where its old data are. */
export interface SetAside extends NodeIdentity {
  readonly movedTo: string;
}

/**
 * Resolves when the fresh directory is durable. Its birth is new, its origin is `joined`, and its
 * incarnation is above `incarnationMin` and above the old data's, if it can be read.
 *
 * Fails with `INVALID_ARGUMENT` (options, another node's directory, no readable mark and no
 * identity given, a directory with other files), `UNAVAILABLE` (used by a process, no permission, a
 * layout that this version does not know), or `DISK_FULL`. To be repeated if it was interrupted.
 */
export async function setDataAside(options: SetAsideOptions): Promise<SetAside> {
  const { nodeId, clusterId, incarnationMin = 0 } = options;
  if (nodeId !== undefined) demandNodeId(nodeId);
  if (clusterId !== undefined) demandClusterId(clusterId);
  if (!Number.isSafeInteger(incarnationMin) || incarnationMin < 0) {
    const message = `incarnationMin ${incarnationMin} is not a number of starts`;
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
  const aside = new Relocation(options);
  try {
    return await aside.run();
  } catch (error) {
    throw explained(options.path, error);
  } finally {
    await aside.unlock();
  }
}

/**
 * The identity of a directory according to its mark; `undefined` if there is none or it cannot be
 * read. Changes nothing and takes no lock. Fails as `stateOf` does for files of another version or
 * of other people, and with `UNAVAILABLE` without permission.
 */
export async function readIdentity(
  path: string,
  fileSystem: FileSystem = nodeFileSystem,
): Promise<NodeIdentity | undefined> {
  try {
    await stateOf(fileSystem, path);
    const moved = await unfinished(fileSystem, path);
    let mark = await markIn(fileSystem, path);
    if (mark === undefined && moved !== undefined) {
      mark = await markIn(fileSystem, `${path}/${moved}`);
    }
    return mark === undefined ? undefined : identityIn(mark);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw explained(path, error);
  }
}

class Relocation {
  readonly #options: SetAsideOptions;
  readonly #path: string;
  readonly #fileSystem: FileSystem;
  /** The open store, and with it the lock. */
  #store: OrderedStore | undefined;

  constructor(options: SetAsideOptions) {
    this.#options = options;
    this.#path = options.path;
    this.#fileSystem = options.fileSystem ?? nodeFileSystem;
  }

  async run(): Promise<SetAside> {
    const path = this.#path;
    const fileSystem = this.#fileSystem;
    await makeDirectories(fileSystem, path);
    await stateOf(fileSystem, path);
    await this.#lock();
    // Under the lock everything is read again.
    const state = await stateOf(fileSystem, path);
    const name = (await unfinished(fileSystem, path)) ?? (await this.#freeName());
    const movedTo = `${path}/${name}`;
    const fresh = await this.#markAfter(movedTo);
    const marker = Buffer.from(`${name}\n`, "latin1");
    await createAtomically(fileSystem, path, RECOVERING_FILE_NAME, marker);
    await makeDirectories(fileSystem, movedTo);
    await this.#moveStore(movedTo);
    const moved = [LOG_NAME, MARK_FILE_NAME];
    if (state === "altered") moved.push(VERSION_FILE_NAME);
    for (const one of moved) await this.#move(one, movedTo);
    await this.#syncBoth(movedTo);
    await this.#make(fresh);
    return { ...identityIn(fresh), movedTo };
  }

  async unlock(): Promise<void> {
    await this.#store?.close();
    this.#store = undefined;
  }

  /** No process can open a store that is damaged or unreadable, so no process has it. */
  async #lock(): Promise<void> {
    const { openStore = openLevelStore } = this.#options;
    await makeDirectories(this.#fileSystem, `${this.#path}/${STORE_NAME}`);
    try {
      this.#store = await openStore(`${this.#path}/${STORE_NAME}`, false);
    } catch (error) {
      if (damageOf(error) === undefined && !isDiskFailure(error)) throw error;
    }
  }

  async #freeName(): Promise<string> {
    const numbers = (await this.#fileSystem.list(this.#path)).map(setAsideNumberOf);
    return setAsideNameOf(1 + Math.max(0, ...numbers.map((number) => number ?? 0)));
  }

  /**
   * The mark of the fresh directory: its identity comes from the old mark, here or moved already,
   * or from the options. What the old mark knew of the peers is still true.
   */
  async #markAfter(movedTo: string): Promise<Mark> {
    const { nodeId, clusterId, incarnationMin = 0 } = this.#options;
    const mark =
      (await markIn(this.#fileSystem, this.#path)) ?? (await markIn(this.#fileSystem, movedTo));
    for (const [name, given, found] of [
      ["node id", nodeId, mark?.nodeId],
      ["cluster id", clusterId, mark?.clusterId],
    ] as const) {
      if (given === undefined && found === undefined) {
        const message = `the mark of ${this.#path} cannot be read: the ${name} must be given`;
        throw new HoldfastError("INVALID_ARGUMENT", message);
      }
      if (given !== undefined && found !== undefined && given !== found) {
        const message = `${this.#path} has the ${name} ${found}, and ${given} was given`;
        throw new HoldfastError("INVALID_ARGUMENT", message, { details: { given, found } });
      }
    }
    let incarnation = Math.max(incarnationMin, mark?.incarnation ?? 0);
    for (const name of await this.#fileSystem.list(this.#path)) {
      if (setAsideNumberOf(name) === undefined) continue;
      const older = await markIn(this.#fileSystem, `${this.#path}/${name}`);
      incarnation = Math.max(incarnation, older?.incarnation ?? 0);
    }
    const { ports = NODE_STORAGE_PORTS } = this.#options;
    const fresh = newMark({
      nodeId: mark?.nodeId ?? nodeId ?? 0,
      clusterId: mark?.clusterId ?? clusterId ?? "",
      birth: drawBirth(ports.randomBytes),
      origin: "joined",
      incarnation: incarnation + 1,
    });
    return { ...fresh, peers: mark?.peers ?? fresh.peers };
  }

  /** The lock goes with the old store; the fresh store has its own from the beginning. */
  async #moveStore(movedTo: string): Promise<void> {
    const from = `${this.#path}/${STORE_NAME}`;
    const to = `${movedTo}/${STORE_NAME}`;
    if (!(await this.#fileSystem.list(movedTo)).includes(STORE_NAME)) {
      await this.unlock();
      await this.#options.moveStore?.(from, to);
      await this.#fileSystem.rename(from, to);
      await this.#syncBoth(movedTo);
    }
    if (this.#store === undefined) {
      await makeDirectories(this.#fileSystem, from);
      this.#store = await (this.#options.openStore ?? openLevelStore)(from, false);
    }
  }

  /**
   * A file that has been moved already is the original; one that is here then was made by this
   * code.
   */
  async #move(name: string, movedTo: string): Promise<void> {
    const isHere = (await this.#fileSystem.list(this.#path)).includes(name);
    const isThere = (await this.#fileSystem.list(movedTo)).includes(name);
    if (isHere && !isThere) {
      await this.#fileSystem.rename(`${this.#path}/${name}`, `${movedTo}/${name}`);
    }
  }

  async #syncBoth(movedTo: string): Promise<void> {
    await this.#fileSystem.syncDirectory(movedTo);
    await this.#fileSystem.syncDirectory(this.#path);
  }

  async #make(mark: Mark): Promise<void> {
    const path = this.#path;
    const fileSystem = this.#fileSystem;
    await makeDirectories(fileSystem, `${path}/${LOG_NAME}`);
    await MarkFile.create(fileSystem, path, mark);
    await writeVersion(fileSystem, path);
    await removeIfPresent(fileSystem, `${path}/${RECOVERING_FILE_NAME}`);
    await fileSystem.syncDirectory(path);
  }
}

/** The name of the set-aside directory of an interrupted run. */
async function unfinished(fileSystem: FileSystem, path: string): Promise<string | undefined> {
  const content = await readIfThere(() => readWhole(fileSystem, `${path}/${RECOVERING_FILE_NAME}`));
  const name = content?.toString("latin1").trim() ?? "";
  return setAsideNumberOf(name) === undefined ? undefined : name;
}

async function markIn(fileSystem: FileSystem, directory: string): Promise<Mark | undefined> {
  return (await readIfThere(() => readMark(fileSystem, directory)))?.mark;
}

/** `undefined` if the content is missing, or unreadable because the disk is damaged. */
async function readIfThere<Content>(read: () => Promise<Content>): Promise<Content | undefined> {
  try {
    return await read();
  } catch (error) {
    if (["ENOENT", "EIO"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}
