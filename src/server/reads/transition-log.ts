/**
 * What happened to locks lately, on this node: every change that the table told, in log order, with
 * its revision. Watches, the history and the audit read it; nobody waits for it, and what outgrows its
 * limits is forgotten from its beginning. A start fills it again by replaying the log.
 *
 * Every node has the same changes under the same revisions, only not equally many of them.
 */
import { assert } from "../../assert.js";
import type { TableChange } from "../../lockfsm/index.js";
import {
  CHANGE_TYPES,
  type ChangeType,
  type ChangeView,
  END_REASON,
  type Revision,
} from "../../protocol/index.js";
import { endOfEntry, isAfter } from "./revisions.js";
import { type NotedEntry, PAGE_TRANSITIONS, TransitionPage } from "./transition-page.js";

export interface TransitionLimits {
  /** Transitions that are kept; a page more than that before the oldest go. */
  readonly changesMax: number;
  /** What they may take in memory, in bytes; beyond it a page goes earlier, but never the last two. */
  readonly changeBytesMax: number;
}

export class TransitionLog {
  readonly #pagesMax: number;
  readonly #bytesMax: number;
  /** All but the last are full. */
  #pages: TransitionPage[] = [new TransitionPage()];
  /** Position of the first transition that is kept. Positions count them from the start. */
  #first = 0;
  /** Position behind the last one. */
  #end = 0;
  #bytes = 0;
  #floor: Revision;
  #entry: NotedEntry = { index: 0, stamp: 0, wallMs: 0 };
  #entryEnd = 0;
  readonly #totals = Object.fromEntries(CHANGE_TYPES.map((type) => [type, 0])) as Record<
    ChangeType,
    number
  >;
  readonly #endsByReason: number[] = Object.keys(END_REASON).map(() => 0);

  /** `index`: the table has the effects of everything up to there, by a snapshot; 0 without one. */
  constructor({ changesMax, changeBytesMax }: TransitionLimits, index: number) {
    this.#pagesMax = Math.ceil(changesMax / PAGE_TRANSITIONS);
    this.#bytesMax = changeBytesMax;
    this.#floor = endOfEntry(index);
  }

  /** Everything behind this revision is kept; what is not may have been anything. */
  get floor(): Revision {
    return this.#floor;
  }

  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#end;
  }

  /** Transitions that are kept. */
  get count(): number {
    return this.#end - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Applied here since the start. */
  get totals(): Readonly<Record<ChangeType, number>> {
    return this.#totals;
  }

  /** Ends of holds, key by key, by the number of their reason. */
  get endsByReason(): readonly number[] {
    return this.#endsByReason;
  }

  /** What is added from now on comes from that entry. Indexes rise. */
  begin(index: number, stamp: number, wallMs: number): void {
    this.#entry = { index, stamp, wallMs };
    this.#entryEnd = this.#end;
  }

  /** Called by the table for each change, inside `apply`. */
  add(change: TableChange): void {
    let page = this.#pages[this.#pages.length - 1] as TransitionPage;
    if (page.isFull) page = this.#turnPage();
    const before = page.bytes;
    page.add(this.#entry, this.#end - this.#entryEnd, change);
    this.#bytes += page.bytes - before;
    this.#end += 1;
    const { type, reason } = change;
    this.#totals[type] += 1;
    if (type === "ended") this.#endsByReason[reason] = (this.#endsByReason[reason] ?? 0) + 1;
  }

  /** A snapshot brought the effects of everything up to `index`: what happened until then is unknown. */
  restart(index: number): void {
    this.#pages = [new TransitionPage()];
    this.#first = this.#end;
    this.#bytes = 0;
    this.#floor = endOfEntry(index);
  }

  /** Position of the first that is kept behind `revision`; the end if there is none. */
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

  /** When the hold of that change was granted, in cluster time. */
  grantedAtAt(position: number): number {
    return this.#pageAt(position).grantedAtAt(this.#slotAt(position));
  }

  /**
   * What the leader's wall clock showed at a moment of cluster time. Exact where an entry of then is
   * kept; else as if both had run alike, since cluster time stands still while nobody leads.
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

  /** A new last page, which may be the oldest one used again. */
  #turnPage(): TransitionPage {
    let page: TransitionPage | undefined;
    // What was added last is never forgotten: somebody may not have been told of it yet.
    while (
      this.#pages.length > 1 &&
      (this.#pages.length > this.#pagesMax || this.#bytes > this.#bytesMax)
    ) {
      page = this.#pages.shift() as TransitionPage;
      this.#floor = page.revisionAt(page.count - 1);
      this.#first += page.count;
      this.#bytes -= page.bytes;
      page.clear();
    }
    page ??= new TransitionPage();
    this.#pages.push(page);
    return page;
  }

  #pageAt(position: number): TransitionPage {
    assert(
      position >= this.#first && position < this.#end,
      () => `transition ${position} of ${this.#first} to ${this.#end}`,
    );
    const number = Math.floor((position - this.#first) / PAGE_TRANSITIONS);
    return this.#pages[number] as TransitionPage;
  }

  #slotAt(position: number): number {
    return (position - this.#first) % PAGE_TRANSITIONS;
  }
}
