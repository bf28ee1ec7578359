/**
 * Writes the records of a snapshot into blocks ("format.ts"), in any order. It does not know which
 * records have been written or are to come, and it must never change one.
 */
import { assert } from "../../errors/index.js";
import { CLAIM_MODES, CREDENTIAL_KIND, MODEL_VERSION, Writer } from "../../protocol/index.js";
import type { Closing } from "../records/closing.js";
import { type Hold, type HoldExtras, upgradedBy } from "../records/hold.js";
import type { HoldRows } from "../records/hold-rows.js";
import type { Credential, Grant, Identity } from "../records/identity.js";
import { Key, type Place } from "../records/key.js";
import type { LeaseWait } from "../records/lease.js";
import type { EndedLease } from "../records/lease-index.js";
import type { Slot } from "../records/reply-window.js";
import type { Semaphore } from "../records/semaphore.js";
import { NO_DEADLINE, orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { Order } from "../records/waiting-queue.js";
import { RemovedIdentity } from "../records/work-queue.js";
import { SETTING_NAMES } from "../settings.js";
import {
  BLOCK_HEAD_BYTES,
  BODY_BYTES_MAX,
  checksumOf,
  HOLD_CONTENDED,
  HOLD_EXTRAS,
  HOLD_LONE,
  KIND,
  LEASE_OF_BEARER,
  LEASE_OF_IDENTITY,
  MAGIC,
  RANK_LOWEST,
  REQUEST_ACQUIRE,
  REQUEST_TAKE,
  REQUEST_UPGRADE,
  SLOT_STATES,
} from "./format.js";
import { writeOptions, writeResult } from "./values.js";

/** The work queue and the deferred searches, as they were at the moment of the snapshot. */
export type WorkRecord =
  | {
      readonly kind: typeof KIND.workKey;
      readonly name: string;
      /** The number of the first request that was not reached; 0 if all were. */
      readonly frontier: number;
      readonly evictFrom: Order | undefined;
    }
  | { readonly kind: typeof KIND.workSession; readonly session: number }
  | {
      readonly kind: typeof KIND.workIdentity;
      readonly identity: number;
      readonly orderedBy: string;
    }
  | {
      readonly kind: typeof KIND.workRequest;
      readonly session: number;
      readonly sequence: number;
    };

/** An identity as it was at the moment of the snapshot: its lists are replaced, not changed. */
export type IdentityRecord = Readonly<
  Pick<Identity, "number" | "name" | "isRemoved" | "grants" | "credentials">
>;

/** All but `local`, of which there is nothing to say. */
export function recordIdentities({ access }: TableState): IdentityRecord[] {
  const identities = [...access.identities(), ...access.removed()];
  return identities
    .filter((identity) => identity !== access.local)
    .map(({ number, name, isRemoved, grants, credentials }) => {
      return { number, name, isRemoved, grants, credentials };
    });
}

/** In order. */
export function recordWork(state: TableState): WorkRecord[] {
  const records: WorkRecord[] = [];
  state.work.forEach((item) => {
    if (item instanceof Key) {
      const { name, frontier: place, semaphore } = item;
      const frontier = place === undefined ? 0 : orderOf(place).number;
      const evictFrom = semaphore?.evictFrom;
      records.push({ kind: KIND.workKey, name, frontier, evictFrom });
    } else if (item instanceof RemovedIdentity) {
      const { identity, orderedBy } = item;
      records.push({ kind: KIND.workIdentity, identity: identity.number, orderedBy });
    } else records.push({ kind: KIND.workSession, session: item.id });
  });
  state.searches.forEach(({ session, sequence }) => {
    records.push({ kind: KIND.workRequest, session: session.id, sequence });
  });
  return records;
}

/**
 * Bytes of the largest record, one of 16 keys or a session with many losses, that can exceed a full
 * block.
 */
const RECORD_BYTES_MAX = 32 << 10;

export class SnapshotWriter {
  readonly #chunkBytes: number;
  readonly #body: Writer;
  /** The index, stamp and next token at the moment of the snapshot. */
  readonly #index: number;
  readonly #stamp: number;
  readonly #nextToken: number;
  /** Sealed blocks that have not all been fetched. */
  #blocks: Uint8Array[] = [];
  /** How many of them have been fetched. */
  #fetched = 0;
  #blockCount = 0;
  #slotCount = 0;
  /** The session whose slots and claims are being written; 0 for holds of owners, `undefined` for none. */
  #sessionId: number | undefined = undefined;

  /** Writes the beginning of a snapshot of `state` as it is now. */
  constructor(
    state: TableState,
    work: readonly WorkRecord[],
    identities: readonly IdentityRecord[],
    endedLeases: readonly EndedLease[],
    chunkBytes: number,
  ) {
    assert(
      Number.isSafeInteger(chunkBytes) && chunkBytes > 0 && chunkBytes < BODY_BYTES_MAX / 2,
      () => `chunks of ${chunkBytes} bytes`,
    );
    this.#chunkBytes = chunkBytes;
    this.#body = new Writer(chunkBytes + RECORD_BYTES_MAX);
    this.#index = state.index;
    this.#stamp = state.stamp;
    this.#nextToken = state.tokens.next;
    this.#beginning(state, work, identities, endedLeases.length);
  }

  get hasBlock(): boolean {
    return this.#fetched < this.#blocks.length;
  }

  /** Returns the next block. If none is complete, seals the present one, even an empty one. */
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

  identity({ number, name, isRemoved }: IdentityRecord): void {
    const body = this.#body;
    body.uint(KIND.identity);
    body.uint(number);
    body.string(name);
    body.uint(isRemoved ? 1 : 0);
    this.#endRecord();
  }

  /** Of the identity that was written last. */
  grant({ key, isPrefix, level }: Grant): void {
    const body = this.#body;
    body.uint(KIND.grant);
    body.string(key);
    body.uint(isPrefix ? 1 : 0);
    body.uint(level);
    this.#endRecord();
  }

  /** Of the identity that was written last. */
  credential(credential: Credential): void {
    const body = this.#body;
    body.uint(KIND.credential);
    body.uint(credential.number);
    body.string(credential.label);
    body.uint(CREDENTIAL_KIND[credential.kind]);
    body.string(credential.digest);
    body.uint(credential.expiresWallMs);
    body.uint(credential.createdWallMs);
    this.#endRecord();
  }

  session(session: Session): void {
    const body = this.#body;
    const { forcedEnd, losses } = session;
    body.uint(KIND.session);
    body.uint(session.id);
    body.string(session.nonceDigest);
    body.string(session.name);
    body.string(session.metadata);
    body.uint(session.credential.identity.number);
    body.uint(session.credential.number);
    body.uint(session.origin.node);
    body.string(session.origin.address);
    body.uint(session.ttlMs);
    body.uint(session.dueAt);
    body.uint(session.attempt);
    body.uint(session.attachEpoch);
    body.uint(this.#stamp - session.attachedAt);
    body.uint(session.attachedSequence);
    body.uint(session.highestSequence);
    body.uint(session.replies.mark);
    body.uint(session.endedBy === undefined ? 0 : session.endedBy + 1);
    if (session.endedBy !== undefined) body.string(session.orderedBy);
    body.uint(forcedEnd?.dueAt ?? 0);
    if (forcedEnd !== undefined) {
      body.uint(forcedEnd.number);
      body.string(forcedEnd.reason);
      body.string(forcedEnd.orderedBy);
    }
    body.uint(losses?.size ?? 0);
    for (const [sequence, { token, reason }] of losses ?? []) {
      body.uint(sequence);
      body.uint(this.#nextToken - token);
      body.uint(reason);
    }
    this.#sessionId = session.id;
    this.#endRecord();
  }

  slot(session: Session, slot: Slot<Request>): void {
    this.#of(session);
    const body = this.#body;
    const state = SLOT_STATES.indexOf(slot.state as (typeof SLOT_STATES)[number]);
    assert(state >= 0, () => `sequence ${slot.sequence} is ${slot.state}`);
    body.uint(KIND.slot);
    body.uint(slot.sequence);
    body.uint(this.#stamp - slot.stamp);
    body.uint(state);
    writeResult(body, slot.result, this.#nextToken);
    this.#slotCount += 1;
    this.#endRecord();
  }

  hold(hold: Hold): void {
    this.#of(hold.session);
    const body = this.#body;
    const { extras } = hold;
    body.uint(KIND.hold);
    body.uint(this.#nextToken - hold.token);
    body.uint(hold.owner);
    body.uint(hold.sequence);
    body.uint(this.#stamp - hold.grantedAt);
    const flags = (hold.isContended ? HOLD_CONTENDED : 0) | (extras ? HOLD_EXTRAS : 0);
    body.uint(flags);
    body.uint(hold.waitedMs);
    if (extras !== undefined) this.#extras(extras);
    this.#items(hold.firstPlace, true);
    this.#endRecord();
  }

  loneHold(rows: HoldRows, row: number, name: string): void {
    this.#of(rows.sessionOf(row));
    const body = this.#body;
    body.uint(KIND.hold);
    body.uint(this.#nextToken - rows.tokenOf(row));
    body.uint(rows.ownerOf(row));
    body.uint(rows.sequenceOf(row));
    body.uint(this.#stamp - rows.grantedAtOf(row));
    body.uint(HOLD_LONE);
    body.string(name);
    this.#endRecord();
  }

  request(request: Request): void {
    this.#of(request.session);
    const { enqueuedAt, dueAt } = request;
    const upgraded = upgradedBy(request);
    const body = this.#body;
    body.uint(KIND.request);
    body.uint(request.number);
    if (upgraded === undefined) {
      body.uint(request.lease === undefined ? REQUEST_ACQUIRE : REQUEST_TAKE);
      body.uint(enqueuedAt - request.rank);
      writeOptions(body, request.options);
      if (request.lease !== undefined) {
        this.#leaseWait(request.lease);
        body.uint(request.joined);
        body.uint(this.#stamp - (request.slot?.stamp ?? enqueuedAt));
      }
    } else {
      body.uint(REQUEST_UPGRADE);
      body.uint(upgraded.sequence);
    }
    body.uint(request.owner);
    body.uint(request.sequence);
    body.uint(this.#stamp - enqueuedAt);
    body.uint(dueAt === NO_DEADLINE ? 0 : dueAt - enqueuedAt + 1);
    body.uint(request.detects ? 1 : 0);
    body.uint(request.isUnchecked ? 1 : 0);
    this.#items(request.firstPlace, false);
    this.#endRecord();
  }

  closing(closing: Closing): void {
    const body = this.#body;
    body.uint(KIND.closing);
    body.uint(this.#nextToken - closing.token);
    body.uint(closing.session);
    body.uint(closing.identity === undefined ? 0 : closing.identity.number + 1);
    body.uint(closing.number);
    body.uint(closing.dueAt);
    this.#items(closing.firstPlace, true);
    this.#endRecord();
  }

  semaphore({ name, limit, isSet }: Semaphore): void {
    const body = this.#body;
    body.uint(KIND.semaphore);
    body.string(name);
    body.uint(limit);
    body.uint(isSet ? 1 : 0);
    this.#endRecord();
  }

  endedLease({ key, space, ownerDigest, request, reason, endedAt }: EndedLease): void {
    const body = this.#body;
    body.uint(KIND.endedLease);
    body.string(key);
    body.uint(space + 1);
    body.string(ownerDigest);
    body.string(request);
    body.uint(reason);
    body.uint(this.#stamp - endedAt);
    this.#endRecord();
  }

  work(item: WorkRecord): void {
    const body = this.#body;
    body.uint(item.kind);
    if (item.kind === KIND.workKey) {
      body.string(item.name);
      body.uint(item.frontier);
      body.uint(item.evictFrom === undefined ? 0 : item.evictFrom.rank - RANK_LOWEST + 1);
      if (item.evictFrom !== undefined) body.uint(item.evictFrom.number);
    } else if (item.kind === KIND.workIdentity) {
      body.uint(item.identity);
      body.string(item.orderedBy);
    } else {
      body.uint(item.session);
      if (item.kind === KIND.workRequest) body.uint(item.sequence);
    }
    this.#endRecord();
  }

  end(): void {
    this.#body.uint(KIND.end);
    this.#body.uint(this.#slotCount);
    this.#seal();
  }

  #beginning(
    state: TableState,
    work: readonly WorkRecord[],
    identities: readonly IdentityRecord[],
    endedLeases: number,
  ): void {
    const { settings, sessions, holds, closings, semaphores, access } = state;
    const endedCount = work.reduce((sum, { kind }) => sum + (kind === KIND.workSession ? 1 : 0), 0);
    const body = this.#body;
    body.string(MAGIC);
    body.uint(MODEL_VERSION);
    body.uint(this.#index);
    body.uint(this.#stamp);
    body.uint(this.#nextToken);
    body.uint(state.nextNumber);
    body.uint(state.tokens.leftAtMs);
    body.uint(Math.max(0, state.quietUntil - this.#stamp));
    body.arrayHeader(SETTING_NAMES.length);
    for (const name of SETTING_NAMES) body.uint(settings[name]);
    body.uint(access.nextIdentity);
    body.uint(access.nextCredential);
    body.uint(access.revision);
    body.uint(state.adminOrderCount);
    body.uint(state.limitOrderCount);
    body.arrayHeader(10);
    body.uint(sessions.size + endedCount);
    body.uint(holds.size);
    body.uint(state.requestCount);
    body.uint(work.length);
    body.uint(closings.size);
    body.uint(semaphores.size);
    body.uint(identities.length);
    body.uint(identities.reduce((sum, { grants }) => sum + grants.length, 0));
    body.uint(identities.reduce((sum, { credentials }) => sum + credentials.length, 0));
    body.uint(endedLeases);
    this.#endRecord();
  }

  #of(session: Session): void {
    if (this.#sessionId === session.id) return;
    this.#sessionId = session.id;
    this.#body.uint(KIND.of);
    this.#body.uint(session.id);
  }

  #extras(extras: HoldExtras): void {
    const body = this.#body;
    const { lease, end } = extras;
    body.string(extras.value);
    body.uint(extras.maxHoldMs);
    body.uint(extras.minHoldMs);
    body.uint(extras.lockDelayMs);
    body.uint(extras.revokedAt);
    body.string(extras.revokeReason);
    body.string(extras.revokedBy);
    body.uint(lease === undefined ? 0 : lease.isBearer ? LEASE_OF_BEARER : LEASE_OF_IDENTITY);
    if (lease !== undefined) {
      this.#leaseWait(lease);
      body.uint(lease.endsAt);
      body.uint(lease.takenBy);
      body.uint(lease.takenAs);
    }
    body.uint(end?.number ?? 0);
  }

  #leaseWait({ ownerDigest, request, name, ttlMs, identity }: LeaseWait): void {
    const body = this.#body;
    body.string(ownerDigest);
    body.string(request);
    body.string(name);
    body.uint(ttlMs);
    body.uint(identity.number);
    body.string(identity.name);
  }

  #items(first: Place | undefined, isHeld: boolean): void {
    const body = this.#body;
    let count = 0;
    for (let place = first; place !== undefined; place = place.sibling) count += 1;
    body.uint(count);
    for (let place = first; place !== undefined; place = place.sibling) {
      const { key, mode, permits } = place;
      body.uint(CLAIM_MODES.indexOf(mode));
      body.string(key.name);
      if (permits === undefined) continue;
      body.uint(permits.wanted);
      if (isHeld) for (const slot of permits.slots) body.uint(slot);
    }
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
