/**
 * Checks each write before it is written: whether a later opening of the log will accept it after
 * everything that was handed over before, durable or not. It never looks at the disk and never
 * corrects its input; other input is a bug of the caller.
 */
import { assert } from "../../errors/index.js";
import type { Write, WrittenSnapshot } from "../../raft/index.js";
import type { LogBoot } from "../log-store.js";
import type { LogOutline } from "./log-outline.js";

export class WriteCheck {
  readonly #outline: LogOutline;
  #lastSeq: number;
  #lastHardTerm: number;
  #lastSnapshotIndex: number;

  /** `outline` is the outline of `boot`; it follows what is handed over. */
  constructor(boot: LogBoot, outline: LogOutline) {
    this.#outline = outline;
    this.#lastSeq = boot.lastSeq;
    this.#lastHardTerm = boot.hardState.term;
    this.#lastSnapshotIndex = boot.snapshot?.index ?? 0;
  }

  /** Anything that a later opening of the log would refuse must never be written. */
  take(write: Write): void {
    const { seq, truncateFrom, snapshot, entries, hardState } = write;
    assert(seq > this.#lastSeq, () => `sequence ${seq} after ${this.#lastSeq}`);
    const hasMore = hardState !== undefined || truncateFrom !== undefined || snapshot !== undefined;
    assert(hasMore || entries.length > 0, () => `write ${seq} is empty`);
    this.#lastSeq = seq;
    if (hardState !== undefined) {
      const { term } = hardState;
      assert(term >= this.#lastHardTerm, () => `term ${term} after ${this.#lastHardTerm}`);
      this.#lastHardTerm = term;
    }
    const outline = this.#outline;
    if (truncateFrom !== undefined) {
      const isInside = outline.canTruncateFrom(truncateFrom);
      assert(isInside, () => `truncation from ${truncateFrom} of a log to ${outline.lastIndex}`);
      outline.truncateFrom(truncateFrom);
    }
    if (snapshot !== undefined) this.#takeSnapshot(snapshot);
    for (const { index, term } of entries) {
      assert(
        outline.canAppend(index, term),
        () => `entry ${index}/${term} after ${outline.lastIndex}/${outline.lastTerm}`,
      );
      outline.append(index, term);
    }
  }

  #takeSnapshot({ index, term, checksum, isReset, keepFrom }: WrittenSnapshot): void {
    const last = this.#lastSnapshotIndex;
    assert(index >= Math.max(1, last), () => `a snapshot at ${index} after one at ${last}`);
    assert(/^[0-9a-f]{64}$/.test(checksum), () => `checksum "${checksum}" is not 64 hex digits`);
    const isWithin = isReset ? keepFrom === index + 1 : keepFrom <= index + 1;
    assert(isWithin, () => `a snapshot of ${index} that keeps from ${keepFrom}`);
    if (isReset) {
      this.#outline.reset(index, term);
    } else {
      const found = this.#outline.termOf(index);
      assert(found === term, () => `a snapshot of ${index}/${term}, the log has term ${found}`);
      this.#outline.trimBefore(keepFrom);
    }
    this.#lastSnapshotIndex = index;
  }
}
