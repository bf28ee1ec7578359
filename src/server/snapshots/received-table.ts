/**
 * The table of a snapshot that another node offers, made while its chunks come. Only when it is
 * complete, and has the index it was offered with, may the snapshot become durable as a whole and
 * the log name it, because every later start makes the table again. It must never change the node's
 * own table. Whatever the bytes contain, the outcome is a table or a `SnapshotRefusal`.
 */
import { HoldfastError } from "../../errors/index.js";
import { type LockTable, TableRestore } from "../../lockfsm/index.js";
import { latestStampAfter } from "../../protocol/index.js";
import type { SnapshotManifest } from "../../storage/index.js";

type OwnTable = Pick<LockTable, "index" | "stamp" | "nextToken">;

/** More entries than a node that comes back can have missed: 35 years of a thousand a second. */
const INDEX_JUMP_MAX = 2 ** 40;
/** A year of two million grants a second. */
const TOKEN_JUMP_MAX = 2 ** 46;

/** What a snapshot contains cannot be used; the message goes to its sender. */
export class SnapshotRefusal extends Error {
  override readonly name = "SnapshotRefusal";
}

export class ReceivedTable {
  readonly #manifest: Pick<SnapshotManifest, "index">;
  readonly #restore = new TableRestore();
  #finishing: Generator<void, LockTable, void> | undefined;
  #chunkCount = 0;

  constructor(manifest: Pick<SnapshotManifest, "index">) {
    this.#manifest = manifest;
  }

  /** Chunks that were added. */
  get chunkCount(): number {
    return this.#chunkCount;
  }

  /** Throws `SnapshotRefusal` for bytes that cannot come next. */
  add(chunk: Uint8Array): void {
    refusing(() => this.#restore.add(chunk));
    this.#chunkCount += 1;
  }

  /**
   * After the last chunk: does a bounded amount of work, and returns the table once it is complete.
   * `own` is the table that it would replace. Throws `SnapshotRefusal`.
   */
  finish(own: OwnTable): LockTable | undefined {
    this.#finishing ??= this.#restore.finish();
    const finishing = this.#finishing;
    const step = refusing(() => finishing.next());
    if (step.done !== true) return undefined;
    const table = step.value;
    const { index } = this.#manifest;
    // The last entries may have been configurations, which tables do not apply.
    if (table.index > index) {
      throw new SnapshotRefusal(`it ends at entry ${table.index}, and was offered as ${index}`);
    }
    requireReach(table, index, own);
    return table;
  }
}

/**
 * One lie may not use up what has an absolute end. A node that has applied nothing does not know how
 * old its cluster is.
 */
function requireReach(table: OwnTable, index: number, own: OwnTable): void {
  if (own.index === 0) return;
  if (table.stamp > latestStampAfter(own.stamp)) {
    throw new SnapshotRefusal(`its cluster time is ${table.stamp}, here it is ${own.stamp}`);
  }
  if (index > own.index + INDEX_JUMP_MAX) {
    throw new SnapshotRefusal(`it ends at entry ${index}, here ${own.index} is applied`);
  }
  if (own.nextToken > 0 && table.nextToken > own.nextToken + TOKEN_JUMP_MAX) {
    throw new SnapshotRefusal(`its next token is ${table.nextToken}, here it is ${own.nextToken}`);
  }
}

/** The reader fails with `INTERNAL` for bytes that are not a snapshot; anything else is a bug. */
function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new SnapshotRefusal(error.message);
  }
}
