/**
 * Copy on write, for the snapshot that is being written: a record that is about to change, or to be
 * removed, goes into the snapshot as it is, unless it is there already. Records see to that
 * themselves. The fields that a snapshot stores are read-only, and `change` is the only way to write
 * to them; what a snapshot can tell from the rest (links, sums, places in a heap) is written freely.
 * Between snapshots `change` is one test of a field. Knows neither records nor snapshots.
 */
import { assert } from "../../assert.js";

/** A record whose fields may be written: given out by what has called the copier first, to its caller. */
export type Changing<Record> = { -readonly [Field in keyof Record]: Record[Field] };

export interface Copied {
  /** The last snapshot that has the record, or is not to have it. */
  savedIn: number;
}

/** What takes the records of one snapshot. Called before each change, copied already or not. */
export interface Copier {
  /** `session`: the one whose stored reply `record` is. */
  copy(record: Copied, session?: Copied): void;
  /** The same of a hold by its row. */
  copyRow(row: number): void;
  /** Of a session that will not be found in the table any more, while what it has stays for a while. */
  copyEnding(session: Copied): void;
}

export class CopyOnWrite {
  /** The number of the snapshot that was begun last. New records are made with it. */
  latest = 0;
  /** While a snapshot is being written. */
  copier: Copier | undefined = undefined;

  begin(copier: Copier): void {
    assert(this.copier === undefined, () => `snapshot ${this.latest} is under way`);
    this.copier = copier;
    this.latest += 1;
  }

  /** The snapshot of `copier` is complete or given up. */
  end(copier: Copier): void {
    if (this.copier === copier) this.copier = undefined;
  }
}
