/**
 * A snapshot while the table goes on (semantics.md, 9.4): a walk over all that it holds, cut
 * into chunks. Between two chunks entries may be applied; what they change is written first
 * (`saving.ts`), and the walk finds it done. A turn of the walk ends with a full chunk or after so
 * many looks, hence no turn depends on the size of the table, of a session or of a queue.
 */

import { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { Saving } from "./saving.js";
import { recordWork, type WorkRecord } from "./work-record.js";
import { SnapshotWriter } from "./writer.js";

/**
 * Some 5,000 locks at 50 bytes: 0.3 microseconds each, up to two where all of them are cache misses,
 * so that a full chunk takes 2 to 10 milliseconds. Each is a synced write of the store, hence the
 * fewer the better.
 */
const CHUNK_BYTES = 256 << 10;
/** Records looked at in one turn, those that are saved already included. */
const LOOKS_MAX = 8_192;

const NOTHING = new Uint8Array(0);

/** Begins a snapshot of `state` as it is now; the generator's turns are bounded. */
export function takeSnapshot(
  state: TableState,
  chunkBytes = CHUNK_BYTES,
): Generator<Uint8Array, void, void> {
  const work = recordWork(state);
  const ended = state.work.list().filter((item) => item instanceof Session);
  const writer = new SnapshotWriter(state, work, chunkBytes);
  state.saving.begin(writer);
  const chunks = chunksOf(state.saving, writer, new Walk(state, work, ended, writer).turns());
  // A generator that never ran would not notice that it is given up.
  chunks.next();
  return chunks;
}

/** The first value is not a chunk. */
function* chunksOf(
  saving: Saving,
  writer: SnapshotWriter,
  turns: Generator<void, void, void>,
): Generator<Uint8Array, void, void> {
  try {
    yield NOTHING;
    for (;;) {
      // Entries that were applied meanwhile may have filled more than one.
      if (!writer.hasBlock && turns.next().done === true) break;
      yield writer.takeBlock();
    }
  } finally {
    saving.end(writer);
  }
  writer.end();
  while (writer.hasBlock) yield writer.takeBlock();
}

class Walk {
  readonly #state: TableState;
  readonly #work: readonly WorkRecord[];
  /** Sessions that were ended and still have claims. */
  readonly #ended: readonly Session[];
  readonly #writer: SnapshotWriter;
  /** Numbers and tokens from these on are not of this snapshot. */
  readonly #nextNumber: number;
  readonly #nextToken: number;
  #looks = 0;

  constructor(
    state: TableState,
    work: readonly WorkRecord[],
    ended: readonly Session[],
    writer: SnapshotWriter,
  ) {
    this.#state = state;
    this.#work = work;
    this.#ended = ended;
    this.#writer = writer;
    this.#nextNumber = state.nextNumber;
    this.#nextToken = state.tokens.next;
  }

  *turns(): Generator<void, void, void> {
    const { saving, sessions, detached } = this.#state;
    for (const semaphore of this.#state.semaphores.walk()) {
      saving.keepSemaphore(semaphore);
      if (this.#isTurnOver()) yield;
    }
    for (const closing of this.#state.closings.walk()) {
      saving.keepClosing(closing);
      if (this.#isTurnOver()) yield;
    }
    for (const session of this.#ended) {
      saving.keepSession(session);
      if (this.#isTurnOver()) yield;
    }
    for (const item of this.#work) {
      this.#writer.work(item);
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
    for (let ended = saving.takeEnding(); ended !== undefined; ended = saving.takeEnding()) {
      yield* this.#session(ended);
      if (this.#isTurnOver()) yield;
    }
  }

  *#session(session: Session): Generator<void, void, void> {
    const { saving, rows } = this.#state;
    if (session.walkedIn === saving.epoch) return;
    session.walkedIn = saving.epoch;
    saving.keepSession(session);
    yield* this.#slots(session);
    saving.nextHold = session.firstHold;
    for (let row = saving.nextHold; row !== 0; row = saving.nextHold) {
      // What was granted since comes last, but among tickets, which come as they were left.
      if (rows.tokenOf(row) >= this.#nextToken && session !== this.#state.detached) break;
      saving.keepRow(row);
      if (this.#isTurnOver()) yield;
    }
    saving.nextRequest = session.firstRequest;
    for (let request = saving.nextRequest; request !== undefined; request = saving.nextRequest) {
      if (request.number >= this.#nextNumber) break;
      saving.keepRequest(request);
      if (this.#isTurnOver()) yield;
    }
  }

  *#slots(session: Session): Generator<void, void, void> {
    const { saving } = this.#state;
    const { replies } = session;
    const last = replies.lastSequence;
    for (let slot = replies.firstFrom(0); slot !== undefined; ) {
      const { sequence } = slot;
      if (sequence > last) return;
      saving.keepSlot(session, slot);
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
