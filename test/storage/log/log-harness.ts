/**
 * What the tests of the log share: entries with telling contents, a log that is started and reports
 * what became durable, and the two disks it is run on.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Entry, HardState, SnapshotPoint, Write } from "../../../src/raft/index.js";
import {
  type DataDirectory,
  type DataDirectoryOptions,
  type FileSystem,
  type LogBoot,
  openDataDirectory,
  type StoragePorts,
} from "../../../src/storage/index.js";
import { segmentNumberOf } from "../../../src/storage/log/segment.js";
import { nodeFileSystem } from "../../../src/storage/node-file-system.js";
import { SnapshotDigest } from "../../../src/storage/snapshots/digest.js";
import { NODE_STORAGE_PORTS } from "../../../src/storage/storage-ports.js";

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
  const nothing = { hardState: undefined, truncateFrom: undefined, snapshot: undefined };
  return { seq, ...nothing, entries, ...rest };
}

export function hardStateWrite(seq: number, hardState: HardState): Write {
  return writeOf(seq, [], { hardState });
}

type Place = Pick<SnapshotPoint, "index" | "term">;

/** The snapshot of this entry, as `storeSnapshot` stores it: one without any chunk. */
export function snapshotAt({ index, term }: Place): SnapshotPoint {
  const { checksum } = new SnapshotDigest().manifestOf({ index, term }, new Uint8Array(0));
  return { index, term, checksum };
}

/** Makes it exist, so that a log that stands on it can be opened again. */
export async function storeSnapshot(log: OpenLog, { index, term }: Place): Promise<void> {
  const writer = await log.directory.snapshots.create({ index, term });
  await writer.finish(new Uint8Array(0));
}

/** The log stands on it from now on; entries before `keepFrom` may go. */
export function standsOn(place: Place, keepFrom = place.index + 1): Pick<Write, "snapshot"> {
  return { snapshot: { ...snapshotAt(place), isReset: false, keepFrom } };
}

/** The log has nothing but what comes after it. */
export function resetTo(place: Place): Pick<Write, "snapshot"> {
  return { snapshot: { ...snapshotAt(place), isReset: true, keepFrom: place.index + 1 } };
}

/** The error with which a call is refused; that it is refused, in one line, is part of what is tested. */
export async function refusalOf(call: Promise<unknown>): Promise<HoldfastError> {
  const error = await call.then(
    () => new Error("it was not refused"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof HoldfastError)) throw error;
  expect(error.message).not.toContain("\n");
  return error;
}

/** A timer whose time passes only by hand. */
export class HandTimer {
  readonly #due = new Map<() => void, number>();
  #nowMs = 0;

  readonly timer: StoragePorts["timer"] = (delayMs, task) => {
    const run = (): void => task();
    this.#due.set(run, this.#nowMs + delayMs);
    return () => this.#due.delete(run);
  };

  /** Runs what is armed now, whenever it is due. */
  fire(): void {
    const tasks = [...this.#due.keys()];
    this.#due.clear();
    for (const task of tasks) task();
  }

  /** Runs what becomes due meanwhile, in order. */
  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const [next] = [...this.#due].sort(([, a], [, b]) => a - b);
      if (next === undefined || next[1] > untilMs) break;
      this.#nowMs = next[1];
      this.#due.delete(next[0]);
      next[0]();
    }
    this.#nowMs = untilMs;
  }
}

/** A place for one data directory, on one of the two file systems. */
export interface TestDisk {
  readonly options: DataDirectoryOptions;
  readonly path: string;
  readonly fileSystem: FileSystem;
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

export async function realDisk(
  fileSystem = nodeFileSystem,
  segmentBytes = SEGMENT_BYTES,
): Promise<TestDisk> {
  const parent = await mkdtemp(`${tmpdir()}/holdfast-log-`);
  const path = `${parent}/data`;
  const options = { path, nodeId: 1, clusterId: CLUSTER_ID, segmentBytes, fileSystem };
  const dispose = (): Promise<void> => rm(parent, { recursive: true });
  return { path, options, fileSystem, dispose };
}

/** An opened directory whose log is started. */
export class OpenLog {
  readonly directory: DataDirectory;
  readonly durable: number[] = [];
  readonly failures: Error[] = [];
  readonly space: (Error | undefined)[] = [];
  readonly #waiters: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  readonly #options: DataDirectoryOptions;

  private constructor(directory: DataDirectory, options: DataDirectoryOptions) {
    this.directory = directory;
    this.#options = options;
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
    const directory = await openDataDirectory({ ...disk.options, ports: all });
    return new OpenLog(directory, disk.options);
  }

  get boot(): LogBoot {
    return this.directory.log.boot;
  }

  get durableSeq(): number {
    return this.durable.at(-1) ?? this.boot.lastSeq;
  }

  append(...writes: readonly Write[]): void {
    for (const write of writes) {
      if (!this.directory.log.append(write)) continue;
      this.durable.push(write.seq);
      this.#wake();
    }
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

  /** The numbers of the segments that are there, once they are few enough. */
  async segmentsOnce(isMet: (numbers: readonly number[]) => boolean): Promise<number[]> {
    const { path, fileSystem = nodeFileSystem } = this.#options;
    for (;;) {
      const names = await fileSystem.list(`${path}/log`);
      const numbers = names.map(segmentNumberOf).filter((number) => number !== undefined);
      numbers.sort((a, b) => a - b);
      if (isMet(numbers)) return numbers;
      if (this.failures[0] !== undefined) throw this.failures[0];
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #wake(): void {
    for (const [at, waiter] of [...this.#waiters.entries()].reverse()) {
      if (!waiter.isMet()) continue;
      this.#waiters.splice(at, 1);
      waiter.resolve();
    }
  }
}
