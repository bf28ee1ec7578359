/**
 * What the tests of the log share: entries with telling contents, a log that is started and reports
 * what became durable, and the two disks it is run on.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Entry, HardState, Write } from "../../src/raft/index.js";
import {
  type DataDirectory,
  type DataDirectoryOptions,
  type FileSystem,
  type LogBoot,
  MemoryFileSystem,
  MemoryStoreDisk,
  openDataDirectory,
  type StoragePorts,
} from "../../src/storage/index.js";
import { NODE_STORAGE_PORTS } from "../../src/storage/storage-ports.js";

export const CLUSTER_ID = "00112233445566778899aabbccddeeff";
export const SEGMENT_BYTES = 4096;

export function entryOf(index: number, term: number, bytes = 8): Entry {
  const data = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 1) data[at] = (index * 31 + term * 7 + at) & 0xff;
  return { index, term, kind: index % 5 === 0 ? "noop" : "command", data };
}

/** Much faster than `toEqual` on bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

export function equalEntries(a: readonly Entry[], b: readonly Entry[]): boolean {
  return (
    a.length === b.length &&
    a.every((entry, at) => {
      const other = b[at];
      if (other === undefined) return false;
      const { index, term, kind, data } = entry;
      const isSame = index === other.index && term === other.term && kind === other.kind;
      return isSame && equalBytes(data, other.data);
    })
  );
}

export function writeOf(seq: number, entries: readonly Entry[], rest: Partial<Write> = {}): Write {
  return { seq, hardState: undefined, truncateFrom: undefined, entries, ...rest };
}

export function hardStateWrite(seq: number, hardState: HardState): Write {
  return { seq, hardState, truncateFrom: undefined, entries: [] };
}

/** A timer that never goes off by itself: `fire` runs what is armed. */
export class HandTimer {
  readonly #tasks = new Set<() => void>();

  readonly timer: StoragePorts["timer"] = (_delayMs, task) => {
    this.#tasks.add(task);
    return () => this.#tasks.delete(task);
  };

  get armed(): number {
    return this.#tasks.size;
  }

  fire(): void {
    const tasks = [...this.#tasks];
    this.#tasks.clear();
    for (const task of tasks) task();
  }
}

/** A place for one data directory, on one of the two file systems. */
export interface TestDisk {
  readonly options: DataDirectoryOptions;
  readonly path: string;
  readonly fileSystem: FileSystem | undefined;
  dispose(): Promise<void>;
}

export function memoryDisk(
  fileSystem = new MemoryFileSystem(),
  store = new MemoryStoreDisk(),
  segmentBytes = SEGMENT_BYTES,
): TestDisk & { readonly fileSystem: MemoryFileSystem } {
  const path = "/data";
  const options = {
    path,
    nodeId: 1,
    clusterId: CLUSTER_ID,
    segmentBytes,
    fileSystem,
    openStore: async () => store.open(),
  };
  return { path, options, fileSystem, dispose: async () => {} };
}

export async function realDisk(segmentBytes = SEGMENT_BYTES): Promise<TestDisk> {
  const parent = await mkdtemp(`${tmpdir()}/holdfast-log-`);
  const path = `${parent}/data`;
  const options = { path, nodeId: 1, clusterId: CLUSTER_ID, segmentBytes };
  const dispose = (): Promise<void> => rm(parent, { recursive: true });
  return { path, options, fileSystem: undefined, dispose };
}

/** An opened directory whose log is started. */
export class OpenLog {
  readonly directory: DataDirectory;
  readonly durable: number[] = [];
  readonly failures: Error[] = [];
  readonly space: (Error | undefined)[] = [];
  readonly #waiters: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  private constructor(directory: DataDirectory) {
    this.directory = directory;
    directory.log.start({
      onDurable: (seq) => {
        this.durable.push(seq);
        this.#wake();
      },
      onFailure: (error) => {
        this.failures.push(error);
        this.#wake();
      },
      onSpace: (error) => {
        this.space.push(error);
        this.#wake();
      },
    });
  }

  static async open(disk: TestDisk, ports?: Partial<StoragePorts>): Promise<OpenLog> {
    const all = { ...NODE_STORAGE_PORTS, ...ports };
    return new OpenLog(await openDataDirectory({ ...disk.options, ports: all }));
  }

  get boot(): LogBoot {
    return this.directory.log.boot;
  }

  get durableSeq(): number {
    return this.durable.at(-1) ?? this.boot.lastSeq;
  }

  append(...writes: readonly Write[]): void {
    for (const write of writes) this.directory.log.append(write);
  }

  /** Resolves once `seq` is known as durable, by the opening or by a report. */
  async untilDurable(seq: number): Promise<void> {
    await this.until(() => this.durableSeq >= seq || this.failures.length > 0);
    if (this.failures[0] !== undefined) throw this.failures[0];
  }

  /** Resolves once `isMet`, asked again at every event of the log. */
  async until(isMet: () => boolean): Promise<void> {
    if (isMet()) return;
    await new Promise<void>((resolve) => this.#waiters.push({ isMet, resolve }));
  }

  /** Appends one write and waits for it. */
  async write(write: Write): Promise<void> {
    this.append(write);
    await this.untilDurable(write.seq);
  }

  async close(): Promise<void> {
    await this.directory.close();
  }

  #wake(): void {
    for (const [at, waiter] of [...this.#waiters.entries()].reverse()) {
      if (!waiter.isMet()) continue;
      this.#waiters.splice(at, 1);
      waiter.resolve();
    }
  }
}
