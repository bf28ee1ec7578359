/**
 * Commands that wait to leave this node, in order of arrival: into an entry when it leads, to the
 * leader when it follows. Local commands stand as they were kept, forwarded ones as whole chunks of
 * records. Taking from the line copies each command's bytes once, into the buffer that becomes the
 * entry or the message. It knows nothing of roles.
 */
import type { TableCommand } from "../lockfsm/index.js";
import { OP, writeRecord } from "../protocol/index.js";
import type { NodeId } from "../raft/index.js";
import { Fifo } from "./fifo.js";
import { KeptCommand } from "./kept-command.js";

/** What another node forwarded in one message. */
export class ForwardedChunk {
  readonly from: NodeId;
  /** The sender's number for it, repeated in a refusal. */
  readonly id: number;
  readonly records: Uint8Array;
  /** `records`, decoded. */
  readonly commands: readonly TableCommand[];

  constructor(from: NodeId, id: number, records: Uint8Array, commands: readonly TableCommand[]) {
    this.from = from;
    this.id = id;
    this.records = records;
    this.commands = commands;
  }

  get recordBytes(): number {
    return this.records.length;
  }
}

export type WaitingItem = KeptCommand | ForwardedChunk;

/** A shorter line is not looked through for what became void in it. */
const SWEEP_LENGTH_MIN = 4_096;

export interface TakenItems {
  /** The records, behind as many empty bytes as were asked for. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly items: WaitingItem[];
}

export class WaitingLine {
  readonly #items = new Fifo<WaitingItem>();
  #bytes = 0;
  #hasUrgent = false;
  #firstArrivalMs = 0;
  #sweepAtLength = SWEEP_LENGTH_MIN;

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether anything but keepalives waits; those alone may be gathered for a while. */
  get hasUrgent(): boolean {
    return this.#hasUrgent;
  }

  /** When the first of those that wait came. Meaningless while the line is empty. */
  get firstArrivalMs(): number {
    return this.#firstArrivalMs;
  }

  push(item: WaitingItem, nowMs: number): void {
    if (this.#items.length >= this.#sweepAtLength) this.#sweep();
    if (this.#items.length === 0) this.#firstArrivalMs = nowMs;
    this.#items.push(item);
    this.#bytes += item.recordBytes;
    if (!this.#hasUrgent) this.#hasUrgent = isUrgent(item);
  }

  /**
   * Takes items from the front, as many as fit in `bytesMax` but at least one, and lays their
   * records out behind `headerBytes` empty ones. What became void while it waited is dropped.
   */
  take(bytesMax: number, headerBytes: number): TakenItems {
    const items: WaitingItem[] = [];
    let length = headerBytes;
    for (let next = this.#items.at(0); next !== undefined; next = this.#items.at(0)) {
      const isVoid = isOver(next);
      if (!isVoid && items.length > 0 && length + next.recordBytes > headerBytes + bytesMax) break;
      this.#items.shift();
      this.#bytes -= next.recordBytes;
      if (isVoid) continue;
      length += next.recordBytes;
      items.push(next);
    }
    if (this.#items.length === 0) this.#hasUrgent = false;
    const bytes = new Uint8Array(length);
    const view = new DataView(bytes.buffer);
    let offset = headerBytes;
    for (const item of items) {
      if (item instanceof KeptCommand) {
        item.sendCount += 1;
        offset = writeRecord(bytes, view, offset, item.session, item.epoch, item.bytes);
      } else {
        bytes.set(item.records, offset);
        offset += item.records.length;
      }
    }
    return { bytes, view, items };
  }

  /** Empties the line; gives back the chunks that were in it. */
  clear(): ForwardedChunk[] {
    const chunks: ForwardedChunk[] = [];
    for (let i = 0; i < this.#items.length; i += 1) {
      const item = this.#items.at(i);
      if (item instanceof ForwardedChunk) chunks.push(item);
    }
    this.#items.clear();
    this.#bytes = 0;
    this.#hasUrgent = false;
    this.#sweepAtLength = SWEEP_LENGTH_MIN;
    return chunks;
  }

  /**
   * Drops what became void. While nobody leads nothing is taken from the line, but clients come, give
   * up and come again: what they leave may not add up. Costs one look per item that was pushed.
   */
  #sweep(): void {
    for (let left = this.#items.length; left > 0; left -= 1) {
      const item = this.#items.shift();
      if (item === undefined) break;
      if (isOver(item)) this.#bytes -= item.recordBytes;
      else this.#items.push(item);
    }
    this.#sweepAtLength = Math.max(SWEEP_LENGTH_MIN, 2 * this.#items.length);
  }
}

/** Whether nobody waits for it any more. */
function isOver(item: WaitingItem): boolean {
  return item instanceof KeptCommand && item.isSettled;
}

function isUrgent(item: WaitingItem): boolean {
  if (item instanceof KeptCommand) return item.command.op !== OP.keepalive;
  for (const { command } of item.commands) {
    if (command?.op !== OP.keepalive) return true;
  }
  return false;
}
