/**
 * Takes a snapshot while the table continues (semantics.md, 9.4): a walk over everything in it,
 * split into chunks. Entries may be applied between two chunks. Records that they change are
 * written first ("copy-on-write.ts"), and the walk then skips them. A turn of the walk ends with a
 * full chunk or after a number of looks, so no turn depends on the size of the table, of a session
 * or of a queue.
 */
import { assert } from "../../errors/index.js";
import { Cooldown } from "../records/cooldown.js";
import type { Copied, Copier } from "../records/copy-on-write.js";
import type { EndedLease } from "../records/lease-index.js";
import { Slot } from "../records/reply-window.js";
import { Semaphore } from "../records/semaphore.js";
import { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import {
  BlockWriter,
  recordBeginning,
  recordIdentities,
  recordWork,
  type WorkRecord,
} from "./block-writer.js";
import type { IdentityRecord } from "./record-schema.js";

/**
 * Some 5,000 locks of 50 bytes. Each takes 0.3 microseconds, or up to two if all are cache misses,
 * so that a full chunk takes 2 to 10 milliseconds. Each chunk is a synced write of the store, so
 * fewer chunks are better.
 */
const CHUNK_BYTES = 256 << 10;
/** The most records examined in one turn, including those already saved. */
const LOOKS_MAX = 8_192;

const NOTHING = new Uint8Array(0);

/** Begins a snapshot of `state` as it is now. Each turn of the generator is bounded. */
export function takeSnapshot(
  state: TableState,
  chunkBytes = CHUNK_BYTES,
): Generator<Uint8Array, void, void> {
  const walk = new Walk(state, chunkBytes);
  state.copies.begin(walk);
  const chunks = chunksOf(walk, () => state.copies.end(walk));
  // Starts the generator: one that never ran would not notice that it is abandoned.
  chunks.next();
  return chunks;
}

/** The first value is not a chunk. */
function* chunksOf(walk: Walk, end: () => void): Generator<Uint8Array, void, void> {
  const { writer } = walk;
  const turns = walk.turns();
  try {
    yield NOTHING;
    for (;;) {
      // Entries applied meanwhile may have filled more than one block.
      if (!writer.hasBlock && turns.next().done === true) break;
      yield writer.takeBlock();
    }
  } finally {
    end();
  }
  writer.end();
  while (writer.hasBlock) yield writer.takeBlock();
}

/** Writes each record once: before it changes or when the walk reaches it, whichever is first. */
class Walk implements Copier {
  readonly writer: BlockWriter;
  readonly #state: TableState;
  readonly #identities: readonly IdentityRecord[];
  readonly #endedLeases: readonly EndedLease[];
  readonly #work: readonly WorkRecord[];
  /** Sessions that were ended and still have claims. */
  readonly #ended: readonly Session[];
  /** Numbers and tokens from these on do not belong to this snapshot. */
  readonly #nextNumber: number;
  readonly #nextToken: number;
  /** The claims that are handled next; they advance when one of them is removed. */
  #nextHold = 0;
  #nextRequest: Request | undefined = undefined;
  /** Sessions that ended before the walk reached them. */
  readonly #ending: Session[] = [];
  #looks = 0;

  constructor(state: TableState, chunkBytes: number) {
    this.#state = state;
    this.#identities = recordIdentities(state);
    this.#endedLeases = state.leases.ended();
    this.#work = recordWork(state);
    this.#ended = state.work.list().filter((item) => item instanceof Session);
    this.#nextNumber = state.nextNumber;
    this.#nextToken = state.tokens.next;
    const beginning = recordBeginning(state, this.#work, this.#identities.length);
    this.writer = new BlockWriter(beginning, chunkBytes);
  }

  copy(record: Copied, session?: Copied): void {
    if (record instanceof Session) this.#copySession(record);
    else if (record instanceof Request) this.#copyRequest(record);
    else if (record instanceof Slot && session instanceof Session) this.#copySlot(session, record);
    else if (record instanceof Cooldown) {
      if (this.#isDue(record)) this.writer.record("cooldown", record);
    } else {
      assert(record instanceof Semaphore, () => "a record of a kind that no snapshot has");
      if (this.#isDue(record)) this.writer.record("semaphore", record);
    }
  }

  /** Row 0 is a hold that is not in the table yet, or no longer. */
  copyRow(row: number): void {
    if (row === 0) return;
    const { rows, copies } = this.#state;
    if (this.#nextHold === row) this.#nextHold = rows.nextOf(row);
    if (rows.savedIn(row) === copies.latest) return;
    rows.setSavedIn(row, copies.latest);
    this.#copySession(rows.sessionOf(row));
    const content = rows.contentOf(row);
    if (typeof content === "string") this.writer.loneHold(rows, row, content);
    else this.writer.hold(content);
  }

  copyEnding(session: Copied): void {
    assert(session instanceof Session, () => "the end of something other than a session");
    this.#copySession(session);
    if (session.walkedIn !== this.#state.copies.latest) this.#ending.push(session);
  }

  /** Holds of owners belong to no session that would be written. */
  #copySession(session: Session): void {
    if (session.id > 0 && this.#isDue(session)) this.writer.session(session);
  }

  #copySlot(session: Session, slot: Slot<Request>): void {
    // The slot of a waiting acquire is saved with its request.
    if (!this.#isDue(slot) || slot.state === "waiting" || slot.state === "gone") return;
    this.#copySession(session);
    this.writer.slot(session, slot);
  }

  #copyRequest(request: Request): void {
    if (this.#nextRequest === request) this.#nextRequest = request.next;
    if (!this.#isDue(request)) return;
    this.#copySession(request.session);
    this.writer.request(request);
  }

  /** Whether the record is not in the snapshot yet. Marks it as saved. */
  #isDue(record: Copied): boolean {
    const { latest } = this.#state.copies;
    if (record.savedIn === latest) return false;
    record.savedIn = latest;
    return true;
  }

  *turns(): Generator<void, void, void> {
    const { sessions, detached, semaphores, cooldowns } = this.#state;
    // Entries that are applied meanwhile change nothing of these records.
    for (const identity of this.#identities) {
      this.writer.record("identity", identity);
      if (this.#isTurnOver()) yield;
    }
    for (const ended of this.#endedLeases) {
      this.writer.record("endedLease", ended);
      if (this.#isTurnOver()) yield;
    }
    for (const records of [semaphores.walk(), cooldowns.walk(), this.#ended]) {
      for (const record of records) {
        this.copy(record);
        if (this.#isTurnOver()) yield;
      }
    }
    for (const item of this.#work) {
      this.writer.record(item.kind, item.of);
      if (this.#isTurnOver()) yield;
    }
    for (const some of [this.#ended, [detached], sessions.below(this.#nextNumber)]) {
      for (const session of some) {
        yield* this.#session(session);
        if (this.#isTurnOver()) yield;
      }
    }
    for (let ended = this.#ending.pop(); ended !== undefined; ended = this.#ending.pop()) {
      yield* this.#session(ended);
      if (this.#isTurnOver()) yield;
    }
  }

  *#session(session: Session): Generator<void, void, void> {
    const { copies, rows, detached } = this.#state;
    if (session.walkedIn === copies.latest) return;
    session.walkedIn = copies.latest;
    this.copy(session);
    yield* this.#slots(session);
    this.#nextHold = session.firstHold;
    for (let row = this.#nextHold; row !== 0; row = this.#nextHold) {
      // Holds granted since come last, except among holds of owners, which have no order.
      if (rows.tokenOf(row) >= this.#nextToken && session !== detached) break;
      this.copyRow(row);
      if (this.#isTurnOver()) yield;
    }
    this.#nextRequest = session.firstRequest;
    for (let request = this.#nextRequest; request !== undefined; request = this.#nextRequest) {
      if (request.joined >= this.#nextNumber) break;
      this.copy(request);
      if (this.#isTurnOver()) yield;
    }
  }

  *#slots(session: Session): Generator<void, void, void> {
    const { replies } = session;
    const last = replies.lastSequence;
    for (let slot = replies.firstFrom(0); slot !== undefined; ) {
      const { sequence } = slot;
      if (sequence > last) return;
      this.copy(slot, session);
      if (this.#isTurnOver()) yield;
      slot = replies.firstFrom(sequence + 1);
    }
  }

  #isTurnOver(): boolean {
    this.#looks += 1;
    if (this.#looks < LOOKS_MAX && !this.writer.hasBlock) return false;
    this.#looks = 0;
    return true;
  }
}
