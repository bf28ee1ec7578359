/**
 * Writes changes to clients. One change goes to every watch that it matches, on many connections,
 * so it is packed once and copied into the frames of all of them. Packed bytes are kept for one
 * turn of the loop and no longer.
 */
import type { ChangesView, Writer } from "../../protocol/index.js";
import { packPayload } from "../framing/index.js";

export class WatchChangesWriter {
  /**
   * Packed changes and revisions of this turn, by identity: the driver passes the same object for
   * each connection.
   */
  readonly #packed = new Map<object, Uint8Array>();

  /** Appends a `ChangesView` to `to`, as `writePayload` does for other payloads. */
  readonly writePayload = (to: Writer, payload: unknown): void => {
    const { changes, revision } = payload as ChangesView;
    to.mapHeader(2);
    to.string("changes");
    to.arrayHeader(changes.length);
    for (const change of changes) to.raw(this.#bytesOf(change));
    to.string("revision");
    to.raw(this.#bytesOf(revision));
  };

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
