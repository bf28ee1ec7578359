/**
 * A command of a client of this node, kept from its admission until it was executed or the client's
 * connection ended. It is at the same time what the table is given when this node proposed the command
 * itself, so that it is decoded once.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import { type Command, isAttachCommand, RECORD_HEADER_BYTES } from "../../protocol/index.js";
import type { Attachment } from "./attachment.js";
import type { WaitingItem } from "./lane.js";

export class KeptCommand implements TableCommand {
  readonly attachment: Attachment;
  /** An open, resume or takeover. */
  readonly attaches: boolean;
  readonly session: number;
  readonly epoch: number;
  readonly command: Command;
  /** As they came from the client. */
  readonly bytes: Uint8Array;
  /** Rises with arrival at this node; what is sent again is sent in this order. */
  readonly order: number;
  /** Its number in its session; without a session what its client drew for it. 0: it has none. */
  readonly sequence: number;
  /** Nothing more is to be done for it. */
  isSettled = false;
  /** Whether it waits to leave this node, and what waits after it on its connection. */
  isInLine = false;
  nextInLane: WaitingItem | undefined = undefined;

  constructor(attachment: Attachment, command: Command, bytes: Uint8Array, order: number) {
    this.attachment = attachment;
    this.attaches = isAttachCommand(command);
    this.session = this.attaches ? 0 : attachment.connection.session;
    this.epoch = this.attaches ? 0 : attachment.connection.attachEpoch;
    this.command = command;
    this.bytes = bytes;
    this.order = order;
    this.sequence = "sequence" in command ? command.sequence : 0;
  }

  /** The share of its connection in what leaves together. */
  get weight(): number {
    return 1;
  }

  get recordBytes(): number {
    return RECORD_HEADER_BYTES + this.bytes.length;
  }
}
