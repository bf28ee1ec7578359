/**
 * A page of the change log: a thousand changes in columns. Every grant and every end on
 * every node passes through here, so no object is allocated for one: hundreds of thousands of
 * objects that outlive their turn have doubled the cost of the table itself, because the garbage
 * collector copies them. The oldest page is used again.
 */
import { assert } from "../../errors/index.js";
import type { TableChange } from "../../lockfsm/index.js";
import {
  CHANGE_TYPES,
  type ChangeType,
  type ChangeView,
  CLAIM_MODES,
  type ClaimMode,
  END_REASON,
  type EndReason,
  HOLDERS,
  type Holder,
  type Revision,
} from "../../protocol/index.js";

export const PAGE_CHANGES = 1_024;

/** Bytes of one change without its texts. */
const CHANGE_BYTES = 96;
const NUMBER_COLUMNS = 6;
const TEXT_COLUMNS = 5;
const ENTRY_COLUMNS = 4;

const TYPE_NUMBERS: Readonly<Record<ChangeType, number>> = numbersOf(CHANGE_TYPES);
const MODE_NUMBERS: Readonly<Record<ClaimMode, number>> = numbersOf(CLAIM_MODES);
const HOLDER_NUMBERS: Readonly<Record<Holder, number>> = numbersOf(HOLDERS);
const MODE_SHIFT = 4;
const REASON_SHIFT = 8;
const HOLDER_SHIFT = 12;
const FIELD_MASK = 0xf;
assert(
  Object.values(END_REASON).every((reason) => reason <= FIELD_MASK),
  () => "too many reasons",
);

/** The entry whose changes are being added. */
export interface NotedEntry {
  readonly index: number;
  readonly stamp: number;
  readonly wallMs: number;
}

/** What is known of the hold of a change, and no view of the change shows. */
export type HoldOfChange = Pick<TableChange, "grantedAt" | "waitedMs" | "holder" | "orderedBy">;

export class ChangePage {
  /** Changes in it. */
  count = 0;
  /**
   * Approximate memory of them: a text counts by its characters, except the names of identities,
   * which are shared with the table.
   */
  bytes = 0;
  /** Session, task, token, sequence, the time of a hold's grant, and how long it was waited for. */
  readonly #numbers = new Float64Array(PAGE_CHANGES * NUMBER_COLUMNS);
  /** Type, mode, reason and holder. */
  readonly #kinds = new Uint16Array(PAGE_CHANGES);
  /** The entry of each, as a slot of the entries below. */
  readonly #entryOf = new Uint16Array(PAGE_CHANGES);
  /** Key, name of the session, value, names of its identity and of the one that ordered its end. */
  readonly #texts: string[] = new Array(PAGE_CHANGES * TEXT_COLUMNS).fill("");
  /**
   * Index, stamp, wall clock, and the slot of the change with the number 0, if it were in this
   * page.
   */
  readonly #entries = new Float64Array(PAGE_CHANGES * ENTRY_COLUMNS);
  #entryCount = 0;

  get isFull(): boolean {
    return this.count === PAGE_CHANGES;
  }

  clear(): void {
    this.count = 0;
    this.bytes = 0;
    this.#entryCount = 0;
    this.#texts.fill("");
  }

  /** `number` counts the changes of the entry. The page must not be full. */
  add(entry: NotedEntry, number: number, change: TableChange): void {
    const slot = this.count;
    if (number === 0 || slot === 0) this.#addEntry(entry, slot - number);
    const { key, sessionName, value, identity } = change;
    const numbers = this.#numbers;
    let at = slot * NUMBER_COLUMNS;
    numbers[at] = change.session;
    numbers[at + 1] = change.task;
    numbers[at + 2] = change.token;
    numbers[at + 3] = change.sequence;
    numbers[at + 4] = change.grantedAt;
    numbers[at + 5] = change.waitedMs;
    this.#kinds[slot] =
      TYPE_NUMBERS[change.type] |
      (MODE_NUMBERS[change.mode] << MODE_SHIFT) |
      (change.reason << REASON_SHIFT) |
      (HOLDER_NUMBERS[change.holder] << HOLDER_SHIFT);
    this.#entryOf[slot] = this.#entryCount - 1;
    const texts = this.#texts;
    at = slot * TEXT_COLUMNS;
    texts[at] = key;
    texts[at + 1] = sessionName;
    texts[at + 2] = value;
    texts[at + 3] = identity;
    texts[at + 4] = change.orderedBy;
    this.count = slot + 1;
    this.bytes += CHANGE_BYTES + key.length + sessionName.length + value.length;
  }

  keyAt(slot: number): string {
    return this.#texts[slot * TEXT_COLUMNS] as string;
  }

  typeAt(slot: number): ChangeType {
    return CHANGE_TYPES[this.#kindAt(slot) & FIELD_MASK] as ChangeType;
  }

  revisionAt(slot: number): Revision {
    const entry = this.#entryAt(slot);
    return { index: this.#entry(entry), number: slot - this.#entry(entry + 3) };
  }

  stampAt(slot: number): number {
    return this.#entry(this.#entryAt(slot) + 1);
  }

  wallMsAt(slot: number): number {
    return this.#entry(this.#entryAt(slot) + 2);
  }

  holdAt(slot: number): HoldOfChange {
    return {
      grantedAt: this.#number(slot, 4),
      waitedMs: this.#number(slot, 5),
      holder: HOLDERS[this.#kindAt(slot) >> HOLDER_SHIFT] as Holder,
      orderedBy: this.#texts[slot * TEXT_COLUMNS + 4] as string,
    };
  }

  viewAt(slot: number): ChangeView {
    const at = slot * TEXT_COLUMNS;
    const kind = this.#kindAt(slot);
    return {
      revision: this.revisionAt(slot),
      type: this.typeAt(slot),
      key: this.#texts[at] as string,
      mode: CLAIM_MODES[(kind >> MODE_SHIFT) & FIELD_MASK] as ClaimMode,
      session: this.#number(slot, 0),
      sessionName: this.#texts[at + 1] as string,
      identity: this.#texts[at + 3] as string,
      task: this.#number(slot, 1),
      token: this.#number(slot, 2),
      sequence: this.#number(slot, 3),
      value: this.#texts[at + 2] as string,
      reason: ((kind >> REASON_SHIFT) & FIELD_MASK) as EndReason,
      stamp: this.stampAt(slot),
      wallMs: this.wallMsAt(slot),
    };
  }

  #addEntry({ index, stamp, wallMs }: NotedEntry, zeroSlot: number): void {
    const at = this.#entryCount * ENTRY_COLUMNS;
    this.#entryCount += 1;
    this.#entries[at] = index;
    this.#entries[at + 1] = stamp;
    this.#entries[at + 2] = wallMs;
    this.#entries[at + 3] = zeroSlot;
  }

  #number(slot: number, column: number): number {
    return this.#numbers[slot * NUMBER_COLUMNS + column] as number;
  }

  #kindAt(slot: number): number {
    return this.#kinds[slot] as number;
  }

  #entryAt(slot: number): number {
    return (this.#entryOf[slot] as number) * ENTRY_COLUMNS;
  }

  #entry(at: number): number {
    return this.#entries[at] as number;
  }
}

function numbersOf<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name, number) => [name, number])) as Record<Name, number>;
}
