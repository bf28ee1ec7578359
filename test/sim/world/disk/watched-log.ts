/** The log as the driver sees it; reports what is handed over and what becomes durable. */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Write } from "../../../../src/raft/index.js";
import type { LogBoot, LogEvents, LogStore } from "../../../../src/storage/index.js";

export interface LogWatch {
  onAppend(write: Write): void;
  onDurable(seq: number): void;
}

export class WatchedLog implements LogStore {
  readonly #log: LogStore;
  readonly #life: ProcessLife;
  readonly #watch: LogWatch;

  constructor(log: LogStore, life: ProcessLife, watch: LogWatch) {
    this.#log = log;
    this.#life = life;
    this.#watch = watch;
  }

  get boot(): LogBoot {
    return this.#log.boot;
  }

  get pendingBytes(): number {
    return this.#log.pendingBytes;
  }

  get freeBytes(): number {
    return this.#log.freeBytes;
  }

  start(events: LogEvents): void {
    this.#log.start({
      ...events,
      onDurable: (seq) => {
        this.#watch.onDurable(seq);
        events.onDurable(seq);
      },
    });
  }

  append(write: Write, isDiskBusy?: boolean): boolean {
    if (!this.#life.isAlive) return false;
    this.#watch.onAppend(write);
    const isDurable = this.#log.append(write, isDiskBusy);
    if (isDurable) this.#watch.onDurable(write.seq);
    return isDurable;
  }

  syncMark(): Promise<void> {
    return this.#log.syncMark();
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}
