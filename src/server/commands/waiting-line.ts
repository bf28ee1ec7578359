/**
 * Commands that wait to leave this node: into an entry if it leads, to the leader if it follows.
 * Each connection and each other node has a lane. Within a lane the order of arrival stays; the
 * lanes take turns (deficit round robin, Shreedhar and Varghese 1995), so that a client with a
 * thousand commands in flight does not make another one wait for all of them. Taking from the line
 * copies the bytes of each command once, into the buffer that becomes the entry or the message. The
 * line does not depend on roles.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import { OP, writeRecord } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { KeptCommand } from "./kept-commands.js";
import { Lane, type LaneItem } from "./lane.js";

/** A shorter line is not searched for void items. */
const SWEEP_LENGTH_MIN = 4_096;
/** The least bytes of a turn, so that the commands of one connection stay together. */
const TURN_BYTES_MIN = 256;

export type WaitingItem = KeptCommand | ForwardedChunk;

export interface TakenItems {
  /** The records, after as many empty bytes as were asked for. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly items: WaitingItem[];
}

/**
 * The records that another node forwarded in one message: commands of many sessions, in the turns
 * of that node. The leader proposes or refuses it as a whole.
 */
export class ForwardedChunk implements LaneItem<ForwardedChunk> {
  readonly from: NodeId;
  /** The sender's number for it, repeated in a refusal. */
  readonly id: number;
  readonly records: Uint8Array;
  /** `records`, decoded. */
  readonly commands: readonly TableCommand[];
  /** Sessions with commands in it; a session counts once for each run of its commands. */
  readonly weight: number;
  isInLine = false;
  nextInLane: ForwardedChunk | undefined = undefined;

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

export class WaitingLine {
  /** The lanes that are not empty form a circle; this one has the last turn. */
  #lastLane: Lane<WaitingItem> | undefined = undefined;
  readonly #lanesOfPeers = new Map<NodeId, Lane<WaitingItem>>();
  /** The sum over the lanes. */
  #weight = 0;
  #length = 0;
  #bytes = 0;
  #hasUrgent = false;
  #firstArrivalMs = 0;
  #sweepAtLength = SWEEP_LENGTH_MIN;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether anything but keepalives waits. Keepalives alone may be gathered for a while. */
  get hasUrgent(): boolean {
    return this.#hasUrgent;
  }

  /** When the line last began to fill. Meaningless if it is empty. */
  get firstArrivalMs(): number {
    return this.#firstArrivalMs;
  }

  /** An item that is already in the line keeps its place. */
  push(item: WaitingItem, nowMs: number): void {
    if (item.isInLine) return;
    if (this.#length >= this.#sweepAtLength) this.#sweep();
    if (this.#length === 0) this.#firstArrivalMs = nowMs;
    this.#append(item);
  }

  /** Taken items could not leave: they stand before everything else again, in the same order. */
  putBack(items: readonly WaitingItem[], nowMs: number): void {
    if (this.#length === 0) this.#firstArrivalMs = nowMs;
    for (const item of items.toReversed()) {
      const lane = this.#laneFor(item);
      this.#weight += item.weight - lane.weight;
      if (lane.isEmpty) this.#addLane(lane);
      lane.unshift(item);
      this.#count(item);
    }
  }

  /**
   * Takes as many items as fit in `bytesMax`, but at least one, and lays out their records after
   * `headerBytes` empty bytes. A round of all turns fills half of `bytesMax`, so that a lane that
   * just began is served in the same round. Items that became void while they waited are dropped.
   */
  take(bytesMax: number, headerBytes: number): TakenItems {
    const items: WaitingItem[] = [];
    const lengthMax = headerBytes + bytesMax;
    const shareBytes = Math.max(TURN_BYTES_MIN, Math.floor(bytesMax / (2 * this.#weight)));
    let length = headerBytes;
    for (let lane = this.#lastLane?.next; lane !== undefined; lane = this.#lastLane?.next) {
      // A turn that the end of the last entry cut short continues.
      if (lane.credit <= 0) lane.credit += shareBytes * lane.weight;
      for (let item = lane.first; item !== undefined && lane.credit > 0; item = lane.first) {
        const isVoid = isOver(item);
        if (!isVoid && items.length > 0 && length + item.recordBytes > lengthMax) {
          return layOut(items, length, headerBytes);
        }
        this.#shift(lane);
        if (isVoid) continue;
        lane.credit -= item.recordBytes;
        length += item.recordBytes;
        items.push(item);
      }
      if (lane.isEmpty) this.#removeFirstLane();
      else this.#lastLane = lane;
    }
    this.#hasUrgent = false;
    return layOut(items, length, headerBytes);
  }

  /** Empties the line and returns the chunks that were in it. */
  clear(): ForwardedChunk[] {
    const chunks: ForwardedChunk[] = [];
    for (let lane = this.#lastLane?.next; lane !== undefined; lane = this.#lastLane?.next) {
      for (let item = this.#shift(lane); item !== undefined; item = this.#shift(lane)) {
        if (!(item instanceof KeptCommand)) chunks.push(item);
      }
      this.#removeFirstLane();
    }
    this.#hasUrgent = false;
    this.#sweepAtLength = SWEEP_LENGTH_MIN;
    return chunks;
  }

  #append(item: WaitingItem): void {
    const lane = this.#laneFor(item);
    if (lane.isEmpty) {
      this.#addLane(lane);
      this.#weight += item.weight;
    }
    lane.push(item);
    this.#count(item);
  }

  #count(item: WaitingItem): void {
    this.#length += 1;
    this.#bytes += item.recordBytes;
    if (!this.#hasUrgent) this.#hasUrgent = isUrgent(item);
  }

  /** It gets the last turn. */
  #addLane(lane: Lane<WaitingItem>): void {
    lane.next = this.#lastLane?.next ?? lane;
    if (this.#lastLane !== undefined) this.#lastLane.next = lane;
    this.#lastLane = lane;
  }

  #laneFor(item: WaitingItem): Lane<WaitingItem> {
    return item instanceof KeptCommand ? item.attachment.lane : this.#laneOf(item.from);
  }

  #shift(lane: Lane<WaitingItem>): WaitingItem | undefined {
    const item = lane.shift();
    if (item === undefined) return undefined;
    this.#weight += lane.weight - item.weight;
    this.#length -= 1;
    this.#bytes -= item.recordBytes;
    return item;
  }

  #removeFirstLane(): void {
    const last = this.#lastLane;
    const first = last?.next;
    if (last === undefined || first === undefined) return;
    first.credit = 0;
    if (first === last) this.#lastLane = undefined;
    else last.next = first.next;
    first.next = first;
  }

  #laneOf(peer: NodeId): Lane<WaitingItem> {
    let lane = this.#lanesOfPeers.get(peer);
    if (lane === undefined) {
      lane = new Lane<WaitingItem>();
      this.#lanesOfPeers.set(peer, lane);
    }
    return lane;
  }

  /**
   * Drops void items. Without a leader nothing is taken from the line, but clients come, give up
   * and come again: the items they leave must not add up. Costs one look per pushed item.
   */
  #sweep(): void {
    for (let left = this.#length; left > 0; ) {
      const lane = this.#lastLane?.next;
      if (lane === undefined) break;
      const kept: WaitingItem[] = [];
      for (let item = this.#shift(lane); item !== undefined; item = this.#shift(lane)) {
        left -= 1;
        if (!isOver(item)) kept.push(item);
      }
      this.#removeFirstLane();
      for (const item of kept) this.#append(item);
    }
    this.#sweepAtLength = Math.max(SWEEP_LENGTH_MIN, 2 * this.#length);
  }
}

function layOut(items: WaitingItem[], length: number, headerBytes: number): TakenItems {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let offset = headerBytes;
  for (const item of items) {
    if (item instanceof KeptCommand) {
      offset = writeRecord(bytes, view, offset, item.session, item.epoch, item.bytes);
    } else {
      bytes.set(item.records, offset);
      offset += item.records.length;
    }
  }
  return { bytes, view, items };
}

/** Whether nothing waits for it any more. */
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
