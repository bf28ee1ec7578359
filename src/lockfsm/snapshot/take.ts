/**
 * Takes a snapshot while the table continues (semantics.md, 9.4): a walk over everything in it,
 * split into chunks. Entries may be applied between two chunks. Records that they change are
 * written first ("copy-on-write.ts"), and the walk then skips them. A turn of the walk ends with a
 * full chunk or after a number of looks, so no turn depends on the size of the table, of a session
 * or of a queue.
 */
import { assert } from "../../errors/index.js";
import { Closing } from "../records/closing.js";
import type { Copied, Copier } from "../records/copy-on-write.js";
import type { EndedLease } from "../records/lease-index.js";
import { Slot } from "../records/reply-window.js";
import { Semaphore } from "../records/semaphore.js";
import { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { IdentityRecord } from "./record-schema.js";
import {
  recordBeginning,
  recordIdentities,
  recordWork,
  SnapshotWriter,
  type WorkRecord,
} from "./writer.js";

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
  const work = recordWork(state);
  const ended = state.work.list().filter((item) => item instanceof Session);
  const identities = recordIdentities(state);
  const leases = state.leases.ended();
  const writer = new SnapshotWriter(recordBeginning(state, work, identities.length), chunkBytes);
  const copier = new RecordCopier(state, writer);
  state.copies.begin(copier);
  const walk = new Walk(state, identities, leases, work, ended, writer, copier);
  const chunks = chunksOf(writer, walk.turns(), () => state.copies.end(copier));
  // Starts the generator: one that never ran would not notice that it is abandoned.
  chunks.next();
  return chunks;
}

/** The first value is not a chunk. */
function* chunksOf(
  writer: SnapshotWriter,
  turns: Generator<void, void, void>,
  end: () => void,
): Generator<Uint8Array, void, void> {
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
class RecordCopier implements Copier {
  readonly #state: TableState;
  readonly #writer: SnapshotWriter;
  /** The claims that the walk handles next; they advance when one of them is removed. */
  nextHold = 0;
  nextRequest: Request | undefined = undefined;
  /** Sessions that ended before the walk reached them. */
  readonly #ending: Session[] = [];

  constructor(state: TableState, writer: SnapshotWriter) {
    this.#state = state;
    this.#writer = writer;
  }

  copy(record: Copied, session?: Copied): void {
    if (record instanceof Session) this.#session(record);
    else if (record instanceof Request) this.#request(record);
    else if (record instanceof Slot && session instanceof Session) this.#slot(session, record);
    else if (record instanceof Closing) {
      if (this.#isDue(record)) this.#writer.closing(record);
    } else {
      assert(record instanceof Semaphore, () => "a record of a kind that no snapshot has");
      if (this.#isDue(record)) this.#writer.record("semaphore", record);
    }
  }

  /** Row 0 is a hold that is not in the table yet, or no longer. */
  copyRow(row: number): void {
    if (row === 0) return;
    const { rows, copies } = this.#state;
    if (this.nextHold === row) this.nextHold = rows.nextOf(row);
    if (rows.savedIn(row) === copies.latest) return;
    rows.setSavedIn(row, copies.latest);
    this.#session(rows.sessionOf(row));
    const content = rows.contentOf(row);
    if (typeof content === "string") this.#writer.loneHold(rows, row, content);
    else this.#writer.hold(content);
  }

  copyEnding(session: Copied): void {
    assert(session instanceof Session, () => "the end of something other than a session");
    this.#session(session);
    if (session.walkedIn !== this.#state.copies.latest) this.#ending.push(session);
  }

  takeEnding(): Session | undefined {
    return this.#ending.pop();
  }

  /** Holds of owners belong to no session that would be written. */
  #session(session: Session): void {
    if (session.id > 0 && this.#isDue(session)) this.#writer.session(session);
  }

  #slot(session: Session, slot: Slot<Request>): void {
    // The slot of a waiting acquire is saved with its request.
    if (!this.#isDue(slot) || slot.state === "waiting" || slot.state === "gone") return;
    this.#session(session);
    this.#writer.slot(session, slot);
  }

  #request(request: Request): void {
    if (this.nextRequest === request) this.nextRequest = request.next;
    if (!this.#isDue(request)) return;
    this.#session(request.session);
    this.#writer.request(request);
  }

  /** Whether the record is not in the snapshot yet. Marks it as saved. */
  #isDue(record: Copied): boolean {
    const { latest } = this.#state.copies;
    if (record.savedIn === latest) return false;
    record.savedIn = latest;
    return true;
  }
}

class Walk {
  readonly #state: TableState;
  readonly #identities: readonly IdentityRecord[];
  readonly #endedLeases: readonly EndedLease[];
  readonly #work: readonly WorkRecord[];
  /** Sessions that were ended and still have claims. */
  readonly #ended: readonly Session[];
  readonly #writer: SnapshotWriter;
  readonly #copier: RecordCopier;
  /** Numbers and tokens from these on do not belong to this snapshot. */
  readonly #nextNumber: number;
  readonly #nextToken: number;
  #looks = 0;

  constructor(
    state: TableState,
    identities: readonly IdentityRecord[],
    endedLeases: readonly EndedLease[],
    work: readonly WorkRecord[],
    ended: readonly Session[],
    writer: SnapshotWriter,
    copier: RecordCopier,
  ) {
    this.#state = state;
    this.#identities = identities;
    this.#endedLeases = endedLeases;
    this.#work = work;
    this.#ended = ended;
    this.#writer = writer;
    this.#copier = copier;
    this.#nextNumber = state.nextNumber;
    this.#nextToken = state.tokens.next;
  }

  *turns(): Generator<void, void, void> {
    const { sessions, detached } = this.#state;
    const copier = this.#copier;
    yield* this.#access();
    for (const ended of this.#endedLeases) {
      this.#writer.record("endedLease", ended);
      if (this.#isTurnOver()) yield;
    }
    for (const semaphore of this.#state.semaphores.walk()) {
      copier.copy(semaphore);
      if (this.#isTurnOver()) yield;
    }
    for (const closing of this.#state.closings.walk()) {
      copier.copy(closing);
      if (this.#isTurnOver()) yield;
    }
    for (const session of this.#ended) {
      copier.copy(session);
      if (this.#isTurnOver()) yield;
    }
    for (const item of this.#work) {
      this.#writer.record(item.kind, item.of);
      if (this.#isTurnOver()) yield;
    }
    for (const session of this.#ended) {
      yield* this.#session(session);
      if (this.#isTurnOver()) yield;
    }
    yield* this.#session(detached);
    for (const session of sessions.below(this.#nextNumber)) {
      yield* this.#session(session);
      if (this.#isTurnOver()) yield;
    }
    for (let ended = copier.takeEnding(); ended !== undefined; ended = copier.takeEnding()) {
      yield* this.#session(ended);
      if (this.#isTurnOver()) yield;
    }
  }

  /** Entries that are applied meanwhile change nothing of these records. */
  *#access(): Generator<void, void, void> {
    for (const identity of this.#identities) {
      this.#writer.record("identity", identity);
      if (this.#isTurnOver()) yield;
    }
  }

  *#session(session: Session): Generator<void, void, void> {
    const { copies, rows } = this.#state;
    const copier = this.#copier;
    if (session.walkedIn === copies.latest) return;
    session.walkedIn = copies.latest;
    copier.copy(session);
    yield* this.#slots(session);
    copier.nextHold = session.firstHold;
    for (let row = copier.nextHold; row !== 0; row = copier.nextHold) {
      // Holds granted since come last, except among holds of owners, which have no order.
      if (rows.tokenOf(row) >= this.#nextToken && session !== this.#state.detached) break;
      copier.copyRow(row);
      if (this.#isTurnOver()) yield;
    }
    copier.nextRequest = session.firstRequest;
    for (let request = copier.nextRequest; request !== undefined; request = copier.nextRequest) {
      if (request.joined >= this.#nextNumber) break;
      copier.copy(request);
      if (this.#isTurnOver()) yield;
    }
  }

  *#slots(session: Session): Generator<void, void, void> {
    const { replies } = session;
    const last = replies.lastSequence;
    for (let slot = replies.firstFrom(0); slot !== undefined; ) {
      const { sequence } = slot;
      if (sequence > last) return;
      this.#copier.copy(slot, session);
      if (this.#isTurnOver()) yield;
      slot = replies.firstFrom(sequence + 1);
    }
  }

  #isTurnOver(): boolean {
    this.#looks += 1;
    if (this.#looks < LOOKS_MAX && !this.#writer.hasBlock) return false;
    this.#looks = 0;
    return true;
  }
}
