/**
 * Reads the records of a snapshot (`record-schema.ts`) into its parts, one body at a time. A body may
 * contain anything: data that could make the table break a rule of its own later are refused, here
 * or when the parts are linked.
 */

import { HoldfastError } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  ANONYMOUS,
  END_REASON,
  isValidPrefix,
  isValidTableKey,
  LOCAL,
  MODEL_VERSION,
  NO_CREDENTIAL,
  type Result,
  STATUS,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { endOf } from "../holds/due-time.js";
import { makeSemaphore, obtainKey } from "../holds/keys.js";
import { ANONYMOUS_NUMBER, IDENTITY_NUMBER_MIN } from "../records/access-state.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import { Credential, Identity } from "../records/identity.js";
import { type Claimant, Permits, Place } from "../records/key.js";
import type { LeaseWait } from "../records/lease.js";
import { Slot } from "../records/reply-window.js";
import { NO_DEADLINE, Request, Session, SessionEnd, UPGRADE_RANK } from "../records/session.js";
import { bytesOfIdentity, bytesOfName } from "../records/sizes.js";
import { TableState } from "../records/state.js";
import { findRefusal, notHeld, notReleased, OK, RELEASED, SAME_OWNER } from "../results.js";
import { resolveTableSettings } from "../settings.js";
import { TokenCounter } from "../token-counter.js";
import { FieldReader } from "./field-reader.js";
import { MAGIC, type Moment } from "./format.js";
import { readHold, readLoneHold } from "./hold-records.js";
import { type SessionParts, SnapshotParts } from "./parts.js";
import {
  BEGINNING,
  type Beginning,
  type ItemRecord,
  KIND,
  type LeaseWaitRecord,
  RECORDS,
  type RecordName,
  type RecordOf,
} from "./record-schema.js";

/** A restore asks for at most eight days. */
const QUIET_MS_MAX = 8 * 86_400_000;
/** The moment of the first body, which says what it is. */
const NO_MOMENT: Moment = {
  ...{ stamp: 0, nextToken: 0, nextNumber: 0, nextIdentity: 0, nextCredential: 0 },
};

/** Reads the fields of a record. */
function read<N extends RecordName>(name: N, fields: FieldReader): RecordOf<N> {
  return RECORDS[name].read(fields, name) as RecordOf<N>;
}

export class SnapshotReader {
  #parts: SnapshotParts | undefined = undefined;
  #moment: Moment = NO_MOMENT;
  /** The session of the slots and claims that follow. */
  #current: SessionParts | undefined = undefined;
  #hasEnded = false;

  /** `undefined` before the first body. */
  get parts(): SnapshotParts | undefined {
    return this.#parts;
  }

  /** Whether the last record has been read, after which nothing may follow. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Reads the next body, which must be whole. */
  read(body: Uint8Array): void {
    let fields = new FieldReader(body, this.#moment);
    if (this.#parts === undefined) {
      const beginning = readBeginning(fields);
      this.#moment = beginning;
      this.#parts = partsOf(beginning);
      const { at } = fields;
      fields = new FieldReader(body, beginning);
      fields.at = at;
    }
    while (!fields.isAtEnd) {
      if (this.#hasEnded) fields.fail("a record after the end");
      this.#record(this.#parts, fields);
    }
  }

  #record(parts: SnapshotParts, fields: FieldReader): void {
    const kind = fields.uint();
    if (kind === KIND.loneHold) addLoneHold(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.hold) addHold(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.slot) readSlot(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.request) readRequest(parts, this.#sessionOf(fields), fields);
    else if (kind === KIND.session) this.#current = readSession(parts, fields);
    else if (kind === KIND.of) {
      this.#current = findSession(parts, read("of", fields).id, fields);
    } else if (kind === KIND.cooldown) readCooldown(parts, fields);
    else if (kind === KIND.semaphore) readSemaphore(parts, fields);
    else if (kind === KIND.endedLease) readEndedLease(parts, fields);
    else if (kind === KIND.identity) readIdentity(parts, fields);
    else this.#workOrEnd(parts, kind, fields);
  }

  #workOrEnd(parts: SnapshotParts, kind: number, fields: FieldReader): void {
    if (kind === KIND.workKey) {
      parts.work.push({ kind: "key", ...read("workKey", fields) });
    } else if (kind === KIND.workSession) {
      const { session } = findSession(parts, read("workSession", fields).session, fields);
      parts.work.push({ kind: "session", session });
    } else if (kind === KIND.workIdentity) {
      parts.work.push({ kind: "identity", ...read("workIdentity", fields) });
    } else if (kind === KIND.workRequest) {
      parts.work.push({ kind: "request", ...read("workRequest", fields) });
    } else if (kind === KIND.end) this.#end(parts, fields);
    else fields.fail(`a record of kind ${kind}`);
  }

  #sessionOf(fields: FieldReader): SessionParts {
    return this.#current ?? fields.fail("a record of no session");
  }

  #end(parts: SnapshotParts, fields: FieldReader): void {
    const { slotCount, counts, sessions, holdCount, requests, work, cooldowns } = parts;
    const { slots } = read("end", fields);
    if (slots !== slotCount) fields.fail(`${slotCount} slots instead of ${slots}`);
    // Without it the table would let everybody do everything.
    if (!parts.identities.has(ANONYMOUS_NUMBER)) fields.fail("nothing is said of anonymous");
    const found = {
      ...{ sessions: sessions.length, holds: holdCount, requests: requests.length },
      ...{ work: work.length, cooldowns: cooldowns.length, semaphores: parts.semaphoreCount },
      ...{ identities: parts.identities.size, endedLeases: parts.endedLeaseCount },
    } satisfies typeof counts;
    for (const [kind, count] of Object.entries(found)) {
      const announced = counts[kind as keyof typeof counts];
      if (count !== announced) fields.fail(`${count} ${kind} instead of ${announced}`);
    }
    this.#hasEnded = true;
  }
}

function readBeginning(fields: FieldReader): Beginning {
  if (fields.string() !== MAGIC) fields.fail("not a snapshot of a lock table");
  const version = fields.uint();
  if (version !== MODEL_VERSION) {
    const message =
      `a snapshot in format ${version} cannot be read by this version of Holdfast, which reads format ` +
      `${MODEL_VERSION}: use the version that saved it`;
    const details = { formatVersion: version, knownVersion: MODEL_VERSION };
    throw new HoldfastError("INTERNAL", message, { details });
  }
  const beginning = BEGINNING.read(fields, "beginning");
  const { index, stamp, revision, quietUntil } = beginning;
  if (revision > index) fields.fail(`revision of access ${revision} is not in 0 … ${index}`);
  const isQuiet = quietUntil > stamp && quietUntil <= stamp + QUIET_MS_MAX;
  if (quietUntil !== 0 && !isQuiet) fields.fail(`quiet until ${quietUntil}`);
  return beginning;
}

/** The parts of a table of which nothing else has been read. */
function partsOf(beginning: Beginning): SnapshotParts {
  const { stamp, nextToken, leftAtMs, nextIdentity, nextCredential } = beginning;
  const state = new TableState(resolveTableSettings(beginning.settings), nextToken);
  state.index = beginning.index;
  state.stamp = stamp;
  state.nextNumber = beginning.nextNumber;
  state.adminOrderCount = beginning.adminOrderCount;
  state.limitOrderCount = beginning.limitOrderCount;
  Object.assign(state.access, { nextIdentity, nextCredential, revision: beginning.revision });
  if (leftAtMs > 0) state.tokens = new TokenCounter(nextToken, leftAtMs);
  state.quietUntil = beginning.quietUntil;
  const parts = new SnapshotParts(state, beginning.counts);
  const nobody = { identity: 0, credential: NO_CREDENTIAL };
  parts.sessionsById.set(0, { session: state.detached, ...nobody, slots: [], holds: [] });
  return parts;
}

function readIdentity(parts: SnapshotParts, fields: FieldReader): void {
  const { state, identities } = parts;
  const { access } = state;
  const { number, name, isRemoved, grants, credentials } = read("identity", fields);
  if (number === ANONYMOUS_NUMBER) access.setGrants(access.anonymous, []);
  const identity = number === ANONYMOUS_NUMBER ? access.anonymous : new Identity(number, name);
  const isNamed = name === ANONYMOUS || name === LOCAL;
  if (number < IDENTITY_NUMBER_MIN !== isNamed || identity.name !== name) {
    fields.fail(`identity ${number} is called ${name}`);
  }
  if (isRemoved && isNamed) fields.fail(`${name} was removed`);
  if (identities.has(number)) fields.fail(`identity ${number} twice`);
  if (isRemoved) {
    if (grants.length + credentials.length > 0) fields.fail(`${name} has left`);
    access.addRemoved(identity);
  } else if (identity !== access.anonymous) {
    if (access.find(name) !== undefined) fields.fail(`identity ${name} twice`);
    access.add(identity);
    state.otherBytes += bytesOfIdentity(identity);
  }
  identities.set(number, identity);
  addGrants(state, identity, grants, fields);
  for (const credential of credentials) addCredential(parts, identity, credential, fields);
}

function addGrants(
  state: TableState,
  identity: Identity,
  grants: RecordOf<"identity">["grants"],
  fields: FieldReader,
): void {
  for (const { key, isPrefix, level } of grants) {
    const problem = isPrefix ? isValidPrefix(key) : isValidTableKey(key);
    if (problem !== undefined) fields.fail(problem);
    if (level === ACCESS_LEVEL.admin && key !== "") fields.fail("admin of some keys");
    const same = grants.filter((other) => other.key === key && other.isPrefix === isPrefix);
    if (same.length > 1) fields.fail(`${identity.name} has a grant twice`);
    if (identity !== state.access.anonymous) state.otherBytes += bytesOfName(key);
  }
  state.access.setGrants(identity, grants);
}

function addCredential(
  { state: { access }, state, credentials }: SnapshotParts,
  identity: Identity,
  of: RecordOf<"identity">["credentials"][number],
  fields: FieldReader,
): void {
  const { number, label, kind, digest } = of;
  if (credentials.has(number)) fields.fail(`credential ${number} twice`);
  if ((kind === "token") !== (digest !== "")) fields.fail(`digest ${digest}`);
  const isKnown = digest !== "" && access.findToken(digest) !== undefined;
  if (isKnown || identity.findCredential(label) !== undefined) fields.fail(`${label} twice`);
  if (identity === access.anonymous) fields.fail(`${label} of nobody`);
  access.addCredential(new Credential(identity, number, of));
  credentials.add(number);
  state.otherBytes += bytesOfName(label);
}

function readSession(parts: SnapshotParts, fields: FieldReader): SessionParts {
  const { state, sessions, sessionsById } = parts;
  const of = read("session", fields);
  const { id, mark, endedBy, forcedEnd, highestSequence } = of;
  if (sessionsById.get(id) !== undefined) fields.fail(`session ${id} twice`);
  const session = new Session(
    state.copies,
    id,
    of.nonceDigest,
    of.name,
    of.metadata,
    of.ttlMs,
    of.attachedAt,
    of.attempt,
    state.access.noCredential,
  );
  const restored = session.change();
  restored.origin = of.origin;
  restored.attachEpoch = of.attachEpoch;
  restored.dueAt = of.dueAt;
  restored.attachedSequence = of.attachedSequence;
  restored.highestSequence = highestSequence;
  if (mark > highestSequence + 1) fields.fail(`mark ${mark} above ${highestSequence}`);
  session.replies.restoreMark(mark);
  restored.endedBy = endedBy;
  if (endedBy === undefined && of.orderedBy !== "") fields.fail("the order of no end");
  restored.orderedBy = of.orderedBy;
  if (forcedEnd !== undefined) {
    const { dueAt, number, reason, orderedBy } = forcedEnd;
    restored.forcedEnd = new SessionEnd(session, dueAt, number, reason, orderedBy);
  }
  for (const { sequence, token, reason } of of.losses) {
    checkSequence(session, sequence, fields);
    session.recordLoss(sequence, token, reason);
  }
  const { identity, credential } = of;
  const one = { session, identity, credential, slots: [], holds: [] };
  sessions.push(one);
  sessionsById.set(id, one);
  return one;
}

function findSession(parts: SnapshotParts, id: number, fields: FieldReader): SessionParts {
  return parts.sessionsById.get(id) ?? fields.fail(`session ${id} has not come before`);
}

function readSlot(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { sequence, stamp, state, result } = read("slot", fields);
  checkSequence(of.session, sequence, fields);
  const { latest } = parts.state.copies;
  of.slots.push(new Slot<Request>(sequence, stamp, state, sharedResult(result), latest));
  parts.slotCount += 1;
}

/** The same object for all results that say no more than that, as the table itself has them. */
function sharedResult(result: Result): Result {
  const { status } = result;
  if (Object.keys(result).length === 1) {
    if (status === STATUS.ok) return OK;
    return status === STATUS.released ? RELEASED : (findRefusal(status) ?? result);
  }
  if (status === STATUS.notReleased) return notReleased(result.reason);
  if ("isSameOwner" in result && result.isSameOwner === true) return SAME_OWNER;
  const isReason = "reason" in result && status !== STATUS.givenBack;
  return isReason ? notHeld(result.reason ?? END_REASON.unknown) : result;
}

function addLoneHold(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const hold = readLoneHold(fields);
  if (of.session === parts.state.detached) fields.fail("a hold of no session");
  checkSequence(of.session, hold.sequence, fields);
  of.holds.push(hold);
  parts.holdCount += 1;
}

function addHold(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const { session } = of;
  const record = readHold(fields);
  const { token, sequence, grantedAt, waitedMs, extras, endNumber } = record;
  const isOfOwner = session === state.detached;
  if (!isOfOwner) checkSequence(session, sequence, fields);
  if (waitedMs > grantedAt) fields.fail(`wait ${waitedMs} is not in 0 … ${grantedAt}`);
  const hold = new Hold(token, session, record.task, sequence, grantedAt);
  hold.change().isContended = record.isContended;
  hold.change().waitedMs = waitedMs;
  if (extras !== undefined) setExtras(parts, hold, extras, fields);
  if (endNumber > 0 !== (endOf(hold) !== undefined)) fields.fail("a due time without a number");
  if (endNumber > 0) parts.endNumbers.set(hold, endNumber);
  hold.change().firstPlace = placesOf(state, hold, record.items, fields);
  if ((hold.extras?.lease !== undefined) !== isOfOwner) fields.fail("a lease of a session");
  of.holds.push(hold);
  parts.holdCount += 1;
}

type ExtrasRecord = NonNullable<RecordOf<"hold">["extras"]>;

function setExtras(
  parts: SnapshotParts,
  hold: Hold,
  record: ExtrasRecord,
  fields: FieldReader,
): void {
  const extras = hold.changeExtras();
  extras.value = record.value;
  extras.maxHoldMs = record.maxHoldMs;
  extras.minHoldMs = record.minHoldMs;
  extras.lockDelayMs = record.lockDelayMs;
  extras.revokedAt = record.revokedAt;
  extras.revokeReason = record.revokeReason;
  extras.revokedBy = record.revokedBy;
  if (record.lease === undefined) return;
  const { isBearer, endsAt, takenBy, takenAs, ttlMs } = record.lease;
  const isOfLength = !isBearer || (ttlMs >= TTL_MS_MIN && ttlMs <= TTL_MS_MAX);
  if ((ttlMs === 0) !== (endsAt === 0) || !isOfLength) fields.fail(`a lease of ${ttlMs} ms`);
  const wait = leaseWaitOf(record.lease, isBearer);
  parts.countedFor.set(hold, wait.identity.number);
  extras.lease = { ...wait, endsAt, takenBy, takenAs };
}

/** Its identity may not have been read yet, or may have been removed: then only its name is left. */
function leaseWaitOf(record: LeaseWaitRecord, isBearer: boolean): LeaseWait {
  const { ownerDigest, request, name, ttlMs } = record;
  const identity = new Identity(record.identity, record.identityName);
  return { ownerDigest, request, name, ttlMs, identity, isBearer };
}

function readRequest(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const { session, slots } = of;
  const record = read("request", fields);
  const { number, sequence, task, enqueuedAt, waitMs, lease, upgrades } = record;
  const isUpgrade = upgrades !== undefined;
  checkSequence(session, sequence, fields);
  if (isUpgrade) checkSequence(session, upgrades, fields);
  const isPlain = record.headStartMs === 0 && record.options === undefined && lease === undefined;
  if (isUpgrade && !isPlain) fields.fail(`${number} is an upgrade and more`);
  const joined = number + record.joinedAfter;
  if (joined >= state.nextNumber || (lease === undefined && joined !== number)) {
    fields.fail(`number ${joined} is not below ${state.nextNumber}, or of no take`);
  }
  if (waitMs > Number.MAX_SAFE_INTEGER - enqueuedAt) fields.fail(`wait ${waitMs}`);
  const dueAt = waitMs === 0 ? NO_DEADLINE : enqueuedAt + waitMs - 1;
  const rank = isUpgrade ? UPGRADE_RANK : enqueuedAt - record.headStartMs;
  const order = { rank, number };
  const { options } = record;
  const request = new Request(session, sequence, task, order, enqueuedAt, dueAt, options);
  if (lease !== undefined) request.become(leaseWaitOf(lease, false), joined);
  const restored = request.change();
  restored.detects = record.detects;
  restored.isUnchecked = record.isUnchecked;
  request.slot = new Slot(sequence, record.queuedAt, "waiting", request, state.copies.latest);
  slots.push(request.slot);
  restored.firstPlace = placesOf(state, request, record.items, fields);
  if (isUpgrade) parts.upgraded.set(request, upgrades);
  parts.requests.push(request);
}

function readEndedLease(parts: SnapshotParts, fields: FieldReader): void {
  parts.state.leases.remember(read("endedLease", fields));
  parts.endedLeaseCount += 1;
}

function readCooldown(parts: SnapshotParts, fields: FieldReader): void {
  const { state } = parts;
  const { token, session, identity, number, dueAt, items } = read("cooldown", fields);
  const cooldown = new Cooldown(token, session, undefined, dueAt, number, state.copies);
  if (identity !== undefined) parts.countedFor.set(cooldown, identity);
  cooldown.change().firstPlace = placesOf(state, cooldown, items, fields);
  parts.cooldowns.push(cooldown);
}

function readSemaphore(parts: SnapshotParts, fields: FieldReader): void {
  const { state } = parts;
  const { name, limit, isSet } = read("semaphore", fields);
  const key = obtainKey(state, name);
  if (key.semaphore !== undefined) fields.fail(`the semaphore ${name} twice`);
  makeSemaphore(state, key, limit, isSet);
  parts.semaphoreCount += 1;
}

/** Makes places for the claim; they are not in their keys yet. */
function placesOf(
  state: TableState,
  claimant: Claimant,
  items: readonly ItemRecord[],
  fields: FieldReader,
): Place | undefined {
  let [first, last]: [Place | undefined, Place | undefined] = [undefined, undefined];
  for (const { mode, key: name, wanted, slots } of items) {
    const key = obtainKey(state, name);
    for (let other = first; other !== undefined; other = other.sibling) {
      if (other.key === key) fields.fail("a key twice in one claim");
    }
    const permits = mode === "permits" ? new Permits(wanted) : undefined;
    if (permits !== undefined) permits.slots = slots;
    const place = new Place(key, mode, claimant, permits);
    if (last === undefined) first = place;
    else last.change().sibling = place;
    last = place;
  }
  return first;
}

/** It must be of a command that was executed. */
function checkSequence({ highestSequence }: Session, sequence: number, fields: FieldReader): void {
  if (sequence <= highestSequence) return;
  fields.fail(`sequence ${sequence} is not in 1 … ${highestSequence}`);
}
