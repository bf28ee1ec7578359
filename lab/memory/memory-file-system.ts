/**
 * A file system in memory that keeps durable and cached state apart, like a disk with a page cache.
 * A write is visible at once, and durable only when it resolves or `writeNow` returns; a name is
 * durable only after its directory was synced. A crash keeps any subset of what was not durable:
 * whole writes, the first bytes of one, or some of its sectors; any of the changed names.
 *
 * `intercept` is called before every operation except `writeNow`: it may delay it, let it hang, or
 * make it fail; a change has then taken effect in the cache and perhaps on the disk. There is no
 * wall clock and no random source here, so a run can be repeated.
 */
import type { File, FileSystem, OpenMode } from "../../src/storage/file-system.js";
import { type CrashRandom, MemoryInode, type PendingWrite } from "./memory-inode.js";

export interface FileOperation {
  readonly kind:
    | "open"
    | "read"
    | "write"
    | "rename"
    | "unlink"
    | "list"
    | "syncDirectory"
    | "makeDirectory"
    | "removeDirectory";
  /** The new path of a rename. */
  readonly path: string;
  /** The bytes of a read or write. */
  readonly bytes: number;
  readonly position: number;
}

export interface MemoryFileSystemOptions {
  readonly intercept?: (operation: FileOperation) => Promise<void> | void;
  /** Room for all files together; a write beyond it fails with `ENOSPC`. Default: no limit. */
  readonly capacityBytes?: () => number;
  /** Whether a write of this many bytes may be synchronous, without `intercept`. Default: none. */
  readonly isQuickFor?: (bytes: number) => boolean;
}

type Node = MemoryInode | "directory";

/** A change of names: the node of each path after it. */
interface NameChange {
  readonly names: readonly (readonly [path: string, node: Node | undefined])[];
  /** The directories that must be synced before it is durable. */
  readonly unsynced: Set<string>;
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
  #names = new Map<string, Node>();
  #durableNames = new Map<string, Node>();
  #pendingNames: NameChange[] = [];

  /** Begins with `files` and their directories, all of them durable. */
  constructor(files?: ReadonlyMap<string, Uint8Array>, options: MemoryFileSystemOptions = {}) {
    this.#options = options;
    for (const names of [this.#names, this.#durableNames]) names.set("", "directory");
    for (const [path, content] of files ?? []) {
      this.#addDirectories(parentOf(path));
      this.#add(path, new MemoryInode(path, content));
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

  /** The bytes of every file as a reader sees it now. */
  sizes(): Map<string, number> {
    const sizes = new Map<string, number>();
    for (const [path, node] of this.#names) {
      if (node !== "directory") sizes.set(path, node.cached.length);
    }
    return sizes;
  }

  /** The durable bytes of a file whose name is durable; `undefined` if there is none. */
  durable(path: string): Uint8Array | undefined {
    let node = this.#durableNames.get(path);
    // As in a crash that keeps nothing else: a change before a synced one need not be synced.
    for (const { names, unsynced } of this.#pendingNames) {
      if (unsynced.size > 0) continue;
      for (const [changed, now] of names) if (changed === path) node = now;
    }
    return node === undefined || node === "directory" ? undefined : node.durable;
  }

  /**
   * The disk after a crash of the machine at this moment. This object remains the disk as the dead
   * process saw it; nothing that process still does reaches the new one.
   */
  crashed(random: CrashRandom, options: MemoryFileSystemOptions = {}): MemoryFileSystem {
    const names = new Map(this.#durableNames);
    for (const pending of this.#pendingNames) {
      if (pending.unsynced.size === 0 || random() < 0.5) change(names, pending);
    }
    return MemoryFileSystem.#of(names, (_path, node) => node.crashed(random), options);
  }

  /**
   * The disk as the next process finds it if only this one died: everything is visible, and what
   * was not durable still is not. As with `crashed`, nothing that the dead process does reaches it.
   */
  inherited(options: MemoryFileSystemOptions = {}): MemoryFileSystem {
    const heir = new MemoryFileSystem(undefined, options);
    const copies = new Map<Node, Node>();
    const copyOf = (node: Node): Node => {
      const copy = copies.get(node) ?? (node === "directory" ? node : node.copy());
      copies.set(node, copy);
      return copy;
    };
    const copiesOf = (names: Iterable<readonly [string, Node]>): Map<string, Node> =>
      new Map([...names].map(([path, node]) => [path, copyOf(node)]));
    heir.#names = copiesOf(this.#names);
    heir.#durableNames = copiesOf(this.#durableNames);
    heir.#pendingNames = this.#pendingNames.map(({ names, unsynced }) => ({
      names: names.map(([path, node]) => [path, node && copyOf(node)] as const),
      unsynced: new Set(unsynced),
    }));
    return heir;
  }

  /** A copy of what a reader sees now, all of it durable: an image to be put back later. */
  copy(options: MemoryFileSystemOptions = {}): MemoryFileSystem {
    return MemoryFileSystem.#of(this.#names, (_path, node) => node.cached, options);
  }

  /** Damage at rest: flips bit `bit` (0 … 7) of the byte at `offset`. */
  damage(path: string, offset: number, bit: number): void {
    const node = this.#names.get(path);
    if (node === undefined || node === "directory") throw errno("ENOENT", path);
    node.damage(offset, bit);
  }

  /** The file disappears, for readers and from the disk. */
  lose(path: string): void {
    this.#names.delete(path);
    this.#pendingNames.push({ names: [[path, undefined]], unsynced: new Set() });
    this.#foldNames();
  }

  async open(path: string, mode: OpenMode): Promise<File> {
    let node = this.#names.get(path);
    if (mode === "create") {
      if (node !== undefined) throw errno("EEXIST", path);
      this.#demandDirectory(parentOf(path), "ENOENT");
      node = new MemoryInode(path, new Uint8Array(0));
      this.#change([parentOf(path)], [[path, node]]);
    }
    if (node === undefined) throw errno("ENOENT", path);
    if (node === "directory") throw errno("EISDIR", path);
    await this.#intercept("open", path);
    return this.#fileOf(node);
  }

  async rename(from: string, to: string): Promise<void> {
    const node = this.#names.get(from);
    if (node === undefined) throw errno("ENOENT", from);
    this.#demandDirectory(parentOf(to), "ENOTDIR");
    const directories = [parentOf(from), parentOf(to)];
    if (node === "directory") {
      this.#demandReplaceable(to);
      this.#moveUnsynced(from, to);
      const moved = [...this.#names].filter(([path]) => path === from || isBelow(path, from));
      const names = moved.flatMap(([path, inner]): NameChange["names"] => {
        const target = to + path.slice(from.length);
        if (inner !== "directory") inner.path = target;
        return [
          [path, undefined],
          [target, inner],
        ];
      });
      this.#change(directories, names);
    } else {
      if (this.#names.get(to) === "directory") throw errno("EISDIR", to);
      node.path = to;
      this.#change(directories, [
        [from, undefined],
        [to, node],
      ]);
    }
    await this.#intercept("rename", to);
  }

  async unlink(path: string): Promise<void> {
    if (!this.#names.has(path)) throw errno("ENOENT", path);
    if (this.#names.get(path) === "directory") throw errno("EISDIR", path);
    this.#change([parentOf(path)], [[path, undefined]]);
    await this.#intercept("unlink", path);
  }

  async list(path: string): Promise<string[]> {
    this.#demandDirectory(path, "ENOTDIR");
    await this.#intercept("list", path);
    const names: string[] = [];
    for (const name of this.#names.keys()) {
      if (name !== "" && parentOf(name) === path) names.push(name.slice(path.length + 1));
    }
    return names;
  }

  async makeDirectory(path: string): Promise<void> {
    if (path === "/" || this.#names.has(path)) throw errno("EEXIST", path);
    this.#demandDirectory(parentOf(path), "ENOTDIR");
    this.#change([parentOf(path)], [[path, "directory"]]);
    await this.#intercept("makeDirectory", path);
  }

  async removeDirectory(path: string): Promise<void> {
    this.#demandDirectory(path, "ENOTDIR");
    this.#demandReplaceable(path);
    this.#change([parentOf(path)], [[path, undefined]]);
    await this.#intercept("removeDirectory", path);
  }

  async syncDirectory(path: string): Promise<void> {
    // The root has two names.
    const directory = path === "/" ? "" : path;
    this.#demandDirectory(directory, "ENOTDIR");
    const changes = this.#pendingNames.filter(({ unsynced }) => unsynced.has(directory));
    await this.#intercept("syncDirectory", path);
    for (const { unsynced } of changes) unsynced.delete(directory);
    this.#foldNames();
  }

  /** A file system with these names and contents, all durable. */
  static #of(
    names: ReadonlyMap<string, Node>,
    contentOf: (path: string, node: MemoryInode) => Uint8Array,
    options: MemoryFileSystemOptions,
  ): MemoryFileSystem {
    const image = new MemoryFileSystem(undefined, options);
    // Shorter paths first, so that a directory exists before its contents.
    for (const [path, node] of [...names].sort(([a], [b]) => a.length - b.length)) {
      if (path === "" || image.#names.get(parentOf(path)) !== "directory") continue;
      image.#add(path, node === "directory" ? node : new MemoryInode(path, contentOf(path, node)));
    }
    return image;
  }

  #fileOf(inode: MemoryInode): File {
    return {
      write: (chunks, position) => this.#write(inode, chunks, position),
      isQuickFor: (bytes) => this.#options.isQuickFor?.(bytes) ?? false,
      writeNow: (chunks, position) => inode.confirm(this.#begin(inode, chunks, position).write),
      read: async (target, position) => {
        await this.#intercept("read", inode.path, target.length, position);
        const part = inode.cached.subarray(position, position + target.length);
        target.set(part);
        return part.length;
      },
      size: async () => inode.cached.length,
      close: async () => {},
    };
  }

  async #write(inode: MemoryInode, chunks: readonly Uint8Array[], position: number): Promise<void> {
    const { write, bytes } = this.#begin(inode, chunks, position);
    await this.#intercept("write", inode.path, bytes, position);
    inode.confirm(write);
  }

  /** A write that is visible to readers at once. */
  #begin(
    inode: MemoryInode,
    chunks: readonly Uint8Array[],
    position: number,
  ): { readonly write: PendingWrite; readonly bytes: number } {
    let bytes = 0;
    for (const chunk of chunks) bytes += chunk.length;
    this.#demandSpace(inode.path, position + bytes - inode.cached.length);
    return { write: inode.write(chunks, position), bytes };
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

  /** A directory replaces only an empty directory. */
  #demandReplaceable(path: string): void {
    const node = this.#names.get(path);
    if (node !== undefined && node !== "directory") throw errno("ENOTDIR", path);
    for (const name of this.#names.keys()) if (isBelow(name, path)) throw errno("ENOTEMPTY", path);
  }

  #add(path: string, node: Node): void {
    this.#names.set(path, node);
    this.#durableNames.set(path, node);
  }

  #addDirectories(path: string): void {
    if (this.#names.has(path)) return;
    this.#addDirectories(parentOf(path));
    this.#add(path, "directory");
  }

  #change(directories: readonly string[], names: NameChange["names"]): void {
    const pending = { names, unsynced: new Set(directories) };
    change(this.#names, pending);
    this.#pendingNames.push(pending);
  }

  /** A moved directory is synced under its new name from now on. */
  #moveUnsynced(from: string, to: string): void {
    for (const { unsynced } of this.#pendingNames) {
      for (const directory of [...unsynced]) {
        if (directory !== from && !isBelow(directory, from)) continue;
        unsynced.delete(directory);
        unsynced.add(to + directory.slice(from.length));
      }
    }
  }

  #foldNames(): void {
    while (this.#pendingNames[0]?.unsynced.size === 0) {
      const first = this.#pendingNames.shift();
      if (first !== undefined) change(this.#durableNames, first);
    }
  }

  async #intercept(
    kind: FileOperation["kind"],
    path: string,
    bytes = 0,
    position = 0,
  ): Promise<void> {
    await this.#options.intercept?.({ kind, path, bytes, position });
  }
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
