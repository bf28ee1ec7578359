/**
 * Changes on their way to clients. One change goes to every watch that it matches, of many
 * connections; it is packed once and copied into the frames of all of them. What was packed is kept
 * for one turn of the loop and no longer.
 */
import { type Changes, type ChangesView, STATUS, type Writer } from "../../protocol/index.js";
import { packPayload } from "../framing/index.js";

export class ChangesWriter {
  /** Changes and revisions of this turn. Whoever tells them hands over the same objects. */
  readonly #packed = new Map<object, Uint8Array>();

  /** Appends `message` to `writer`, as `writeServerMessage` does others. */
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

  /** The turn is over. */
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
