/**
 * Reads the records of a snapshot ("snapshot-format.ts"), body after body, into its parts. A body
 * may hold anything: what could make the table break a rule of its own later is refused, here or
 * when the parts are linked up.
 */
import { HoldfastError } from "../errors.js";
import { ATTEMPT_MAX, ITEMS_MAX, TTL_MS_MAX, TTL_MS_MIN } from "../protocol/index.js";
import { FieldReader } from "./field-reader.js";
import { Hold } from "./hold.js";
import { Place } from "./key.js";
import { NO_DEADLINE, Request } from "./request.js";
import { QUEUED } from "./results.js";
import { Session } from "./session.js";
import { resolveTableSettings } from "./settings.js";
import { Slot } from "./slot-list.js";
import {
  FORMAT_VERSION,
  ITEM_EXCLUSIVE,
  ITEM_REACHED,
  KIND,
  MAGIC,
  SLOT_STATES,
  TOMBSTONE,
} from "./snapshot-format.js";
import { type SessionParts, SnapshotParts } from "./snapshot-parts.js";
import { TableState } from "./state.js";

const SAFE_MAX = Number.MAX_SAFE_INTEGER;

export class SnapshotReader {
  #parts: SnapshotParts | undefined = undefined;
  /** Whose slots and claims come. */
  #current: SessionParts | undefined = undefined;
  #hasEnded = false;

  /** `undefined` before the first body. */
  get parts(): SnapshotParts | undefined {
    return this.#parts;
  }

  /** Whether the record was read behind which nothing may follow. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The next body, all of it. */
  read(body: Uint8Array): void {
    const fields = new FieldReader(body);
    this.#parts ??= readBeginning(fields);
    while (!fields.isAtEnd) {
      if (this.#hasEnded) fields.fail("a record behind the end");
      this.#record(this.#parts, fields);
    }
  }

  #record(parts: SnapshotParts, fields: FieldReader): void {
    const kind = fields.uint();
    if (kind === KIND.hold) readHold(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.slot) readSlot(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.request) readRequest(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.session) this.#current = readSession(parts, fields);
    else if (kind === KIND.of) this.#current = findSession(parts, fields);
    else if (kind === KIND.workKey) parts.work.push(parts.state.keys.obtain(fields.text()));
    else if (kind === KIND.workSession) parts.work.push(findSession(parts, fields).session);
    else if (kind === KIND.end) this.#end(parts, fields);
    else fields.fail(`a record of kind ${kind}`);
  }

  #sessionOf(fields: FieldReader): SessionParts {
    return this.#current ?? fields.fail("a record of no session");
  }

  #end(parts: SnapshotParts, fields: FieldReader): void {
    const { slotCount, counts, sessions, holdCount, requests, work } = parts;
    fields.within(slotCount, slotCount, "count of slots");
    const found = [sessions.length, holdCount, requests.length, work.length];
    const announced = [counts.sessions, counts.holds, counts.requests, counts.work];
    if (found.some((count, at) => count !== announced[at])) {
      fields.fail(`${found.join(", ")} records instead of ${announced.join(", ")}`);
    }
    this.#hasEnded = true;
  }
}

function readBeginning(fields: FieldReader): SnapshotParts {
  if (fields.text() !== MAGIC) fields.fail("no snapshot of a lock table");
  const version = fields.uint();
  if (version !== FORMAT_VERSION) {
    throw new HoldfastError("INTERNAL", `a snapshot in format ${version} cannot be read here`, {
      details: { formatVersion: version, knownVersion: FORMAT_VERSION },
    });
  }
  const index = fields.uint();
  const stamp = fields.uint();
  const nextToken = fields.uint();
  const nextNumber = fields.within(1, SAFE_MAX, "next number");
  fields.array(5);
  const setting = () => fields.within(1, SAFE_MAX, "a setting");
  const settings = resolveTableSettings({
    waitersMax: setting(),
    inFlightMax: setting(),
    unacknowledgedMax: setting(),
    unitsPerEntryMax: setting(),
    grantsPerStepMax: setting(),
  });
  fields.array(4);
  const count = () => fields.uint();
  const counts = { sessions: count(), holds: count(), requests: count(), work: count() };
  const state = new TableState(settings, nextToken);
  state.index = index;
  state.stamp = stamp;
  state.nextNumber = nextNumber;
  return new SnapshotParts(state, counts);
}

function readSession(parts: SnapshotParts, fields: FieldReader): SessionParts {
  const { state, sessions, sessionsById } = parts;
  const id = fields.within(1, state.nextNumber - 1, "session");
  if (sessionsById.get(id) !== undefined) fields.fail(`session ${id} twice`);
  const [nonce, name, metadata] = [fields.text(), fields.text(), fields.text()];
  const ttlMs = fields.within(TTL_MS_MIN, TTL_MS_MAX, "lease");
  const dueAt = fields.uint();
  const epoch = fields.within(1, ATTEMPT_MAX, "epoch");
  const attachedAt = readStamp(state, fields);
  const session = new Session(state.saving, id, nonce, name, metadata, ttlMs, attachedAt, epoch);
  session.dueAt = dueAt;
  session.attachedSequence = fields.uint();
  session.highestSequence = fields.uint();
  session.replies.restoreMark(fields.within(1, SAFE_MAX, "mark"));
  session.isEnded = fields.flag("ended");
  const read = { session, slots: [], holds: [] };
  sessions.push(read);
  sessionsById.set(id, read);
  return read;
}

function findSession(parts: SnapshotParts, fields: FieldReader): SessionParts {
  const id = fields.uint();
  return parts.sessionsById.get(id) ?? fields.fail(`session ${id} has not come before`);
}

function readSlot(parts: SnapshotParts, { slots }: SessionParts, fields: FieldReader): void {
  const { state: table } = parts;
  const sequence = fields.within(1, SAFE_MAX, "sequence");
  const stamp = readStamp(table, fields);
  const at = fields.within(0, SLOT_STATES.length - 1, "state");
  const state = SLOT_STATES[at] as (typeof SLOT_STATES)[number];
  const endReason = fields.optionalEndReason();
  const result = at === TOMBSTONE ? QUEUED : fields.result(table.tokens.next);
  const slot = new Slot(sequence, stamp, state, result, table.saving.epoch);
  if (endReason !== undefined) {
    if (state !== "outcome" || slot.token === 0) fields.fail(`the end of a ${state}`);
    slot.endReason = endReason;
  }
  slots.push(slot);
  parts.slotCount += 1;
}

function readHold(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const token = fields.token(state.tokens.next);
  const owner = fields.uint();
  const sequence = fields.within(1, SAFE_MAX, "sequence");
  const hold = new Hold(token, of.session, owner, sequence, readStamp(state, fields));
  readItems(state, hold, ITEM_EXCLUSIVE, fields);
  of.holds.push(hold);
  parts.holdCount += 1;
}

function readRequest(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const { session, slots } = of;
  const number = fields.within(1, state.nextNumber - 1, "number");
  const owner = fields.uint();
  const sequence = fields.within(1, SAFE_MAX, "sequence");
  const enqueuedAt = readStamp(state, fields);
  const wait = fields.within(0, SAFE_MAX - enqueuedAt, "wait");
  const dueAt = wait === 0 ? NO_DEADLINE : enqueuedAt + wait - 1;
  const slot = new Slot(sequence, enqueuedAt, "waiting", QUEUED, state.saving.epoch);
  const request = new Request(session, slot, owner, number, enqueuedAt, dueAt);
  slot.request = request;
  slots.push(slot);
  readItems(state, request, ITEM_EXCLUSIVE | ITEM_REACHED, fields);
  parts.requests.push(request);
}

/** Gives the claim its places; they do not stand in their keys yet. */
function readItems(
  state: TableState,
  claimant: Hold | Request,
  flagsMax: number,
  fields: FieldReader,
): void {
  const count = fields.within(1, ITEMS_MAX, "count of items");
  let last: Place | undefined;
  for (let left = count; left > 0; left -= 1) {
    const flags = fields.within(0, flagsMax, "flags");
    const key = state.keys.obtain(fields.text());
    for (let other = claimant.firstPlace; other !== undefined; other = other.sibling) {
      if (other.key === key) fields.fail("a key twice in one claim");
    }
    const place = new Place(key, (flags & ITEM_EXCLUSIVE) !== 0, claimant);
    place.reached = (flags & ITEM_REACHED) !== 0;
    if (last === undefined) claimant.firstPlace = place;
    else last.sibling = place;
    last = place;
  }
}

/** A time up to that of the snapshot. */
function readStamp({ stamp }: TableState, fields: FieldReader): number {
  return stamp - fields.within(0, stamp, "time ago");
}
