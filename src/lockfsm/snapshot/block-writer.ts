/**
 * Writes the records of a snapshot into blocks ("format.ts"), in any order. It does not know which
 * records have been written or are to come, and it must never change one.
 */

import { assert } from "../../errors/index.js";
import { MODEL_VERSION } from "../../protocol/index.js";
import type { Hold } from "../records/hold.js";
import type { HoldRows } from "../records/hold-rows.js";
import { Key } from "../records/key.js";
import type { Slot } from "../records/reply-window.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { RemovedIdentity } from "../records/work-queue.js";
import { BLOCK_HEAD_BYTES, BODY_BYTES_MAX, checksumOf, MAGIC, type Moment } from "./format.js";
import { writeHold, writeLoneHold } from "./hold-records.js";
import { RecordWriter } from "./kinds.js";
import {
  BEGINNING,
  type Beginning,
  type IdentityRecord,
  type RecordName,
  type SourceOf,
  writeRecord,
} from "./record-schema.js";

/** One item of the work queue, or a deferred search. */
export type WorkRecord = {
  [N in RecordName & `work${string}`]: { readonly kind: N; readonly of: SourceOf<N> };
}[RecordName & `work${string}`];

/** All but `local`, of which there is nothing to say. */
export function recordIdentities({ access }: TableState): IdentityRecord[] {
  const identities = [...access.identities(), ...access.removed()];
  return identities
    .filter((identity) => identity !== access.local)
    .map(({ number, name, isRemoved, grants, credentials }) => {
      return { number, name, isRemoved, grants, credentials };
    });
}

/** The work queue and the deferred searches as they are now, in order. */
export function recordWork(state: TableState): WorkRecord[] {
  const records: WorkRecord[] = [];
  state.work.forEach((item) => {
    if (item instanceof Key) {
      const { name, frontier: place, semaphore } = item;
      const frontier = place === undefined ? 0 : orderOf(place).number;
      records.push({ kind: "workKey", of: { name, frontier, evictFrom: semaphore?.evictFrom } });
    } else if (item instanceof RemovedIdentity) {
      const { identity, orderedBy } = item;
      records.push({ kind: "workIdentity", of: { number: identity.number, orderedBy } });
    } else records.push({ kind: "workSession", of: { session: item.id } });
  });
  state.searches.forEach(({ session, sequence }) => {
    records.push({ kind: "workRequest", of: { session: session.id, sequence } });
  });
  return records;
}

/** What the first record says of the table as it is now. */
export function recordBeginning(
  state: TableState,
  work: readonly WorkRecord[],
  identities: number,
): Beginning {
  const { settings, sessions, holds, cooldowns, semaphores, access, leases, stamp } = state;
  const ended = work.reduce((sum, { kind }) => sum + (kind === "workSession" ? 1 : 0), 0);
  return {
    index: state.index,
    stamp,
    nextToken: state.tokens.next,
    nextNumber: state.nextNumber,
    nextIdentity: access.nextIdentity,
    nextCredential: access.nextCredential,
    leftAtMs: state.tokens.leftAtMs,
    quietUntil: state.quietUntil,
    settings,
    revision: access.revision,
    adminOrderCount: state.adminOrderCount,
    limitOrderCount: state.limitOrderCount,
    counts: {
      sessions: sessions.size + ended,
      holds: holds.size,
      requests: state.requestCount,
      work: work.length,
      cooldowns: cooldowns.size,
      semaphores: semaphores.size,
      identities,
      endedLeases: leases.ended().length,
    },
  };
}

/**
 * Bytes of the largest record, one of 16 keys or a session with many losses, that can exceed a full
 * block. The buffer grows for an identity with many grants.
 */
const RECORD_BYTES_MAX = 32 << 10;

export class BlockWriter {
  readonly #chunkBytes: number;
  readonly #body: RecordWriter;
  readonly #index: number;
  /** Sealed blocks that have not all been fetched. */
  #blocks: Uint8Array[] = [];
  /** How many of them have been fetched. */
  #fetched = 0;
  #blockCount = 0;
  #slotCount = 0;
  /** The session whose slots and claims are being written; 0 for holds of owners, `undefined` for none. */
  #sessionId: number | undefined = undefined;

  /** Writes the beginning of a snapshot. */
  constructor(beginning: Beginning, chunkBytes: number) {
    assert(
      Number.isSafeInteger(chunkBytes) && chunkBytes > 0 && chunkBytes < BODY_BYTES_MAX / 2,
      () => `chunks of ${chunkBytes} bytes`,
    );
    const { stamp, nextToken, nextNumber, nextIdentity, nextCredential } = beginning;
    const moment: Moment = { stamp, nextToken, nextNumber, nextIdentity, nextCredential };
    this.#chunkBytes = chunkBytes;
    this.#body = new RecordWriter(moment, chunkBytes + RECORD_BYTES_MAX);
    this.#index = beginning.index;
    this.#body.string(MAGIC);
    this.#body.uint(MODEL_VERSION);
    BEGINNING.write(this.#body, beginning);
    this.#endRecord();
  }

  get hasBlock(): boolean {
    return this.#fetched < this.#blocks.length;
  }

  /** Returns the next block. If none is complete, seals the current one, even an empty one. */
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

  /** Writes a record that belongs to no session. */
  record<N extends RecordName>(name: N, of: SourceOf<N>): void {
    writeRecord(this.#body, name, of);
    this.#endRecord();
  }

  session(session: Session): void {
    this.#sessionId = session.id;
    this.record("session", session);
  }

  slot(session: Session, slot: Slot<Request>): void {
    this.#of(session);
    this.#slotCount += 1;
    this.record("slot", slot);
  }

  hold(hold: Hold): void {
    this.#of(hold.session);
    writeHold(this.#body, hold);
    this.#endRecord();
  }

  loneHold(rows: HoldRows, row: number, name: string): void {
    this.#of(rows.sessionOf(row));
    writeLoneHold(this.#body, rows, row, name);
    this.#endRecord();
  }

  request(request: Request): void {
    this.#of(request.session);
    this.record("request", request);
  }

  end(): void {
    writeRecord(this.#body, "end", { slots: this.#slotCount });
    this.#seal();
  }

  #of(session: Session): void {
    if (this.#sessionId === session.id) return;
    this.#sessionId = session.id;
    writeRecord(this.#body, "of", session);
  }

  #endRecord(): void {
    if (this.#body.length >= this.#chunkBytes) this.#seal();
  }

  #seal(): void {
    const body = this.#body.view();
    const block = new Uint8Array(BLOCK_HEAD_BYTES + body.length);
    block.set(body, BLOCK_HEAD_BYTES);
    // The first block states the index that the checksums of the others include.
    const index = this.#blockCount === 0 ? 0 : this.#index;
    const head = new DataView(block.buffer);
    head.setUint32(0, body.length);
    head.setUint32(4, checksumOf(body, this.#blockCount, index));
    this.#blocks.push(block);
    this.#blockCount += 1;
    this.#body.reset();
  }
}
