/**
 * Makes a lock table of the bytes of a snapshot. All of them or nothing: a table that lacks a record
 * would answer otherwise than those of other nodes.
 */
import { HoldfastError } from "../errors.js";
import { ProtocolError } from "../protocol/index.js";
import { BlockReader } from "./snapshot/block-reader.js";
import { corruptSnapshot } from "./snapshot/format.js";
import { link } from "./snapshot/link.js";
import { SnapshotReader } from "./snapshot/reader.js";
import { LockTable } from "./table.js";

export class TableRestore {
  readonly #blocks = new BlockReader();
  readonly #reader = new SnapshotReader();
  /** Once something was refused, nothing is accepted any more. */
  #failure: HoldfastError | undefined = undefined;

  /**
   * The next bytes of a snapshot, in its order and in slices of any size; takes time proportional to
   * them. They are not needed any more afterwards. Throws `INTERNAL` with `details.corrupt` for what
   * cannot come next in a snapshot, and without it for one of another format (`formatVersion`);
   * then only another `TableRestore` helps. The table gets its settings from the snapshot.
   */
  add(chunk: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#blocks.add(chunk, this.#read);
    } catch (error) {
      if (error instanceof ProtocolError) this.#failure = corruptSnapshot(error.message);
      else if (error instanceof HoldfastError) this.#failure = error;
      else throw error;
      throw this.#failure;
    }
  }

  /**
   * When all bytes were added: its last turn gives the table. Each `next()` is a bounded piece of
   * work. Throws like `add`, also when bytes are missing. To be called once.
   */
  *finish(): Generator<void, LockTable, void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { parts, hasEnded } = this.#reader;
    if (parts === undefined || !hasEnded || !this.#blocks.isAtEnd) {
      throw corruptSnapshot("it is cut off");
    }
    return LockTable.of(yield* link(parts));
  }

  readonly #read = (body: Uint8Array): void => {
    const isFirst = this.#reader.parts === undefined;
    this.#reader.read(body);
    const state = this.#reader.parts?.state;
    if (!isFirst || state === undefined) return;
    this.#blocks.index = state.index;
  };
}
