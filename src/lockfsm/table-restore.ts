/**
 * Makes a lock table from the bytes of a snapshot, all of them or none: a table that lacked a
 * record would answer differently from the tables of other nodes.
 */
import { HoldfastError } from "../errors/index.js";
import { ProtocolError } from "../protocol/index.js";
import { BlockReader } from "./snapshot/block-reader.js";
import { corruptSnapshot } from "./snapshot/format.js";
import { link } from "./snapshot/link.js";
import { SnapshotReader } from "./snapshot/reader.js";
import { LockTable } from "./table.js";

export class TableRestore {
  readonly #blocks = new BlockReader();
  readonly #reader = new SnapshotReader();
  /** Set when something was refused, after which nothing is accepted. */
  #failure: HoldfastError | undefined = undefined;

  /**
   * Adds the next bytes of a snapshot, in order and in slices of any size. Takes time proportional
   * to their number. The caller may reuse them afterwards. The table gets its settings from the
   * snapshot.
   *
   * @throws {HoldfastError} `INTERNAL`, with `details.corrupt` for bytes that cannot come next in a
   * snapshot, or with `details.formatVersion` for a snapshot of another format. Every later call
   * then fails too.
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
   * Makes the table when all bytes have been added; the last turn returns it. Each `next()` is a
   * bounded amount of work. Must be called once.
   *
   * @throws {HoldfastError} like `add`, and also if bytes are missing
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
