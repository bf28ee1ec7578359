/**
 * The existing segments, and the last one with which the log could begin: everything that must be
 * kept can be read from there on without earlier segments. Pure bookkeeping; the writer and the
 * reader of the log feed it the same records in the same order.
 */
import type { Write, WrittenSnapshot } from "../../raft/index.js";

interface SegmentPlace {
  readonly number: number;
  /** The last entry before it; 0 after a reset, which makes that meaningless. */
  lastIndexBefore: number;
  /** Whether its contents can be replayed on `lastIndexBefore` alone. */
  canBeFirst: boolean;
}

export class SegmentList {
  /** By rising numbers; the first one can always be the first. */
  #places: SegmentPlace[] = [];
  #keepFrom = 0;

  /** A segment was begun after the entry `lastIndex`. */
  begun(number: number, lastIndex: number): void {
    this.#places.push({ number, lastIndexBefore: lastIndex, canBeFirst: true });
  }

  /** Takes note of a write in the segment that was begun last. */
  note({ truncateFrom, snapshot }: Pick<Write, "truncateFrom" | "snapshot">): void {
    if (truncateFrom !== undefined) this.truncated(truncateFrom);
    if (snapshot !== undefined) this.stands(snapshot);
  }

  /** Segments that begin after the truncated index need the segments before them. */
  truncated(from: number): void {
    for (const place of this.#places) {
      if (place.lastIndexBefore >= from) place.canBeFirst = false;
    }
  }

  stands({ isReset, keepFrom }: Pick<WrittenSnapshot, "isReset" | "keepFrom">): void {
    this.#keepFrom = keepFrom;
    if (!isReset) return;
    for (const place of this.#places) place.lastIndexBefore = 0;
  }

  /** The number of the first segment that must stay; `undefined` if there is none. */
  get firstNeeded(): number | undefined {
    return this.#places.findLast(
      ({ lastIndexBefore, canBeFirst }) => canBeFirst && lastIndexBefore < this.#keepFrom,
    )?.number;
  }

  /** Everything before the segment `number` is dropped. */
  dropBefore(number: number): void {
    this.#places = this.#places.filter((place) => place.number >= number);
  }
}
