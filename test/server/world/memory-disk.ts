/**
 * The log in memory: `MemoryDisk` is what survives the process, `MemoryLog` the store of one
 * process on it. One write in flight; a crash keeps it or loses it whole, as the checksummed records
 * of the log on disk do.
 */
import type { ProcessLife } from "../../../lab/simulated/process-life.js";
import type { Write } from "../../../src/raft/index.js";
import type { LogBoot, LogEvents, LogStore } from "../../../src/storage/index.js";
import { LogImage } from "../../raft/cluster/log-image.js";
import type { WorldTime } from "./world-time.js";

export class MemoryDisk {
  readonly records: Write[] = [];

  boot(): LogBoot {
    const image = new LogImage();
    for (const record of this.records) image.apply(record);
    return image;
  }
}

export class MemoryLog implements LogStore {
  readonly boot: LogBoot;
  readonly #world: WorldTime;
  readonly #disk: MemoryDisk;
  readonly #life: ProcessLife;
  #events: LogEvents | undefined;
  #queued: Write[] = [];
  #inFlight: readonly Write[] = [];
  #isCrashed = false;

  constructor(world: WorldTime, disk: MemoryDisk, life: ProcessLife) {
    this.#world = world;
    this.#disk = disk;
    this.#life = life;
    this.boot = disk.boot();
  }

  get pendingBytes(): number {
    let bytes = 0;
    for (const { entries } of [...this.#inFlight, ...this.#queued]) {
      for (const { data } of entries) bytes += data.length;
    }
    return bytes;
  }

  /** What a write that begins from now on takes; `undefined`: as the world says. */
  writeMs: number | undefined;

  /** As long as nobody says that there is no room, there is. */
  freeBytes = Number.POSITIVE_INFINITY;

  start(events: LogEvents): void {
    this.#events = events;
  }

  append(write: Write, isDiskBusy = false): boolean {
    if (this.#world.options.diskMs === 0 && !isDiskBusy && this.#inFlight.length === 0) {
      this.#disk.records.push(write);
      return true;
    }
    this.#queued.push(write);
    if (this.#inFlight.length === 0) this.#write();
    return false;
  }

  syncMark(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(this.#world.options.diskMs, () => {
        this.#life.deliver(() => this.#world.settle(resolve));
      });
    });
  }

  async close(): Promise<void> {}

  crash(): void {
    this.#isCrashed = true;
    // Nobody learned whether the write in flight arrived: it may have.
    if (this.#world.random() < 0.5) this.#disk.records.push(...this.#inFlight);
  }

  /** Reports that there is no room for more than what was prepared, or that there is again. */
  lackSpace(isLacking: boolean): void {
    this.#events?.onSpace?.(isLacking ? new Error("no space left on device") : undefined);
  }

  /** Reports a failed write, as a broken disk does. */
  fail(error: Error): void {
    this.#events?.onFailure(error);
  }

  #write(): void {
    this.#inFlight = this.#queued;
    this.#queued = [];
    this.#world.after(this.writeMs ?? this.#world.options.diskMs, () => {
      if (this.#isCrashed) return;
      this.#disk.records.push(...this.#inFlight);
      const seq = this.#inFlight.at(-1)?.seq ?? 0;
      this.#inFlight = [];
      this.#life.deliver(() => this.#events?.onDurable(seq));
      if (this.#queued.length > 0) this.#write();
    });
  }
}
