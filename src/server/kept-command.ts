/**
 * A command of a client of this node, kept from its arrival until this node applied it, refused it
 * for good, or lost the client's connection. It is at the same time what the table is given when
 * this node proposed the command itself, so that it is decoded once.
 */
import type { TableCommand } from "../lockfsm/index.js";
import { type Command, isAttachCommand, RECORD_HEADER_BYTES } from "../protocol/index.js";
import type { Attachment } from "./attachment.js";
import type { WaitingItem } from "./lane.js";

export class KeptCommand implements TableCommand {
  readonly attachment: Attachment;
  /** An open or resume. */
  readonly attaches: boolean;
  readonly session: number;
  readonly epoch: number;
  readonly command: Command;
  /** As they came from the client. */
  readonly bytes: Uint8Array;
  /** Rises with arrival at this node; what is sent again is sent in this order. */
  readonly order: number;
  /** The client may have sent it on an earlier connection too. */
  readonly isRepeated: boolean;
  /** How often this node forwarded or proposed it. */
  sendCount = 0;
  /** Nothing more is to be done for it. */
  isSettled = false;
  /** Whether it waits to leave this node, and what waits after it on its connection. */
  isInLine = false;
  nextInLane: WaitingItem | undefined = undefined;

  constructor(
    attachment: Attachment,
    command: Command,
    bytes: Uint8Array,
    order: number,
    isRepeated: boolean,
  ) {
    this.attachment = attachment;
    this.attaches = isAttachCommand(command);
    this.session = this.attaches ? 0 : attachment.connection.session;
    this.epoch = this.attaches ? 0 : attachment.connection.attachEpoch;
    this.command = command;
    this.bytes = bytes;
    this.order = order;
    this.isRepeated = isRepeated;
  }

  /** By which an order is known that belongs to no session; 0 of any other command. */
  get orderNumber(): number {
    return this.session === 0 && "sequence" in this.command ? this.command.sequence : 0;
  }

  /** The share of its connection in what leaves together. */
  get weight(): number {
    return 1;
  }

  get recordBytes(): number {
    return RECORD_HEADER_BYTES + this.bytes.length;
  }

  /** Whether a refusal by whoever it was sent to proves that it will never execute. */
  get canBeRefused(): boolean {
    return this.sendCount <= 1 && !this.isRepeated;
  }
}

/** Whether two commands of one session (or two attaches) are the same one, sent twice or read back. */
export function isSameCommand(a: Command, b: Command): boolean {
  if (a.op !== b.op) return false;
  if (isAttachCommand(a))
    return isAttachCommand(b) && a.nonce === b.nonce && a.attempt === b.attempt;
  if ("sequence" in a) return "sequence" in b && a.sequence === b.sequence;
  return "number" in b && a.number === b.number;
}
