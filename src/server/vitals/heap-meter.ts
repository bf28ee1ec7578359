/**
 * How full the heap of this process is. V8 ends a process whose heap is full, and every node holds
 * the same table, so a node must refuse in time what would enlarge the table. Measured when asked,
 * and seldom, because the figures change slowly; it never wakes the loop.
 */
import { getHeapStatistics } from "node:v8";
import type { Clock, Memory, NodeLogger } from "../ports.js";

/**
 * The share of the old space that may be used. V8 gives up well before that space is full, when
 * garbage collections take most of the time, and a node that starts on a full table needs more
 * memory than one that runs with it.
 */
const SCARCE_SHARE = 0.65;
/** V8's limit includes three times 16 MiB of young space, which old objects cannot use. */
const YOUNG_BYTES = 48 << 20;
const LOOK_INTERVAL_MS = 100;

export interface HeapFigures {
  readonly used_heap_size: number;
  readonly heap_size_limit: number;
}

export class HeapMeter implements Memory {
  readonly #nowMs: Clock["nowMs"];
  readonly #logger: NodeLogger;
  readonly #figures: () => HeapFigures;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  #isScarce = false;

  constructor(
    nowMs: Clock["nowMs"],
    logger: NodeLogger,
    figures: () => HeapFigures = getHeapStatistics,
  ) {
    this.#nowMs = nowMs;
    this.#logger = logger;
    this.#figures = figures;
  }

  get isScarce(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#lookAtMs) {
      this.#lookAtMs = nowMs + LOOK_INTERVAL_MS;
      this.#look();
    }
    return this.#isScarce;
  }

  #look(): void {
    const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = this.#figures();
    const isScarce = usedBytes > SCARCE_SHARE * (limitBytes - YOUNG_BYTES);
    if (isScarce === this.#isScarce) return;
    this.#isScarce = isScarce;
    const fields = { usedBytes, limitBytes };
    if (isScarce) this.#logger("warn", "memory is scarce: new locks are refused", fields);
    else this.#logger("info", "memory is not scarce any more", fields);
  }
}
