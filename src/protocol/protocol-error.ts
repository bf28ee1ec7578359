/**
 * The one error of bytes that break the protocol. Who meets it closes the connection with close
 * code 1002 and the message as the reason, so messages are short ASCII: a close reason has room for
 * 123 bytes. It never stands for values that are merely not allowed; those are answered.
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
