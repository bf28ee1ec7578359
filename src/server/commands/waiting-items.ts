/**
 * What waits to leave this node, and in which lane: commands of its own clients, and what other
 * nodes forwarded. The line (`waiting-line.ts`) serves its lanes in turns; a lane never gives an
 * item away before those that came earlier.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import type { ClientConnection } from "../../net/index.js";
import { type Command, isAttachCommand, RECORD_HEADER_BYTES } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";

export type WaitingItem = KeptCommand | ForwardedChunk;

/** Where a command came from: a connection, with its lane. */
export interface CommandSource {
  readonly connection: ClientConnection;
  /** Those that wait to leave this node. */
  readonly lane: Lane;
}

/**
 * What one connection of a client, or one other node, has in the waiting line: its items in their
 * order, chained through the items themselves.
 */
export class Lane {
  first: WaitingItem | undefined = undefined;
  /** Bytes that it may still take in its present turn. Negative after an item that was larger. */
  credit = 0;
  /** The lane whose turn comes after this one. Meaningless while this one is empty. */
  next: Lane = this;
  #last: WaitingItem | undefined = undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Of one turn, in shares: one for each session whose commands come together. */
  get weight(): number {
    return this.first?.weight ?? 0;
  }

  push(item: WaitingItem): void {
    item.isInLine = true;
    if (this.#last === undefined) this.first = item;
    else this.#last.nextInLane = item;
    this.#last = item;
  }

  unshift(item: WaitingItem): void {
    item.isInLine = true;
    item.nextInLane = this.first;
    this.first = item;
    this.#last ??= item;
  }

  shift(): WaitingItem | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.first = first.nextInLane;
    if (this.first === undefined) this.#last = undefined;
    first.nextInLane = undefined;
    first.isInLine = false;
    return first;
  }
}

/**
 * A command of a client of this node, kept from its admission until it was executed or the client's
 * connection ended. It is at the same time what the table is given when this node proposed the
 * command itself, so that it is decoded once.
 */
export class KeptCommand implements TableCommand {
  readonly attachment: CommandSource;
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

  constructor(attachment: CommandSource, command: Command, bytes: Uint8Array, order: number) {
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

/**
 * What another node forwarded in one message: records of many sessions, which that node took in
 * turns. The leader proposes it as a whole or refuses it as a whole.
 */
export class ForwardedChunk {
  readonly from: NodeId;
  /** The sender's number for it, repeated in a refusal. */
  readonly id: number;
  readonly records: Uint8Array;
  /** `records`, decoded. */
  readonly commands: readonly TableCommand[];
  /** Sessions that have commands in it; one counts again where its commands are apart. */
  readonly weight: number;
  isInLine = false;
  nextInLane: WaitingItem | undefined = undefined;

  constructor(from: NodeId, id: number, records: Uint8Array, commands: readonly TableCommand[]) {
    this.from = from;
    this.id = id;
    this.records = records;
    this.commands = commands;
    this.weight = countRuns(commands);
  }

  get recordBytes(): number {
    return this.records.length;
  }
}

/** At least 1. */
function countRuns(commands: readonly TableCommand[]): number {
  let count = 1;
  let before = commands[0]?.session;
  for (const { session } of commands) {
    if (session !== before) count += 1;
    before = session;
  }
  return count;
}
