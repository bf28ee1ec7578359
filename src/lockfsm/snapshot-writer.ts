/**
 * Writes the records of a snapshot into blocks ("snapshot-format.ts"), in whatever order they come.
 * Knows nothing of what has been written and what is to come; never changes a record.
 */
import { assert } from "../assert.js";
import { type Result, STATUS, Writer } from "../protocol/index.js";
import type { Hold } from "./hold.js";
import { Key, type Place } from "./key.js";
import { NO_DEADLINE, type Request } from "./request.js";
import type { Session } from "./session.js";
import type { Slot } from "./slot-list.js";
import {
  BLOCK_HEAD_BYTES,
  BODY_BYTES_MAX,
  checksumOf,
  FORMAT_VERSION,
  ITEM_EXCLUSIVE,
  ITEM_REACHED,
  KIND,
  MAGIC,
  REFUSALS_FROM,
  SLOT_STATES,
  TOMBSTONE,
} from "./snapshot-format.js";
import type { TableState } from "./state.js";
import type { Work } from "./work-queue.js";

/** A record of 16 keys may come on top of a full block. */
const RECORD_BYTES_MAX = 16 << 10;

export class SnapshotWriter {
  readonly #chunkBytes: number;
  readonly #body: Writer;
  /** Of the moment of the snapshot. */
  readonly #index: number;
  readonly #stamp: number;
  readonly #nextToken: number;
  /** Sealed, and not fetched yet. */
  #blocks: Uint8Array[] = [];
  /** Fetched of them. */
  #fetched = 0;
  #blockCount = 0;
  #slotCount = 0;
  /** Whose slots and claims are being written; 0 for none. */
  #sessionId = 0;

  /** Writes the beginning of a snapshot of `state` as it is now. */
  constructor(state: TableState, work: readonly Work[], chunkBytes: number) {
    assert(
      Number.isSafeInteger(chunkBytes) && chunkBytes > 0 && chunkBytes < BODY_BYTES_MAX / 2,
      () => `chunks of ${chunkBytes} bytes`,
    );
    this.#chunkBytes = chunkBytes;
    this.#body = new Writer(chunkBytes + RECORD_BYTES_MAX);
    this.#index = state.index;
    this.#stamp = state.stamp;
    this.#nextToken = state.tokens.next;
    this.#beginning(state, work);
  }

  get hasBlock(): boolean {
    return this.#fetched < this.#blocks.length;
  }

  /** The next block; seals what there is, be it nothing, when none is complete. */
  takeBlock(): Uint8Array {
    if (!this.hasBlock) this.#seal();
    const block = this.#blocks[this.#fetched] as Uint8Array;
    this.#fetched += 1;
    if (!this.hasBlock) {
      this.#blocks = [];
      this.#fetched = 0;
    }
    return block;
  }

  session(session: Session): void {
    const body = this.#body;
    body.uint(KIND.session);
    body.uint(session.id);
    body.string(session.nonce);
    body.string(session.name);
    body.string(session.metadata);
    body.uint(session.ttlMs);
    body.uint(session.dueAt);
    body.uint(session.attachEpoch);
    body.uint(this.#stamp - session.attachedAt);
    body.uint(session.attachedSequence);
    body.uint(session.highestSequence);
    body.uint(session.replies.mark);
    body.uint(session.isEnded ? 1 : 0);
    this.#sessionId = session.id;
    this.#endRecord();
  }

  slot(session: Session, slot: Slot): void {
    this.#of(session);
    const body = this.#body;
    const state = SLOT_STATES.indexOf(slot.state as (typeof SLOT_STATES)[number]);
    assert(state >= 0, () => `sequence ${slot.sequence} is ${slot.state}`);
    body.uint(KIND.slot);
    body.uint(slot.sequence);
    body.uint(this.#stamp - slot.stamp);
    body.uint(state);
    body.uint(slot.endReason === undefined ? 0 : slot.endReason + 1);
    if (state !== TOMBSTONE) this.#result(slot.result);
    this.#slotCount += 1;
    this.#endRecord();
  }

  hold(hold: Hold): void {
    this.#of(hold.session);
    const body = this.#body;
    body.uint(KIND.hold);
    body.uint(this.#nextToken - hold.token);
    body.uint(hold.owner);
    body.uint(hold.sequence);
    body.uint(this.#stamp - hold.grantedAt);
    this.#items(hold.firstPlace, false);
    this.#endRecord();
  }

  request(request: Request): void {
    this.#of(request.session);
    const { enqueuedAt, dueAt } = request;
    const body = this.#body;
    body.uint(KIND.request);
    body.uint(request.number);
    body.uint(request.owner);
    body.uint(request.slot.sequence);
    body.uint(this.#stamp - enqueuedAt);
    body.uint(dueAt === NO_DEADLINE ? 0 : dueAt - enqueuedAt + 1);
    this.#items(request.firstPlace, true);
    this.#endRecord();
  }

  work(item: Work): void {
    if (item instanceof Key) {
      this.#body.uint(KIND.workKey);
      this.#body.string(item.name);
    } else {
      this.#body.uint(KIND.workSession);
      this.#body.uint(item.id);
    }
    this.#endRecord();
  }

  end(): void {
    this.#body.uint(KIND.end);
    this.#body.uint(this.#slotCount);
    this.#seal();
  }

  #beginning(state: TableState, work: readonly Work[]): void {
    const { settings, sessions, holds } = state;
    const endedCount = work.reduce((sum, item) => sum + (item instanceof Key ? 0 : 1), 0);
    const body = this.#body;
    body.string(MAGIC);
    body.uint(FORMAT_VERSION);
    body.uint(this.#index);
    body.uint(this.#stamp);
    body.uint(this.#nextToken);
    body.uint(state.nextNumber);
    body.arrayHeader(5);
    body.uint(settings.waitersMax);
    body.uint(settings.inFlightMax);
    body.uint(settings.unacknowledgedMax);
    body.uint(settings.unitsPerEntryMax);
    body.uint(settings.grantsPerStepMax);
    body.arrayHeader(4);
    body.uint(sessions.size + endedCount);
    body.uint(holds.size);
    body.uint(state.requestCount);
    body.uint(work.length);
    this.#endRecord();
  }

  #of(session: Session): void {
    if (this.#sessionId === session.id) return;
    this.#sessionId = session.id;
    this.#body.uint(KIND.of);
    this.#body.uint(session.id);
  }

  #items(first: Place | undefined, isWaiting: boolean): void {
    const body = this.#body;
    let count = 0;
    for (let place = first; place !== undefined; place = place.sibling) count += 1;
    body.uint(count);
    for (let place = first; place !== undefined; place = place.sibling) {
      const reached = isWaiting && place.reached;
      body.uint((place.exclusive ? ITEM_EXCLUSIVE : 0) | (reached ? ITEM_REACHED : 0));
      body.string(place.key.name);
    }
  }

  #result(result: Result): void {
    const body = this.#body;
    body.uint(result.status);
    if (result.status === STATUS.granted) body.uint(this.#nextToken - result.token);
    else if (result.status === STATUS.notReleased) body.uint(result.reason);
    else if (result.status >= REFUSALS_FROM) this.#blockers(result);
  }

  #blockers(result: Result): void {
    const body = this.#body;
    if (!("blockers" in result) || result.blockers === undefined) {
      body.nil();
      return;
    }
    const { blockedBy, blockers } = result;
    assert(blockedBy !== undefined, () => `${blockers.length} blockers of no kind`);
    body.uint(blockedBy);
    body.arrayHeader(blockers.length);
    for (const { sessionName, key, mode, token } of blockers) {
      body.string(sessionName);
      body.string(key);
      body.uint(mode === "exclusive" ? 1 : 0);
      body.uint(token === 0 ? 0 : this.#nextToken - token);
    }
  }

  #endRecord(): void {
    if (this.#body.length >= this.#chunkBytes) this.#seal();
  }

  #seal(): void {
    const body = this.#body.view();
    const block = new Uint8Array(BLOCK_HEAD_BYTES + body.length);
    block.set(body, BLOCK_HEAD_BYTES);
    // The first block tells the index that the others are bound to.
    const index = this.#blockCount === 0 ? 0 : this.#index;
    const head = new DataView(block.buffer);
    head.setUint32(0, body.length);
    head.setUint32(4, checksumOf(body, this.#blockCount, index));
    this.#blocks.push(block);
    this.#blockCount += 1;
    this.#body.reset();
  }
}
