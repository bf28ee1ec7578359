/**
 * A file system in memory that keeps durable and cached state apart, as a disk with a page cache
 * does. A write is visible at once and durable only when it resolves; a name is durable only after
 * its directory was synced. A crash keeps any subset of what was not durable: whole writes, the
 * first bytes of one, or some of its sectors; any of the changed names.
 *
 * `intercept` stands in front of every operation: it may delay it, let it hang, or make it fail, in
 * which case the operation took effect in the cache and perhaps on the disk. No wall clock, no
 * random source of its own: a run is repeatable.
 */
import type { File, FileSystem, OpenMode } from "./file-system.js";
import { SECTOR_BYTES } from "./record-format.js";

/** Returns a number in [0, 1). */
export type CrashRandom = () => number;

export interface FileOperation {
  readonly kind: "open" | "write" | "rename" | "unlink" | "syncDirectory" | "makeDirectory";
  readonly path: string;
  /** Of a write: how many, and where. */
  readonly bytes: number;
  readonly position: number;
}

export interface MemoryFileSystemOptions {
  readonly intercept?: (operation: FileOperation) => Promise<void> | void;
  /** All files together; a write beyond it fails with `ENOSPC`. Default: no limit. */
  readonly capacityBytes?: () => number;
}

interface PendingWrite {
  readonly position: number;
  readonly bytes: Uint8Array;
  isDurable: boolean;
}

class Inode {
  /** Its present name. */
  path: string;
  cached: Uint8Array;
  durable: Uint8Array;
  /** Writes not yet folded into `durable`, oldest first. */
  readonly pending: PendingWrite[] = [];

  constructor(path: string, content: Uint8Array) {
    this.path = path;
    this.cached = content.slice();
    this.durable = content.slice();
  }

  write(chunks: readonly Uint8Array[], position: number): PendingWrite {
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.cached = patched(this.cached, bytes, position);
    const write = { position, bytes, isDurable: false };
    this.pending.push(write);
    return write;
  }

  fold(): void {
    while (this.pending[0]?.isDurable === true) {
      const write = this.pending.shift();
      if (write !== undefined) this.durable = patched(this.durable, write.bytes, write.position);
    }
  }

  /** What a crash may leave on the disk. */
  crashed(random: CrashRandom): Uint8Array {
    let content: Uint8Array = this.durable.slice();
    for (const { position, bytes, isDurable } of this.pending) {
      if (isDurable) content = patched(content, bytes, position);
      else content = torn(content, bytes, position, random);
    }
    return content;
  }
}

function patched(content: Uint8Array, bytes: Uint8Array, position: number): Uint8Array {
  let target = content;
  if (position + bytes.length > content.length) {
    target = new Uint8Array(position + bytes.length);
    target.set(content);
  }
  target.set(bytes, position);
  return target;
}

function torn(
  content: Uint8Array,
  bytes: Uint8Array,
  position: number,
  random: CrashRandom,
): Uint8Array {
  const choice = random();
  if (choice < 0.2) return content;
  if (choice < 0.4) return patched(content, bytes, position);
  if (choice < 0.7) {
    return patched(content, bytes.subarray(0, Math.floor(random() * bytes.length)), position);
  }
  let target = content;
  let at = 0;
  while (at < bytes.length) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    if (random() < 0.5) target = patched(target, bytes.subarray(at, end), position + at);
    at = end;
  }
  return target;
}

type Node = Inode | "directory";

/** A change of names: what each path means afterwards. */
interface NameChange {
  readonly directory: string;
  readonly names: readonly (readonly [path: string, node: Node | undefined])[];
  isDurable: boolean;
}

function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function change(names: Map<string, Node>, { names: changed }: NameChange): void {
  for (const [path, node] of changed) {
    if (node === undefined) names.delete(path);
    else names.set(path, node);
  }
}

export class MemoryFileSystem implements FileSystem {
  readonly #options: MemoryFileSystemOptions;
  readonly #names = new Map<string, Node>();
  readonly #durableNames = new Map<string, Node>();
  readonly #pendingNames: NameChange[] = [];

  /** Begins with `files` (and the directories they lie in), all durable. */
  constructor(files?: ReadonlyMap<string, Uint8Array>, options: MemoryFileSystemOptions = {}) {
    this.#options = options;
    for (const names of [this.#names, this.#durableNames]) names.set("", "directory");
    for (const [path, content] of files ?? []) {
      this.#addDirectories(parentOf(path));
      const inode = new Inode(path, content);
      this.#names.set(path, inode);
      this.#durableNames.set(path, inode);
    }
  }

  /** All files as a reader sees them now; copies. */
  files(): Map<string, Uint8Array> {
    const files = new Map<string, Uint8Array>();
    for (const [path, node] of this.#names) {
      if (node !== "directory") files.set(path, node.cached.slice());
    }
    return files;
  }

  /**
   * The disk after a crash of the machine at this moment. This file system lives on as the one the
   * dead process saw; nothing it still does reaches the new one.
   */
  crashed(random: CrashRandom, options: MemoryFileSystemOptions = {}): MemoryFileSystem {
    const names = new Map(this.#durableNames);
    for (const pending of this.#pendingNames) {
      if (pending.isDurable || random() < 0.5) change(names, pending);
    }
    const image = new MemoryFileSystem(undefined, options);
    // Shorter paths first, so that a directory is known before what lies in it.
    for (const [path, node] of [...names].sort(([a], [b]) => a.length - b.length)) {
      if (path === "" || image.#names.get(parentOf(path)) !== "directory") continue;
      const copy = node === "directory" ? node : new Inode(path, node.crashed(random));
      image.#names.set(path, copy);
      image.#durableNames.set(path, copy);
    }
    return image;
  }

  async open(path: string, mode: OpenMode): Promise<File> {
    let node = this.#names.get(path);
    if (mode === "create") {
      if (node !== undefined) throw errno("EEXIST", path);
      this.#demandDirectory(parentOf(path), "ENOENT");
      node = new Inode(path, new Uint8Array(0));
      this.#change(parentOf(path), [[path, node]]);
    }
    if (node === undefined) throw errno("ENOENT", path);
    if (node === "directory") throw errno("EISDIR", path);
    await this.#intercept("open", path);
    return new MemoryFile(node, (inode, chunks, position) => this.#write(inode, chunks, position));
  }

  async rename(from: string, to: string): Promise<void> {
    const node = this.#names.get(from);
    if (node === undefined) throw errno("ENOENT", from);
    if (node === "directory") throw errno("EISDIR", from);
    node.path = to;
    this.#change(parentOf(to), [
      [from, undefined],
      [to, node],
    ]);
    await this.#intercept("rename", to);
  }

  async unlink(path: string): Promise<void> {
    if (!this.#names.has(path)) throw errno("ENOENT", path);
    this.#change(parentOf(path), [[path, undefined]]);
    await this.#intercept("unlink", path);
  }

  async list(path: string): Promise<string[]> {
    this.#demandDirectory(path, "ENOTDIR");
    const names: string[] = [];
    for (const name of this.#names.keys()) {
      if (name !== "" && parentOf(name) === path) names.push(name.slice(path.length + 1));
    }
    return names;
  }

  async makeDirectory(path: string): Promise<void> {
    if (this.#names.has(path)) throw errno("EEXIST", path);
    this.#demandDirectory(parentOf(path), "ENOTDIR");
    this.#change(parentOf(path), [[path, "directory"]]);
    await this.#intercept("makeDirectory", path);
  }

  async syncDirectory(path: string): Promise<void> {
    // The root has two names.
    const directory = path === "/" ? "" : path;
    this.#demandDirectory(directory, "ENOTDIR");
    const changes = this.#pendingNames.filter((pending) => pending.directory === directory);
    await this.#intercept("syncDirectory", path);
    for (const pending of changes) pending.isDurable = true;
    while (this.#pendingNames[0]?.isDurable === true) {
      const first = this.#pendingNames.shift();
      if (first !== undefined) change(this.#durableNames, first);
    }
  }

  async #write(inode: Inode, chunks: readonly Uint8Array[], position: number): Promise<void> {
    const { path } = inode;
    let bytes = 0;
    for (const chunk of chunks) bytes += chunk.length;
    this.#demandSpace(path, position + bytes - inode.cached.length);
    const write = inode.write(chunks, position);
    await this.#options.intercept?.({ kind: "write", path, bytes, position });
    write.isDurable = true;
    inode.fold();
  }

  #demandSpace(path: string, growthBytes: number): void {
    const capacityBytes = this.#options.capacityBytes?.();
    if (capacityBytes === undefined || growthBytes <= 0) return;
    let used = growthBytes;
    for (const node of this.#names.values()) if (node !== "directory") used += node.cached.length;
    if (used > capacityBytes) throw errno("ENOSPC", path);
  }

  #demandDirectory(path: string, codeOfFile: string): void {
    const node = this.#names.get(path);
    if (node === undefined) throw errno("ENOENT", path);
    if (node !== "directory") throw errno(codeOfFile, path);
  }

  #addDirectories(path: string): void {
    if (this.#names.has(path)) return;
    this.#addDirectories(parentOf(path));
    this.#names.set(path, "directory");
    this.#durableNames.set(path, "directory");
  }

  #change(directory: string, names: NameChange["names"]): void {
    const pending = { directory, names, isDurable: false };
    change(this.#names, pending);
    this.#pendingNames.push(pending);
  }

  async #intercept(kind: FileOperation["kind"], path: string): Promise<void> {
    await this.#options.intercept?.({ kind, path, bytes: 0, position: 0 });
  }
}

type WriteThrough = (
  inode: Inode,
  chunks: readonly Uint8Array[],
  position: number,
) => Promise<void>;

class MemoryFile implements File {
  readonly #inode: Inode;
  readonly #write: WriteThrough;

  constructor(inode: Inode, write: WriteThrough) {
    this.#inode = inode;
    this.#write = write;
  }

  write(chunks: readonly Uint8Array[], position: number): Promise<void> {
    return this.#write(this.#inode, chunks, position);
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    const part = this.#inode.cached.subarray(position, position + target.length);
    target.set(part);
    return part.length;
  }

  async size(): Promise<number> {
    return this.#inode.cached.length;
  }

  async close(): Promise<void> {}
}
