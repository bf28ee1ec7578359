/**
 * What happened to locks lately on this node: every change that the table reported, in log order,
 * with its revision. Watches, the history and the audit read it. It waits for none of them: when it
 * outgrows its limits, the oldest changes are forgotten. A start fills it again by replaying the
 * log.
 *
 * All nodes have the same changes under the same revisions, but not equally many of them.
 */
import { assert } from "../../errors/index.js";
import type { TableChange } from "../../lockfsm/index.js";
import {
  CHANGE_TYPES,
  type ChangeType,
  type ChangeView,
  END_REASON,
  type Revision,
} from "../../protocol/index.js";
import { ChangePage, type HoldOfChange, type NotedEntry, PAGE_CHANGES } from "./change-page.js";
import { endOfEntry, isAfter } from "./revisions.js";

export interface ChangeLogLimits {
  /** Changes that are kept; up to a page more before the oldest go. */
  readonly changesMax: number;
  /** Memory for them, in bytes. Beyond it a page goes earlier, but never one of the last two. */
  readonly changeBytesMax: number;
}

export class ChangeLog {
  readonly #pagesMax: number;
  readonly #bytesMax: number;
  /** All but the last are full. */
  #pages: ChangePage[] = [new ChangePage()];
  /**
   * Position of the first change that is kept. Positions count from the start of the process.
   */
  #first = 0;
  /** The position after the last one. */
  #end = 0;
  #bytes = 0;
  #floor: Revision;
  #entry: NotedEntry = { index: 0, stamp: 0, wallMs: 0 };
  #entryEnd = 0;
  #isReplay = false;
  readonly #totals = Object.fromEntries(CHANGE_TYPES.map((type) => [type, 0])) as Record<
    ChangeType,
    number
  >;
  readonly #endsByReason: number[] = Object.keys(END_REASON).map(() => 0);

  /** `index`: the last entry whose effects a snapshot brought; 0 without one. */
  constructor({ changesMax, changeBytesMax }: ChangeLogLimits, index: number) {
    this.#pagesMax = Math.ceil(changesMax / PAGE_CHANGES);
    this.#bytesMax = changeBytesMax;
    this.#floor = endOfEntry(index);
  }

  /** All changes after this revision are kept; anything may have happened before it. */
  get floor(): Revision {
    return this.#floor;
  }

  /** The leader's wall clock at the last entry; 0 before the first one. */
  get wallMs(): number {
    return this.#entry.wallMs;
  }

  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#end;
  }

  /** Changes that are kept. */
  get count(): number {
    return this.#end - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The stamp of the entry whose changes are added now. */
  get stamp(): number {
    return this.#entry.stamp;
  }

  /** Whether the changes that are added now are repeated by a start, and count nowhere. */
  get isReplay(): boolean {
    return this.#isReplay;
  }

  /** Applied here since the node has caught up. */
  get totals(): Readonly<Record<ChangeType, number>> {
    return this.#totals;
  }

  /** Holds that ended, counted per key, by the number of their reason. */
  get endsByReason(): readonly number[] {
    return this.#endsByReason;
  }

  /** The changes added from now on come from that entry. Indexes must rise. */
  begin(index: number, stamp: number, wallMs: number, isReplay = false): void {
    this.#isReplay = isReplay;
    this.#entry = { index, stamp, wallMs };
    this.#entryEnd = this.#end;
  }

  /** Called by the table for each change, inside `apply`. */
  add(change: TableChange): void {
    let page = this.#pages[this.#pages.length - 1] as ChangePage;
    if (page.isFull) page = this.#turnPage();
    const before = page.bytes;
    page.add(this.#entry, this.#end - this.#entryEnd, change);
    this.#bytes += page.bytes - before;
    this.#end += 1;
    if (this.#isReplay) return;
    const { type, reason } = change;
    this.#totals[type] += 1;
    if (type === "ended") this.#endsByReason[reason] = (this.#endsByReason[reason] ?? 0) + 1;
  }

  /**
   * A snapshot brought the effects of everything up to `index`; the changes until then are unknown.
   */
  restart(index: number): void {
    this.#pages = [new ChangePage()];
    this.#first = this.#end;
    this.#bytes = 0;
    this.#floor = endOfEntry(index);
  }

  /** The position of the first kept change after `revision`; the end if there is none. */
  positionAfter(revision: Revision): number {
    let low = this.#first;
    let high = this.#end;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (isAfter(this.revisionAt(middle), revision)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  keyAt(position: number): string {
    return this.#pageAt(position).keyAt(this.#slotAt(position));
  }

  typeAt(position: number): ChangeType {
    return this.#pageAt(position).typeAt(this.#slotAt(position));
  }

  revisionAt(position: number): Revision {
    return this.#pageAt(position).revisionAt(this.#slotAt(position));
  }

  viewAt(position: number): ChangeView {
    return this.#pageAt(position).viewAt(this.#slotAt(position));
  }

  /** Cluster time of its entry. */
  stampAt(position: number): number {
    return this.#pageAt(position).stampAt(this.#slotAt(position));
  }

  holdAt(position: number): HoldOfChange {
    return this.#pageAt(position).holdAt(this.#slotAt(position));
  }

  /**
   * The leader's wall clock at a moment of cluster time. Exact if an entry of that moment is kept;
   * otherwise as if both clocks had run alike, although cluster time stands still without a leader.
   */
  wallMsAt(stamp: number): number {
    if (this.count === 0) return Math.max(0, this.#entry.wallMs - this.#entry.stamp + stamp);
    let low = this.#first;
    let high = this.#end - 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.stampAt(middle) >= stamp) high = middle;
      else low = middle + 1;
    }
    const page = this.#pageAt(low);
    const slot = this.#slotAt(low);
    return Math.max(0, page.wallMsAt(slot) - page.stampAt(slot) + stamp);
  }

  /** A new last page, which may be the oldest one, used again. */
  #turnPage(): ChangePage {
    let page: ChangePage | undefined;
    // The last additions are never forgotten: watches may not have been sent them yet.
    while (
      this.#pages.length > 1 &&
      (this.#pages.length > this.#pagesMax || this.#bytes > this.#bytesMax)
    ) {
      page = this.#pages.shift() as ChangePage;
      this.#floor = page.revisionAt(page.count - 1);
      this.#first += page.count;
      this.#bytes -= page.bytes;
      page.clear();
    }
    page ??= new ChangePage();
    this.#pages.push(page);
    return page;
  }

  #pageAt(position: number): ChangePage {
    assert(
      position >= this.#first && position < this.#end,
      () => `change ${position} of ${this.#first} to ${this.#end}`,
    );
    const number = Math.floor((position - this.#first) / PAGE_CHANGES);
    return this.#pages[number] as ChangePage;
  }

  #slotAt(position: number): number {
    return (position - this.#first) % PAGE_CHANGES;
  }
}
