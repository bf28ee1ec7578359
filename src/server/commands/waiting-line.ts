/**
 * Commands that wait to leave this node: into an entry if it leads, to the leader if it follows.
 * Each connection and each other node has a lane. Within a lane the order of arrival stays; the
 * lanes take turns (deficit round robin, Shreedhar and Varghese 1995), so that a client with a
 * thousand commands in flight does not make another one wait for all of them. On a closed cluster
 * identities take turns, and the lanes of each share them. Taking from the line
 * copies the bytes of each command once, into the buffer that becomes the entry or the message. The
 * line does not depend on roles.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import { OP, writeRecord } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { KeptCommand } from "./kept-commands.js";
import { Lane, LaneGroup, type LaneItem } from "./lane.js";

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

interface Taking {
  readonly items: WaitingItem[];
  /** Bytes of their records and the header. */
  length: number;
  readonly lengthMax: number;
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
  /** The same by the number of their identity; `undefined`: turns are by connection. */
  readonly runs: ReadonlyMap<number, number> | undefined;
  isInLine = false;
  nextInLane: ForwardedChunk | undefined = undefined;

  constructor(
    from: NodeId,
    id: number,
    records: Uint8Array,
    commands: readonly TableCommand[],
    runs?: ReadonlyMap<number, number>,
  ) {
    this.from = from;
    this.id = id;
    this.records = records;
    this.commands = commands;
    this.weight = countRuns(commands);
    this.runs = runs;
  }

  get recordBytes(): number {
    return this.records.length;
  }
}

export class WaitingLine {
  /** The groups that are not empty form a circle; this one has the last turn. */
  #lastGroup: LaneGroup<WaitingItem> | undefined = undefined;
  /** Where turns are by connection. */
  readonly #everybody = new LaneGroup<WaitingItem>();
  /** Those that are not empty. */
  readonly #groupsOfIdentities = new Map<number, LaneGroup<WaitingItem>>();
  readonly #groupsOfPeers = new Map<NodeId, LaneGroup<WaitingItem>>();
  readonly #lanesOfPeers = new Map<NodeId, Lane<WaitingItem>>();
  /**
   * By identity: its lanes, and its sessions in the first chunks of peers, which share its turns.
   */
  readonly #claims = new Map<number, number>();
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
      if (lane.isEmpty) this.#addLane(lane, item);
      this.#changeFirst(lane, lane.first, item);
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
    const taking = { items: [], length: headerBytes, lengthMax: headerBytes + bytesMax };
    for (let group = this.#firstGroup; group !== undefined; group = this.#firstGroup) {
      if (this.#takeTurn(group, taking, bytesMax)) return layOut(taking, headerBytes);
      if (group.isEmpty) this.#removeFirstGroup();
      else this.#lastGroup = group;
    }
    this.#hasUrgent = false;
    return layOut(taking, headerBytes);
  }

  /** Empties the line and returns the chunks that were in it. */
  clear(): ForwardedChunk[] {
    const chunks: ForwardedChunk[] = [];
    for (const item of this.#drain()) if (!(item instanceof KeptCommand)) chunks.push(item);
    this.#hasUrgent = false;
    this.#sweepAtLength = SWEEP_LENGTH_MIN;
    return chunks;
  }

  /** Returns whether nothing more fits. */
  #takeTurn(group: LaneGroup<WaitingItem>, taking: Taking, bytesMax: number): boolean {
    const isAlone = group.next === group;
    const roundBytes = isAlone ? bytesMax / 2 : this.#turnBytesOf(group, bytesMax / 2);
    if (isAlone) group.credit = Number.POSITIVE_INFINITY;
    else if (group.credit === Number.POSITIVE_INFINITY) group.credit = roundBytes;
    else if (group.credit <= 0) group.credit += roundBytes;
    const shareBytes = Math.max(TURN_BYTES_MIN, Math.floor(roundBytes / group.weight));
    for (let lane = group.firstLane; lane !== undefined; lane = group.firstLane) {
      // A turn that the end of the last entry cut short continues.
      if (lane.credit <= 0) lane.credit += shareBytes * lane.weight;
      const isFull = this.#takeFrom(lane, group, taking);
      if (lane.isEmpty) this.#removeFirstLane(group);
      else if (lane.credit <= 0) group.lastLane = lane;
      if (isFull) return true;
      if (group.credit <= 0) return false;
    }
    return false;
  }

  /** Returns whether nothing more fits. */
  #takeFrom(lane: Lane<WaitingItem>, group: LaneGroup<WaitingItem>, taking: Taking): boolean {
    const { items, lengthMax } = taking;
    for (let item = lane.first; item !== undefined && lane.credit > 0; item = lane.first) {
      const isVoid = isOver(item);
      const { recordBytes } = item;
      if (!isVoid && items.length > 0 && taking.length + recordBytes > lengthMax) return true;
      this.#shift(lane);
      if (isVoid) continue;
      lane.credit -= recordBytes;
      group.credit -= recordBytes;
      taking.length += recordBytes;
      items.push(item);
      if (group.credit <= 0) return false;
    }
    return false;
  }

  /**
   * What one turn of a group takes of a round. All identities have the same part of it, whether their
   * clients are at this node or at others.
   */
  #turnBytesOf(group: LaneGroup<WaitingItem>, roundBytes: number): number {
    const parts = Math.max(1, this.#claims.size + (this.#everybody.isEmpty ? 0 : 1));
    let part = 1;
    if (group.identity !== undefined) part = group.weight / this.#claimsOf(group.identity);
    else if (group.isOfPeer) part = this.#partOf(group.firstLane?.first);
    return Math.max(TURN_BYTES_MIN, Math.floor((roundBytes * part) / parts));
  }

  #partOf(item: WaitingItem | undefined): number {
    if (!(item instanceof ForwardedChunk) || item.runs === undefined) return 1;
    let part = 0;
    for (const [identity, runs] of item.runs) part += runs / this.#claimsOf(identity);
    return part;
  }

  /** Above 0 for an identity with anything in the line. */
  #claimsOf(identity: number): number {
    return this.#claims.get(identity) ?? 1;
  }

  #claim(identity: number, change: number): void {
    const claims = (this.#claims.get(identity) ?? 0) + change;
    if (claims > 0) this.#claims.set(identity, claims);
    else this.#claims.delete(identity);
  }

  #append(item: WaitingItem): void {
    const lane = this.#laneFor(item);
    if (lane.isEmpty) {
      this.#addLane(lane, item);
      this.#changeFirst(lane, undefined, item);
    }
    lane.push(item);
    this.#count(item);
  }

  #count(item: WaitingItem): void {
    this.#length += 1;
    this.#bytes += item.recordBytes;
    if (!this.#hasUrgent) this.#hasUrgent = isUrgent(item);
  }

  /** It gets the last turn. `item` will be its first. */
  #addLane(lane: Lane<WaitingItem>, item: WaitingItem): void {
    const group = this.#groupFor(item);
    if (group.isEmpty) {
      group.next = this.#lastGroup?.next ?? group;
      if (this.#lastGroup !== undefined) this.#lastGroup.next = group;
      this.#lastGroup = group;
    }
    group.add(lane);
    if (group.identity !== undefined) this.#claim(group.identity, 1);
  }

  /** An empty one. */
  #removeFirstLane(group: LaneGroup<WaitingItem>): void {
    group.removeFirst();
    if (group.identity !== undefined) this.#claim(group.identity, -1);
  }

  #shift(lane: Lane<WaitingItem>): WaitingItem | undefined {
    const item = lane.shift();
    if (item === undefined) return undefined;
    this.#changeFirst(lane, item, lane.first);
    this.#length -= 1;
    this.#bytes -= item.recordBytes;
    return item;
  }

  #changeFirst(
    { group }: Lane<WaitingItem>,
    before: WaitingItem | undefined,
    after: WaitingItem | undefined,
  ): void {
    if (group === undefined) return;
    group.weight += (after?.weight ?? 0) - (before?.weight ?? 0);
    if (!group.isOfPeer) return;
    this.#claimRuns(before, -1);
    this.#claimRuns(after, 1);
  }

  #claimRuns(item: WaitingItem | undefined, sign: 1 | -1): void {
    if (!(item instanceof ForwardedChunk) || item.runs === undefined) return;
    for (const [identity, count] of item.runs) this.#claim(identity, sign * count);
  }

  get #firstGroup(): LaneGroup<WaitingItem> | undefined {
    return this.#lastGroup?.next;
  }

  /** An empty one. */
  #removeFirstGroup(): void {
    const last = this.#lastGroup;
    const first = last?.next;
    if (last === undefined || first === undefined) return;
    first.credit = 0;
    if (first === last) this.#lastGroup = undefined;
    else last.next = first.next;
    first.next = first;
    if (first.identity !== undefined) this.#groupsOfIdentities.delete(first.identity);
  }

  #laneFor(item: WaitingItem): Lane<WaitingItem> {
    return item instanceof KeptCommand
      ? item.attachment.lane
      : entryOf(this.#lanesOfPeers, item.from, () => new Lane<WaitingItem>());
  }

  #groupFor(item: WaitingItem): LaneGroup<WaitingItem> {
    if (item instanceof KeptCommand) {
      const { turnOf } = item.attachment;
      if (turnOf === undefined) return this.#everybody;
      return entryOf(
        this.#groupsOfIdentities,
        turnOf,
        () => new LaneGroup<WaitingItem>({ identity: turnOf }),
      );
    }
    if (item.runs === undefined) return this.#everybody;
    return entryOf(
      this.#groupsOfPeers,
      item.from,
      () => new LaneGroup<WaitingItem>({ isOfPeer: true }),
    );
  }

  /**
   * Drops void items. Without a leader nothing is taken from the line, but clients come, give up
   * and come again: the items they leave must not add up. Costs one look per pushed item.
   */
  #sweep(): void {
    for (const item of this.#drain()) if (!isOver(item)) this.#append(item);
    this.#sweepAtLength = Math.max(SWEEP_LENGTH_MIN, 2 * this.#length);
  }

  /** Takes everything out, lane by lane. */
  #drain(): WaitingItem[] {
    const items: WaitingItem[] = [];
    for (let group = this.#firstGroup; group !== undefined; group = this.#firstGroup) {
      for (let lane = group.firstLane; lane !== undefined; lane = group.firstLane) {
        for (let item = this.#shift(lane); item !== undefined; item = this.#shift(lane)) {
          items.push(item);
        }
        this.#removeFirstLane(group);
      }
      this.#removeFirstGroup();
    }
    return items;
  }
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

function layOut({ items, length }: Taking, headerBytes: number): TakenItems {
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
