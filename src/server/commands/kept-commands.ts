/**
 * All commands that this node admitted and that were not executed yet. What is kept was never refused
 * and never will be: it stays until the table answers it, or until its connection ends. That a copy of
 * it was read back from the log proves nothing, since the table may have ignored that copy.
 */
import { type Attached, type Command, MESSAGE, type SessionMessage } from "../../protocol/index.js";
import type { Attachment, Attachments } from "./attachments.js";
import { KeptCommand } from "./waiting-items.js";

/** Commands of a frame up to this size are kept as views of it. */
const SHARED_FRAME_BYTES_MAX = 16 << 10;

export class KeptCommands {
  readonly #attachments: Attachments;
  #bytes = 0;
  #lastOrder = 0;

  constructor(attachments: Attachments) {
    this.#attachments = attachments;
  }

  get bytes(): number {
    return this.#bytes;
  }

  keep(attachment: Attachment, command: Command, bytes: Uint8Array): KeptCommand {
    this.#lastOrder += 1;
    const kept = new KeptCommand(attachment, command, ownBytes(bytes), this.#lastOrder);
    this.#bytes += kept.recordBytes;
    attachment.kept.push(kept);
    return kept;
  }

  /** The table said that to the client: of some messages it follows that a command was executed. */
  onTold(attachment: Attachment, message: SessionMessage | Attached): void {
    switch (message.kind) {
      case MESSAGE.reply:
        if (attachment.connection.session > 0) this.#settleUpTo(attachment, message.sequence);
        else this.#settleEach(attachment, ({ sequence }) => sequence === message.sequence);
        return;
      case MESSAGE.pulse:
      case MESSAGE.recalled:
        this.#settleEach(attachment, ({ command }) => {
          return "number" in command && command.number === message.number;
        });
        return;
      case MESSAGE.attached:
        this.settleAttaches(attachment);
        return;
      default:
    }
  }

  /** Nobody waits for what came on that connection any more. */
  drop(attachment: Attachment): void {
    for (let kept = attachment.kept.shift(); kept !== undefined; kept = attachment.kept.shift()) {
      if (kept.isSettled) continue;
      this.#settle(kept);
      if (kept.session === 0) this.#attachments.forgetOrder(attachment, kept.sequence);
    }
  }

  /** It was attached, or refused, or asks to be attached to something else than before. */
  settleAttaches(attachment: Attachment): void {
    this.#settleEach(attachment, ({ attaches }) => attaches);
  }

  /** Everything kept, in order of arrival. */
  inOrder(): KeptCommand[] {
    const all: KeptCommand[] = [];
    for (const attachment of this.#attachments.all()) {
      for (let i = 0; i < attachment.kept.length; i += 1) {
        const kept = attachment.kept.at(i);
        if (kept !== undefined && !kept.isSettled) all.push(kept);
      }
    }
    return all.sort((a, b) => a.order - b.order);
  }

  /** The table executes the commands of a session in the order of their numbers. */
  #settleUpTo(attachment: Attachment, sequence: number): void {
    for (let i = 0; i < attachment.kept.length; i += 1) {
      const kept = attachment.kept.at(i);
      if (kept === undefined || kept.sequence > sequence) break;
      if (kept.sequence > 0) this.#settle(kept);
    }
    attachment.trim();
  }

  #settleEach(attachment: Attachment, isIt: (kept: KeptCommand) => boolean): void {
    for (let i = 0; i < attachment.kept.length; i += 1) {
      const kept = attachment.kept.at(i);
      if (kept !== undefined && isIt(kept)) this.#settle(kept);
    }
    attachment.trim();
  }

  #settle(kept: KeptCommand): void {
    if (kept.isSettled) return;
    kept.isSettled = true;
    this.#bytes -= kept.recordBytes;
  }
}

/**
 * A view of a frame keeps the whole of it alive. Of a large one, which may hold whatever else a
 * client liked to send, only the command is kept.
 */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > SHARED_FRAME_BYTES_MAX ? new Uint8Array(bytes) : bytes;
}
