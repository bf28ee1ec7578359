/**
 * Writes changes to clients. One change goes to every watch that it matches, on many connections,
 * so it is packed once and copied into the frames of all of them. Packed bytes are kept for one
 * turn of the loop and no longer.
 */
import { type Changes, type ChangesView, STATUS, type Writer } from "../../protocol/index.js";
import { packPayload } from "../framing/index.js";

export class WatchChangesWriter {
  /**
   * Packed changes and revisions of this turn, by identity: the driver passes the same object for
   * each connection.
   */
  readonly #packed = new Map<object, Uint8Array>();

  /** Appends `message` to `writer`, as `writeServerMessage` does for other kinds. */
  write(writer: Writer, { kind, id, status, payload }: Changes): void {
    writer.arrayHeader(4);
    writer.uint(kind);
    writer.uint(id);
    writer.uint(status);
    if (status !== STATUS.ok) {
      writer.nil();
      return;
    }
    const { changes, revision } = payload as ChangesView;
    writer.mapHeader(2);
    writer.string("changes");
    writer.arrayHeader(changes.length);
    for (const change of changes) writer.raw(this.#bytesOf(change));
    writer.string("revision");
    writer.raw(this.#bytesOf(revision));
  }

  /** Forgets the packed bytes at the end of a turn. */
  forget(): void {
    if (this.#packed.size > 0) this.#packed.clear();
  }

  #bytesOf(part: object): Uint8Array {
    let bytes = this.#packed.get(part);
    if (bytes === undefined) {
      bytes = packPayload(part);
      this.#packed.set(part, bytes);
    }
    return bytes;
  }
}
