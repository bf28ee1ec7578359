/**
 * The log in memory: `MemoryDisk` is what survives the process, `MemoryLog` the store of one
 * process on it. One write in flight; a crash keeps it or loses it whole, as the checksummed records
 * of the log on disk do.
 */
import type { Entry, Write } from "../../src/raft/index.js";
import type { LogBoot, LogEvents, LogStore } from "../../src/storage/index.js";
import type { World } from "./world.js";

export class MemoryDisk {
  readonly records: Write[] = [];

  boot(): LogBoot {
    let hardState = { term: 0, vote: 0 };
    let entries: Entry[] = [];
    let lastSeq = 0;
    for (const record of this.records) {
      if (record.hardState !== undefined) hardState = record.hardState;
      const { truncateFrom } = record;
      if (truncateFrom !== undefined) entries = entries.slice(0, truncateFrom - 1);
      entries.push(...record.entries);
      lastSeq = record.seq;
    }
    return { hardState, baseIndex: 0, baseTerm: 0, snapshot: undefined, entries, lastSeq };
  }
}

export class MemoryLog implements LogStore {
  readonly boot: LogBoot;
  readonly #world: World;
  readonly #disk: MemoryDisk;
  readonly #deliver: (task: () => void) => void;
  #events: LogEvents | undefined;
  #queued: Write[] = [];
  #inFlight: readonly Write[] = [];
  #isCrashed = false;
  /** Writes take for ever while set. */
  isHung = false;

  constructor(world: World, disk: MemoryDisk, deliver: (task: () => void) => void) {
    this.#world = world;
    this.#disk = disk;
    this.#deliver = deliver;
    this.boot = disk.boot();
  }

  get pendingBytes(): number {
    let bytes = 0;
    for (const { entries } of [...this.#inFlight, ...this.#queued]) {
      for (const { data } of entries) bytes += data.length;
    }
    return bytes;
  }

  start(events: LogEvents): void {
    this.#events = events;
  }

  append(write: Write): void {
    this.#queued.push(write);
    if (this.#inFlight.length === 0) this.#write();
  }

  syncMark(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(this.#world.options.diskMs, () => {
        this.#deliver(() => this.#world.settle(resolve));
      });
    });
  }

  async close(): Promise<void> {}

  crash(): void {
    this.#isCrashed = true;
    // Nobody learned whether the write in flight arrived: it may have.
    if (this.#world.random() < 0.5) this.#disk.records.push(...this.#inFlight);
  }

  /** Reports a failed write, as a broken disk does. */
  fail(error: Error): void {
    this.#events?.onFailure(error);
  }

  #write(): void {
    this.#inFlight = this.#queued;
    this.#queued = [];
    this.#world.after(this.#world.options.diskMs, () => {
      if (this.#isCrashed) return;
      this.#disk.records.push(...this.#inFlight);
      const seq = this.#inFlight.at(-1)?.seq ?? 0;
      this.#inFlight = [];
      this.#deliver(() => this.#events?.onDurable(seq));
      if (this.#queued.length > 0) this.#write();
    });
  }
}
