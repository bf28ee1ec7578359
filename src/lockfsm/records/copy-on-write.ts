/**
 * Copy on write for the snapshot that is being written: a record that is about to change, or to be
 * removed, is first copied into the snapshot, unless it is there already. Records do this
 * themselves. The fields that a snapshot stores are read-only, and `change` is the only way to
 * write to them; fields that a snapshot can derive (links, sums, heap indexes) are written freely.
 * Between snapshots `change` costs one test of a field. This file must know neither records nor
 * snapshots.
 */
import { assert } from "../../errors/index.js";

/** A record with writable fields, returned by a method that has called the copier first. */
export type Changing<Record> = { -readonly [Field in keyof Record]: Record[Field] };

export interface Copied {
  /** The last snapshot that has the record, or must not have it. */
  savedIn: number;
}

/**
 * Copies the records of one snapshot. Called before each change, even of a record that has been
 * copied.
 */
export interface Copier {
  /** If `record` is a stored reply, `session` is the session that it belongs to. */
  copy(record: Copied, session?: Copied): void;
  /** As `copy`, for a hold, by its row. */
  copyRow(row: number): void;
  /**
   * Copies a session that will no longer be found in the table, while its claims stay for some
   * time.
   */
  copyEnding(session: Copied): void;
}

export class CopyOnWrite {
  /** The number of the snapshot begun last, with which new records are made. */
  latest = 0;
  /** Set while a snapshot is being written. */
  copier: Copier | undefined = undefined;

  begin(copier: Copier): void {
    assert(this.copier === undefined, () => `snapshot ${this.latest} is under way`);
    this.copier = copier;
    this.latest += 1;
  }

  /** Must be called when the snapshot of `copier` is complete or abandoned. */
  end(copier: Copier): void {
    if (this.copier === copier) this.copier = undefined;
  }
}
