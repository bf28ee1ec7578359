/**
 * The file system as one process sees it: unreachable once the process has ended, slow while it
 * stands still.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { File, FileSystem, OpenMode } from "../../../../src/storage/file-system.js";

/** What is about to be done. Only `onWriteNow` may throw. */
export interface FileEvents {
  /** A write that is done at once. */
  onWriteNow(): void;
  /** Any write, with the path that the file had when it was opened. */
  onWritten(path: string): void;
  /** A file is to have that path. */
  onNamed(path: string): void;
  onRemoved(path: string): void;
}

export class ProcessFiles implements FileSystem {
  readonly #life: ProcessLife;
  readonly #files: FileSystem;
  readonly #events: FileEvents;

  constructor(life: ProcessLife, files: FileSystem, events: FileEvents) {
    this.#life = life;
    this.#files = files;
    this.#events = events;
  }

  open(path: string, mode: OpenMode): Promise<File> {
    if (mode === "create") this.#events.onNamed(path);
    return this.#life.through(async () => {
      const file = await this.#files.open(path, mode);
      return new ProcessFile(this.#life, path, file, this.#events);
    });
  }

  rename(from: string, to: string): Promise<void> {
    this.#events.onNamed(to);
    return this.#life.through(() => this.#files.rename(from, to));
  }

  unlink(path: string): Promise<void> {
    this.#events.onRemoved(path);
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
  readonly #path: string;
  readonly #file: File;
  readonly #events: FileEvents;

  constructor(life: ProcessLife, path: string, file: File, events: FileEvents) {
    this.#life = life;
    this.#path = path;
    this.#file = file;
    this.#events = events;
  }

  write(chunks: readonly Uint8Array[], position: number): Promise<void> {
    this.#events.onWritten(this.#path);
    return this.#life.through(() => this.#file.write(chunks, position));
  }

  isQuickFor(bytes: number): boolean {
    return this.#life.isAlive && this.#file.isQuickFor(bytes);
  }

  writeNow(chunks: readonly Uint8Array[], position: number): void {
    this.#events.onWritten(this.#path);
    const isAlive = this.#life.mayAct();
    try {
      if (!isAlive) throw new Error("the process ended in the middle of a write");
      this.#events.onWriteNow();
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
