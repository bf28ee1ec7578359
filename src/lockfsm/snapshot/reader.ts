/**
 * Reads the records of a snapshot ("format.ts") into its parts, one body at a time. A body may
 * contain anything: data that could make the table break a rule of its own later are refused, here
 * or when the parts are linked.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  ANONYMOUS,
  ATTEMPT_MAX,
  CREDENTIAL_MAX,
  ITEMS_MAX,
  isValidIdentityName,
  isValidLabel,
  isValidPrefix,
  isValidSessionName,
  isValidTableKey,
  LEASE_TTL_MS_MAX,
  LIMIT_MAX,
  LOCAL,
  LOCK_DELAY_MS_MAX,
  MODEL_VERSION,
  NO_CREDENTIAL,
  NODE_ID_MAX,
  ORIGIN_ADDRESS_BYTES_MAX,
  PERMITS_MAX,
  STAMP_MAX,
  TTL_MS_MAX,
  TTL_MS_MIN,
  WAIT_MS_MAX,
  WALL_MS_MAX,
} from "../../protocol/index.js";
import { endOf } from "../holds/due-time.js";
import { makeSemaphore, obtainKey } from "../holds/keys.js";
import { ANONYMOUS_NUMBER, IDENTITY_NUMBER_MIN } from "../records/access-state.js";
import { Closing } from "../records/closing.js";
import { Hold } from "../records/hold.js";
import { Credential, Identity } from "../records/identity.js";
import { type Claimant, Permits, Place } from "../records/key.js";
import type { LeaseWait } from "../records/lease.js";
import { Slot } from "../records/reply-window.js";
import {
  LOSSES_MAX,
  NO_DEADLINE,
  Request,
  Session,
  SessionEnd,
  UPGRADE_RANK,
} from "../records/session.js";
import { bytesOfIdentity, bytesOfName } from "../records/sizes.js";
import { TableState } from "../records/state.js";
import { isSettingValue, resolveTableSettings, SETTING_NAMES } from "../settings.js";
import { TokenCounter } from "../token-counter.js";
import { FieldReader } from "./field-reader.js";
import {
  HOLD_CONTENDED,
  HOLD_EXTRAS,
  HOLD_LONE,
  KIND,
  LEASE_OF_BEARER,
  MAGIC,
  RANK_LOWEST,
  REQUEST_ACQUIRE,
  REQUEST_TAKE,
  REQUEST_UPGRADE,
  SLOT_STATES,
} from "./format.js";
import { type SessionParts, SnapshotParts } from "./parts.js";

/** A SHA-256 in hex. */
const DIGEST = /^[0-9a-f]{64}$/;
/** Half of one, and a number of a client. */
const SHORT_DIGEST = /^[0-9a-f]{32}$/;
const SAFE_MAX = Number.MAX_SAFE_INTEGER;
/** Numbers that the table counts on from end here in a snapshot: as many more are left for it. */
const COUNTER_MAX = 2 ** 52;
/** A restore asks for at most eight days. */
const QUIET_MS_MAX = 8 * 86_400_000;

export class SnapshotReader {
  #parts: SnapshotParts | undefined = undefined;
  /** The session of the slots and claims that follow. */
  #current: SessionParts | undefined = undefined;
  /** The identity of the grants and credentials that follow. */
  #identity: Identity | undefined = undefined;
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
    const fields = new FieldReader(body);
    this.#parts ??= readBeginning(fields);
    while (!fields.isAtEnd) {
      if (this.#hasEnded) fields.fail("a record after the end");
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
    else if (kind === KIND.closing) readClosing(parts, fields);
    else if (kind === KIND.semaphore) readSemaphore(parts, fields);
    else if (kind === KIND.endedLease) readEndedLease(parts, fields);
    else if (kind === KIND.identity) this.#identity = readIdentity(parts, fields);
    else if (kind === KIND.grant) readGrant(parts, this.#identityOf(fields), fields);
    else if (kind === KIND.credential) readCredential(parts, this.#identityOf(fields), fields);
    else if (kind === KIND.workKey) readWorkKey(parts, fields);
    else if (kind === KIND.workSession) {
      parts.work.push({ kind: "session", session: findSession(parts, fields).session });
    } else if (kind === KIND.workIdentity) {
      const [number, orderedBy] = [fields.uint(), readOrderer(fields)];
      parts.work.push({ kind: "identity", number, orderedBy });
    } else if (kind === KIND.workRequest) {
      parts.work.push({ kind: "request", session: fields.uint(), sequence: fields.uint() });
    } else if (kind === KIND.end) this.#end(parts, fields);
    else fields.fail(`a record of kind ${kind}`);
  }

  #sessionOf(fields: FieldReader): SessionParts {
    return this.#current ?? fields.fail("a record of no session");
  }

  #identityOf(fields: FieldReader): Identity {
    return this.#identity ?? fields.fail("a grant or a credential of no identity");
  }

  #end(parts: SnapshotParts, fields: FieldReader): void {
    const { slotCount, counts, sessions, holdCount, requests, work, closings } = parts;
    fields.within(slotCount, slotCount, "count of slots");
    const identities = [...parts.identities.values()];
    // Without it the table would let everybody do everything.
    if (!parts.identities.has(ANONYMOUS_NUMBER)) fields.fail("nothing is said of anonymous");
    const grantCount = identities.reduce((sum, { grants }) => sum + grants.length, 0);
    const { size } = parts.credentials;
    const access = [identities.length, grantCount, size, parts.endedLeaseCount];
    const rest = [closings.length, parts.semaphoreCount, ...access];
    const found = [sessions.length, holdCount, requests.length, work.length, ...rest];
    const announced = Object.values(counts);
    if (found.some((count, at) => count !== announced[at])) {
      fields.fail(`${found.join(", ")} records instead of ${announced.join(", ")}`);
    }
    this.#hasEnded = true;
  }
}

function readBeginning(fields: FieldReader): SnapshotParts {
  if (fields.text() !== MAGIC) fields.fail("not a snapshot of a lock table");
  const version = fields.uint();
  if (version !== MODEL_VERSION) {
    const message =
      `a snapshot in format ${version} cannot be read by this version of Holdfast, which reads format ` +
      `${MODEL_VERSION}: use the version that saved it`;
    const details = { formatVersion: version, knownVersion: MODEL_VERSION };
    throw new HoldfastError("INTERNAL", message, { details });
  }
  const index = fields.uint();
  const stamp = fields.within(0, STAMP_MAX, "stamp");
  const nextToken = fields.uint();
  const nextNumber = fields.within(1, COUNTER_MAX, "next number");
  const leftAtMs = fields.uint();
  const quietMs = fields.within(0, QUIET_MS_MAX, "quiet time");
  fields.array(SETTING_NAMES.length);
  const settings: Record<string, number> = {};
  for (const name of SETTING_NAMES) {
    const value = fields.uint();
    if (!isSettingValue(name, value)) fields.fail(`${name} ${value}`);
    settings[name] = value;
  }
  const nextIdentity = fields.within(IDENTITY_NUMBER_MIN, COUNTER_MAX, "next identity");
  const nextCredential = fields.within(1, CREDENTIAL_MAX + 1, "next credential");
  const revision = fields.within(0, index, "revision of access");
  const adminOrderCount = fields.uint();
  const limitOrderCount = fields.uint();
  fields.array(10);
  const count = () => fields.uint();
  const counts = {
    sessions: count(),
    holds: count(),
    requests: count(),
    work: count(),
    closings: count(),
    semaphores: count(),
    identities: count(),
    grants: count(),
    credentials: count(),
    endedLeases: count(),
  };
  const state = new TableState(resolveTableSettings(settings), nextToken);
  state.index = index;
  state.stamp = stamp;
  state.nextNumber = nextNumber;
  state.adminOrderCount = adminOrderCount;
  state.limitOrderCount = limitOrderCount;
  Object.assign(state.access, { nextIdentity, nextCredential, revision });
  if (leftAtMs > 0) state.tokens = new TokenCounter(nextToken, leftAtMs);
  if (quietMs > 0) state.quietUntil = stamp + quietMs;
  const parts = new SnapshotParts(state, counts);
  const nobody = { identity: 0, credential: NO_CREDENTIAL };
  parts.sessionsById.set(0, { session: state.detached, ...nobody, slots: [], holds: [] });
  return parts;
}

function readIdentity(parts: SnapshotParts, fields: FieldReader): Identity {
  const { state, identities } = parts;
  const { access } = state;
  const number = fields.within(0, access.nextIdentity - 1, "identity");
  const name = fields.text();
  const isRemoved = fields.flag("removed");
  if (number === ANONYMOUS_NUMBER) access.setGrants(access.anonymous, []);
  const identity = number === ANONYMOUS_NUMBER ? access.anonymous : new Identity(number, name);
  const isNamed = name === ANONYMOUS || name === LOCAL;
  if (number < IDENTITY_NUMBER_MIN !== isNamed || identity.name !== name) {
    fields.fail(`identity ${number} is called ${name}`);
  }
  if (isRemoved && isNamed) fields.fail(`${name} was removed`);
  const problem = isValidIdentityName(name);
  if (problem !== undefined) fields.fail(problem);
  if (identities.has(number)) fields.fail(`identity ${number} twice`);
  if (isRemoved) access.addRemoved(identity);
  else if (identity !== access.anonymous) {
    if (access.find(name) !== undefined) fields.fail(`identity ${name} twice`);
    access.add(identity);
    state.otherBytes += bytesOfIdentity(identity);
  }
  identities.set(number, identity);
  return identity;
}

function readGrant({ state }: SnapshotParts, identity: Identity, fields: FieldReader): void {
  const { access } = state;
  const key = fields.text();
  const isPrefix = fields.flag("prefix");
  const level = fields.within(ACCESS_LEVEL.observe, ACCESS_LEVEL.admin, "level");
  const problem = isPrefix ? isValidPrefix(key) : isValidTableKey(key);
  if (problem !== undefined) fields.fail(problem);
  if (level === ACCESS_LEVEL.admin && key !== "") fields.fail("admin of some keys");
  const isTwice = identity.findGrant(key, isPrefix) !== undefined;
  if (isTwice || identity.isRemoved) fields.fail(`${identity.name} has a grant twice, or left`);
  access.setGrants(identity, [...identity.grants, { key, isPrefix, level }]);
  if (identity !== access.anonymous) state.otherBytes += bytesOfName(key);
}

function readCredential(parts: SnapshotParts, identity: Identity, fields: FieldReader): void {
  const { state, credentials } = parts;
  const { access } = state;
  const number = fields.within(1, access.nextCredential - 1, "credential");
  const label = fields.text();
  const labelProblem = isValidLabel(label);
  if (labelProblem !== undefined) fields.fail(labelProblem);
  const kind = fields.flag("kind") ? "certificate" : "token";
  const digest = fields.text();
  const expiresWallMs = fields.within(0, WALL_MS_MAX, "expiry");
  const createdWallMs = fields.within(0, WALL_MS_MAX, "time of creation");
  if (credentials.has(number)) fields.fail(`credential ${number} twice`);
  if ((kind === "token") !== DIGEST.test(digest)) fields.fail(`digest ${digest}`);
  const isKnown = digest !== "" && access.findToken(digest) !== undefined;
  if (isKnown || identity.findCredential(label) !== undefined) fields.fail(`${label} twice`);
  if (identity.isRemoved || identity === access.anonymous) fields.fail(`${label} of nobody`);
  const of = { label, kind, digest, expiresWallMs, createdWallMs } as const;
  access.addCredential(new Credential(identity, number, of));
  credentials.add(number);
  state.otherBytes += bytesOfName(label);
}

function readSession(parts: SnapshotParts, fields: FieldReader): SessionParts {
  const { state, sessions, sessionsById } = parts;
  const id = fields.within(1, state.nextNumber - 1, "session");
  if (sessionsById.get(id) !== undefined) fields.fail(`session ${id} twice`);
  const [nonceDigest, name, metadata] = [fields.text(), readSessionName(fields), fields.text()];
  const [identity, credential] = [fields.uint(), fields.uint()];
  const node = fields.within(0, NODE_ID_MAX, "node");
  const address = fields.text();
  if (address.length > ORIGIN_ADDRESS_BYTES_MAX) fields.fail(`address ${address}`);
  const ttlMs = fields.within(TTL_MS_MIN, TTL_MS_MAX, "lease");
  const dueAt = fields.uint();
  const attempt = fields.within(1, ATTEMPT_MAX, "attempt");
  const epoch = fields.within(1, ATTEMPT_MAX, "epoch");
  const attachedAt = readStamp(state, fields);
  const session = new Session(
    state.copies,
    id,
    nonceDigest,
    name,
    metadata,
    ttlMs,
    attachedAt,
    attempt,
    state.access.noCredential,
  );
  const restored = session.change();
  restored.origin = { node, address };
  restored.attachEpoch = epoch;
  restored.dueAt = dueAt;
  restored.attachedSequence = fields.uint();
  restored.highestSequence = fields.within(0, SAFE_MAX - 1, "highest sequence");
  session.replies.restoreMark(fields.within(1, session.highestSequence + 1, "mark"));
  restored.endedBy = fields.optionalEndReason();
  if (session.isEnded) restored.orderedBy = readOrderer(fields);
  const forcedAt = fields.uint();
  if (forcedAt > 0) {
    const number = fields.within(1, state.nextNumber - 1, "number");
    const reason = fields.text();
    const orderedBy = readOrderer(fields);
    restored.forcedEnd = new SessionEnd(session, forcedAt, number, reason, orderedBy);
  }
  for (let left = fields.within(0, LOSSES_MAX, "losses"); left > 0; left -= 1) {
    const sequence = fields.within(1, session.highestSequence, "sequence");
    const token = fields.token(state.tokens.next);
    session.recordLoss(sequence, token, fields.endReason());
  }
  const read = { session, identity, credential, slots: [], holds: [] };
  sessions.push(read);
  sessionsById.set(id, read);
  return read;
}

function findSession(parts: SnapshotParts, fields: FieldReader): SessionParts {
  const id = fields.uint();
  return parts.sessionsById.get(id) ?? fields.fail(`session ${id} has not come before`);
}

function readSlot(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state: table } = parts;
  const sequence = readSequence(of, fields);
  const stamp = readStamp(table, fields);
  const at = fields.within(0, SLOT_STATES.length - 1, "state");
  const state = SLOT_STATES[at] as (typeof SLOT_STATES)[number];
  const result = fields.result(table.tokens.next);
  of.slots.push(new Slot<Request>(sequence, stamp, state, result, table.copies.latest));
  parts.slotCount += 1;
}

function readHold(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const token = fields.token(state.tokens.next);
  const owner = fields.uint();
  const sequence =
    of.session === state.detached
      ? fields.within(1, SAFE_MAX, "sequence")
      : readSequence(of, fields);
  const grantedAt = readStamp(state, fields);
  const flags = fields.within(0, HOLD_LONE, "flags");
  parts.holdCount += 1;
  if (flags === HOLD_LONE) {
    if (of.session === state.detached) fields.fail("a hold of no session");
    of.holds.push({ token, owner, sequence, grantedAt, name: fields.text() });
    return;
  }
  const hold = new Hold(token, of.session, owner, sequence, grantedAt);
  hold.change().isContended = (flags & HOLD_CONTENDED) !== 0;
  hold.change().waitedMs = fields.within(0, grantedAt, "wait");
  if ((flags & HOLD_EXTRAS) !== 0) readExtras(parts, hold, fields);
  hold.change().firstPlace = readItems(state, hold, true, fields);
  const isOfOwner = hold.extras?.lease !== undefined;
  if (isOfOwner !== (of.session === state.detached)) fields.fail("a lease of a session");
  of.holds.push(hold);
}

function readExtras(parts: SnapshotParts, hold: Hold, fields: FieldReader): void {
  const { state } = parts;
  const extras = hold.changeExtras();
  extras.value = fields.text();
  extras.maxHoldMs = fields.within(0, WAIT_MS_MAX, "cap");
  extras.minHoldMs = fields.within(0, WAIT_MS_MAX, "minHoldMs");
  extras.lockDelayMs = fields.within(0, LOCK_DELAY_MS_MAX, "lockDelayMs");
  extras.revokedAt = fields.uint();
  extras.revokeReason = fields.text();
  extras.revokedBy = readOrderer(fields);
  const whose = fields.within(0, LEASE_OF_BEARER, "lease");
  if (whose > 0) {
    const isBearer = whose === LEASE_OF_BEARER;
    const lease = { ...readLeaseWait(parts, fields), isBearer };
    parts.countedFor.set(hold, lease.identity.number);
    const [endsAt, takenBy, takenAs] = [fields.uint(), fields.uint(), fields.uint()];
    const isOfLength = !isBearer || (lease.ttlMs >= TTL_MS_MIN && lease.ttlMs <= TTL_MS_MAX);
    if ((lease.ttlMs === 0) !== (endsAt === 0) || !isOfLength) {
      fields.fail(`a lease of ${lease.ttlMs} ms`);
    }
    extras.lease = { ...lease, endsAt, takenBy, takenAs };
  }
  const number = fields.within(0, state.nextNumber - 1, "number");
  if (number > 0 !== (endOf(hold) !== undefined)) fields.fail("a due time without a number");
  if (number > 0) parts.endNumbers.set(hold, number);
}

function readRequest(parts: SnapshotParts, of: SessionParts, fields: FieldReader): void {
  const { state } = parts;
  const { session, slots } = of;
  const number = fields.within(1, state.nextNumber - 1, "number");
  const kind = fields.within(REQUEST_ACQUIRE, REQUEST_TAKE, "kind");
  const isUpgrade = kind === REQUEST_UPGRADE;
  const headStart = isUpgrade ? 0 : fields.uint();
  const options = isUpgrade ? undefined : fields.options();
  const wait =
    kind === REQUEST_TAKE ? { ...readLeaseWait(parts, fields), isBearer: false } : undefined;
  const joined = wait === undefined ? number : fields.within(1, state.nextNumber - 1, "number");
  const queuedAt = wait === undefined ? undefined : readStamp(state, fields);
  const upgraded = isUpgrade ? readSequence(of, fields) : 0;
  const owner = fields.uint();
  const sequence = readSequence(of, fields);
  const enqueuedAt = readStamp(state, fields);
  const waitMs = fields.within(0, SAFE_MAX - enqueuedAt, "wait");
  const dueAt = waitMs === 0 ? NO_DEADLINE : enqueuedAt + waitMs - 1;
  const order = { rank: isUpgrade ? UPGRADE_RANK : enqueuedAt - headStart, number };
  const request = new Request(session, sequence, owner, order, enqueuedAt, dueAt, options);
  const restored = request.change();
  if (wait !== undefined) {
    request.become(wait, joined);
  }
  restored.detects = fields.flag("detects");
  restored.isUnchecked = fields.flag("unchecked");
  const slotAt = queuedAt ?? enqueuedAt;
  request.slot = new Slot(sequence, slotAt, "waiting", request, state.copies.latest);
  slots.push(request.slot);
  restored.firstPlace = readItems(state, request, false, fields);
  if (isUpgrade) parts.upgraded.set(request, upgraded);
  parts.requests.push(request);
}

/** Its identity may not have been read yet, or may have been removed: then only its name is left. */
function readLeaseWait({ state }: SnapshotParts, fields: FieldReader): Omit<LeaseWait, "isBearer"> {
  const ownerDigest = readHex(fields);
  const request = readHexOrNone(fields);
  const name = readSessionName(fields);
  const ttlMs = fields.within(0, LEASE_TTL_MS_MAX, "lease");
  const number = fields.within(0, state.access.nextIdentity - 1, "identity");
  const identity = new Identity(number, readOrderer(fields));
  return { ownerDigest, request, name, ttlMs, identity };
}

/** Of a session, or of an owner, whose name may be that of the session that handed its hold over. */
function readSessionName(fields: FieldReader): string {
  const name = fields.text();
  const problem = isValidSessionName(name);
  return problem === undefined ? name : fields.fail(problem);
}

function readEndedLease(parts: SnapshotParts, fields: FieldReader): void {
  const { state } = parts;
  const key = fields.text();
  const space = fields.within(0, state.access.nextIdentity, "identity") - 1;
  const ownerDigest = readHex(fields);
  const request = readHexOrNone(fields);
  const [reason, endedAt] = [fields.endReason(), readStamp(state, fields)];
  state.leases.remember({ key, space, ownerDigest, request, reason, endedAt });
  parts.endedLeaseCount += 1;
}

function readHexOrNone(fields: FieldReader): string {
  const digits = fields.text();
  return digits === "" || SHORT_DIGEST.test(digits)
    ? digits
    : fields.fail(`${digits} is no digest`);
}

function readHex(fields: FieldReader): string {
  const digits = fields.text();
  return SHORT_DIGEST.test(digits) ? digits : fields.fail(`${digits} is no digest`);
}

function readClosing(parts: SnapshotParts, fields: FieldReader): void {
  const { state } = parts;
  const token = fields.token(state.tokens.next);
  const session = fields.within(0, state.nextNumber - 1, "session");
  const identity = fields.within(0, state.access.nextIdentity, "identity");
  const number = fields.within(1, state.nextNumber - 1, "number");
  const closing = new Closing(token, session, undefined, fields.uint(), number, state.copies);
  if (identity > 0) parts.countedFor.set(closing, identity - 1);
  closing.change().firstPlace = readItems(state, closing, true, fields);
  parts.closings.push(closing);
}

function readSemaphore(parts: SnapshotParts, fields: FieldReader): void {
  const { state } = parts;
  const key = obtainKey(state, fields.text());
  const limit = fields.within(1, LIMIT_MAX, "limit");
  if (key.semaphore !== undefined) fields.fail(`the semaphore ${key.name} twice`);
  makeSemaphore(state, key, limit, fields.flag("set"));
  parts.semaphoreCount += 1;
}

function readWorkKey(parts: SnapshotParts, fields: FieldReader): void {
  const name = fields.text();
  const frontier = fields.uint();
  const rank = fields.uint();
  const evictFrom =
    rank === 0 ? undefined : { rank: rank - 1 + RANK_LOWEST, number: fields.uint() };
  parts.work.push({ kind: "key", name, frontier, evictFrom });
}

/** Makes places for the claim; they are not in their keys yet. */
function readItems(
  state: TableState,
  claimant: Claimant,
  isHeld: boolean,
  fields: FieldReader,
): Place | undefined {
  const count = fields.within(1, ITEMS_MAX, "count of items");
  let [first, last]: [Place | undefined, Place | undefined] = [undefined, undefined];
  for (let left = count; left > 0; left -= 1) {
    const mode = fields.mode();
    const key = obtainKey(state, fields.text());
    for (let other = first; other !== undefined; other = other.sibling) {
      if (other.key === key) fields.fail("a key twice in one claim");
    }
    const permits = mode === "permits" ? readPermits(isHeld, fields) : undefined;
    const place = new Place(key, mode, claimant, permits);
    if (last === undefined) first = place;
    else last.change().sibling = place;
    last = place;
  }
  return first;
}

function readPermits(isHeld: boolean, fields: FieldReader): Permits {
  const permits = new Permits(fields.within(1, PERMITS_MAX, "permits"));
  if (!isHeld) return permits;
  const slots: number[] = [];
  for (let left = permits.wanted; left > 0; left -= 1) {
    slots.push(fields.within(0, LIMIT_MAX - 1, "slot"));
  }
  permits.slots = slots;
  return permits;
}

/** The name of the identity that ordered something; "": none did. */
function readOrderer(fields: FieldReader): string {
  const name = fields.text();
  const problem = name === "" ? undefined : isValidIdentityName(name);
  return problem === undefined ? name : fields.fail(problem);
}

/** The sequence of a command that was executed. */
function readSequence({ session }: SessionParts, fields: FieldReader): number {
  return fields.within(1, session.highestSequence, "sequence");
}

/** A time no later than that of the snapshot. */
function readStamp({ stamp }: TableState, fields: FieldReader): number {
  return stamp - fields.within(0, stamp, "time ago");
}
