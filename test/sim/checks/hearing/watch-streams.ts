/**
 * Compares watches with everything that happened to the keys in the order of the log. From the
 * revision at which a watch begins, each change is reported once, in order, none left out, over
 * any number of connections and nodes. A watch begins no earlier than what the node that was
 * asked had applied, and before anything that its own process requested later. When nothing
 * moves any more, nothing is left to report.
 */
import type { LockTable } from "../../../../src/lockfsm/index.js";
import type { ChangeView, Revision } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

/** What an application watches. */
export interface WatchedKeys {
  /** For people. */
  readonly name: string;
  /** `undefined`: all keys. */
  readonly key: string | undefined;
}

/** What a process had heard, and did, when it began to watch. */
export interface WatchAsked {
  /** The entry that attached the connection over which it was first asked for; 0: none. */
  readonly attachedIndex: number;
  /** Sessions and sequences of its commands since. */
  readonly said: readonly { readonly session: number; readonly sequence: number }[];
}

export type ToldChange = Pick<ChangeView, "revision" | "type" | "key" | "token" | "session">;

export class WatchStreams {
  readonly #fail: Fail;
  readonly #table: LockTable;
  readonly #changes: ToldChange[] = [];
  /** How many of `#changes` were told to a stream, or lie before its beginning. */
  readonly #told = new Map<WatchedKeys, number>();
  /** Asked for, and not begun. */
  readonly #asked = new Set<WatchedKeys>();
  #index = 0;
  #number = 0;

  constructor(table: LockTable, fail: Fail) {
    this.#table = table;
    this.#fail = fail;
  }

  /** From the first entry on; costs something for each change. */
  listen(): void {
    this.#table.listen(({ type, key, token, session }) => {
      const revision = { index: this.#index, number: this.#number };
      this.#number += 1;
      this.#changes.push({ revision, type, key, token, session });
    });
  }

  /** The next entry is about to be executed. */
  beginEntry(index: number): void {
    this.#index = index;
    this.#number = 0;
  }

  onAsked(watched: WatchedKeys): void {
    this.#asked.add(watched);
  }

  /** `executedAt`: the entry that executed a command; 0: none. */
  onBegun(
    watched: WatchedKeys,
    after: Revision,
    { attachedIndex, said }: WatchAsked,
    executedAt: (session: number, sequence: number) => number,
  ): void {
    this.#asked.delete(watched);
    if (after.index < attachedIndex) {
      this.#complain(watched, `begins behind ${wordOf(after)}, attached by ${attachedIndex}`);
    }
    for (const { session, sequence } of said) {
      const at = executedAt(session, sequence);
      if (at === 0 || at > after.index) continue;
      const what = `${sequence} of session ${session}, asked later and executed at ${at}`;
      this.#complain(watched, `begins behind ${wordOf(after)}, misses ${what}`);
    }
    const at = this.#changes.findIndex(({ revision }) => isBehind(revision, after));
    this.#told.set(watched, at === -1 ? this.#changes.length : at);
  }

  onTold(watched: WatchedKeys, told: ToldChange): void {
    const at = this.#nextOf(watched);
    const due = this.#changes[at];
    this.#told.set(watched, at + 1);
    if (due !== undefined && textOf(due) === textOf(told)) return;
    this.#complain(watched, `reports ${textOf(told)} instead of ${due && textOf(due)}`);
  }

  onEnded(watched: WatchedKeys): void {
    this.#asked.delete(watched);
    this.#told.delete(watched);
  }

  /** Whether every stream has begun and has received everything. */
  get isComplete(): boolean {
    if (this.#asked.size > 0) return false;
    for (const watched of this.#told.keys()) {
      if (this.#nextOf(watched) < this.#changes.length) return false;
    }
    return true;
  }

  /** The place of the next change that it must receive. */
  #nextOf(watched: WatchedKeys): number {
    let at = this.#told.get(watched) ?? this.#changes.length;
    const { key } = watched;
    const isOther = (change: ToldChange): boolean => key !== undefined && change.key !== key;
    for (let due = this.#changes[at]; due !== undefined && isOther(due); due = this.#changes[at]) {
      at += 1;
    }
    this.#told.set(watched, at);
    return at;
  }

  #complain({ name }: WatchedKeys, what: string): void {
    this.#fail("watches report everything in order", `${name} ${what}`);
  }
}

function isBehind(revision: Revision, other: Revision): boolean {
  if (revision.index !== other.index) return revision.index > other.index;
  return revision.number > other.number;
}

function wordOf({ index, number }: Revision): string {
  return `${index}/${number}`;
}

function textOf({ revision, type, key, token, session }: ToldChange): string {
  return `${wordOf(revision)} ${type} ${key} ${token} of ${session}`;
}
