/**
 * The one error for bytes that break the protocol. The connection is then closed with close code
 * 1002 and the message as the reason, so messages must be short ASCII: a close reason has room for
 * 123 bytes. It must never be used for values that are merely not allowed, because those are
 * answered.
 */

/** Bytes that no correct peer sends. `message` says what is wrong and at which offset. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  /** Offset into the frame or command at which reading stopped. */
  readonly offset: number;

  constructor(what: string, offset: number) {
    super(`${what} at offset ${offset}`);
    this.offset = offset;
  }
}
