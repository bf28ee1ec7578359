/**
 * The file system as one process sees it: unreachable once the process has ended, slow while it
 * stands still.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { File, FileSystem, OpenMode } from "../../../../src/storage/file-system.js";

export class ProcessFiles implements FileSystem {
  readonly #life: ProcessLife;
  readonly #files: FileSystem;
  readonly #onWriteNow: () => void;

  /** `onWriteNow` is called before each write that is done at once, and may throw. */
  constructor(life: ProcessLife, files: FileSystem, onWriteNow: () => void) {
    this.#life = life;
    this.#files = files;
    this.#onWriteNow = onWriteNow;
  }

  open(path: string, mode: OpenMode): Promise<File> {
    return this.#life.through(async () => {
      const file = await this.#files.open(path, mode);
      return new ProcessFile(this.#life, file, this.#onWriteNow);
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#life.through(() => this.#files.rename(from, to));
  }

  unlink(path: string): Promise<void> {
    return this.#life.through(() => this.#files.unlink(path));
  }

  list(path: string): Promise<string[]> {
    return this.#life.through(() => this.#files.list(path));
  }

  makeDirectory(path: string): Promise<void> {
    return this.#life.through(() => this.#files.makeDirectory(path));
  }

  removeDirectory(path: string): Promise<void> {
    return this.#life.through(() => this.#files.removeDirectory(path));
  }

  syncDirectory(path: string): Promise<void> {
    return this.#life.through(() => this.#files.syncDirectory(path));
  }
}

class ProcessFile implements File {
  readonly #life: ProcessLife;
  readonly #file: File;
  readonly #onWriteNow: () => void;

  constructor(life: ProcessLife, file: File, onWriteNow: () => void) {
    this.#life = life;
    this.#file = file;
    this.#onWriteNow = onWriteNow;
  }

  write(chunks: readonly Uint8Array[], position: number): Promise<void> {
    return this.#life.through(() => this.#file.write(chunks, position));
  }

  isQuickFor(bytes: number): boolean {
    return this.#life.isAlive && this.#file.isQuickFor(bytes);
  }

  writeNow(chunks: readonly Uint8Array[], position: number): void {
    const isAlive = this.#life.mayAct();
    try {
      if (!isAlive) throw new Error("the process ended in the middle of a write");
      this.#onWriteNow();
    } catch (error) {
      // The write began, and is over for a later process only.
      this.#file.write(chunks, position).catch(() => {});
      throw error;
    }
    this.#file.writeNow(chunks, position);
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return this.#life.through(() => this.#file.read(target, position));
  }

  size(): Promise<number> {
    return this.#life.through(() => this.#file.size());
  }

  close(): Promise<void> {
    return this.#life.through(() => this.#file.close());
  }
}
