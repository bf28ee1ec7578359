/**
 * Computes one value from everything the table remembers, equal on all nodes that applied the same
 * entries. Records in Maps are hashed one by one and summed, because the order of a Map is not part
 * of the state; ordered data is hashed in its order. Takes time proportional to the table: it is
 * for the simulator, tests and comparisons on request, never for every entry.
 */
import { lookAtEntry } from "../holds/keys.js";
import { Closing } from "../records/closing.js";
import { Hold, HoldExtras, upgradedBy } from "../records/hold.js";
import type { Identity } from "../records/identity.js";
import { Key, type Place } from "../records/key.js";
import type { LeaseWait } from "../records/lease.js";
import { orderOf, Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { Order } from "../records/waiting-queue.js";
import { RemovedIdentity, type Work } from "../records/work-queue.js";
import { SETTING_NAMES } from "../settings.js";

const NO_EXTRAS: HoldExtras = Object.freeze(new HoldExtras());

/** Two independent lanes of 32 bits. */
class Digest {
  first = 0x811c_9dc5;
  second = 0x2545_f491;

  /** Adds a whole number, which may be negative. */
  number(value: number): void {
    this.#word(value >>> 0);
    this.#word(Math.floor(value / 0x1_0000_0000) >>> 0);
  }

  text(text: string): void {
    this.number(text.length);
    for (let at = 0; at < text.length; at += 1) this.#word(text.charCodeAt(at));
  }

  flag(flag: boolean): void {
    this.#word(flag ? 1 : 0);
  }

  /** Adds a finished record. A sum does not depend on the order. */
  sum(record: Digest): void {
    this.first = (this.first + record.mixed(record.first)) >>> 0;
    this.second = (this.second + record.mixed(record.second)) >>> 0;
  }

  mixed(lane: number): number {
    let mixed = lane;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }

  hex(): string {
    const lanes = [this.mixed(this.first), this.mixed(this.second)];
    return lanes.map((lane) => lane.toString(16).padStart(8, "0")).join("");
  }

  #word(word: number): void {
    this.first = Math.imul(this.first ^ word, 0x0100_0193);
    this.first ^= this.first >>> 15;
    this.second = Math.imul(this.second + word, 0x9e37_79b1);
    this.second ^= this.second >>> 13;
  }
}

/** 16 lower-case hex digits. */
export function hashState(state: TableState): string {
  const sums = new Digest();
  state.sessions.forEach((session) => {
    sums.sum(digestSession(session));
  });
  state.keys.forEach((entry) => {
    sums.sum(digestKey(lookAtEntry(state, entry)));
  });
  for (const identity of [...state.access.identities(), ...state.access.removed()]) {
    sums.sum(digestIdentity(identity));
  }
  const whole = new Digest();
  whole.number(state.index);
  whole.number(state.stamp);
  whole.number(state.tokens.next);
  whole.number(state.nextNumber);
  whole.number(state.tokens.leftAtMs);
  whole.number(state.quietUntil);
  whole.number(state.access.nextIdentity);
  whole.number(state.access.nextCredential);
  whole.number(state.access.revision);
  whole.number(state.adminOrderCount);
  whole.number(state.limitOrderCount);
  for (const name of SETTING_NAMES) whole.number(state.settings[name]);
  state.work.forEach((item) => {
    digestWork(whole, item);
  });
  state.searches.forEach(({ number }) => {
    whole.number(number);
  });
  for (const { key, space, ownerDigest, request, reason, endedAt } of state.leases.ended()) {
    whole.text(key);
    whole.number(space);
    whole.text(ownerDigest);
    whole.text(request);
    whole.number(reason);
    whole.number(endedAt);
  }
  whole.number(sums.first);
  whole.number(sums.second);
  return whole.hex();
}

function digestWork(digest: Digest, item: Work): void {
  if (item instanceof Key) {
    digest.text(item.name);
    digest.number(item.frontier === undefined ? 0 : orderOf(item.frontier).number);
    digestOrder(digest, item.semaphore?.evictFrom);
  } else if (item instanceof RemovedIdentity) {
    digest.number(item.identity.number);
    digest.text(item.orderedBy);
  } else {
    digest.number(item.id);
    digest.text(item.name);
    digest.text(item.orderedBy);
  }
}

function digestIdentity(identity: Identity): Digest {
  const digest = new Digest();
  digest.number(identity.number);
  digest.text(identity.name);
  digest.flag(identity.isRemoved);
  // They follow from the rest, but decide results.
  digest.number(identity.sessionCount);
  digest.number(identity.holdCount);
  digest.number(identity.waitCount);
  digest.number(identity.bytes);
  for (const { key, isPrefix, level } of identity.grants) {
    digest.text(key);
    digest.flag(isPrefix);
    digest.number(level);
  }
  for (const credential of identity.credentials) {
    digest.number(credential.number);
    digest.text(credential.label);
    digest.text(credential.kind);
    digest.text(credential.digest);
    digest.number(credential.expiresWallMs);
    digest.number(credential.createdWallMs);
  }
  return digest;
}

function digestSession(session: Session): Digest {
  const digest = new Digest();
  digest.number(session.id);
  digest.text(session.nonceDigest);
  digest.text(session.name);
  digest.text(session.metadata);
  digest.number(session.credential.identity.number);
  digest.number(session.credential.number);
  digest.number(session.origin.node);
  digest.text(session.origin.address);
  digest.number(session.ttlMs);
  digest.number(session.dueAt);
  digest.number(session.attempt);
  digest.number(session.attachEpoch);
  digest.number(session.attachedAt);
  digest.number(session.attachedSequence);
  digest.number(session.highestSequence);
  digest.number(session.replies.mark);
  digest.number(session.forcedEnd?.dueAt ?? 0);
  digest.number(session.forcedEnd?.number ?? 0);
  digest.text(session.forcedEnd?.reason ?? "");
  digest.text(session.forcedEnd?.orderedBy ?? "");
  digest.text(session.orderedBy);
  for (const [sequence, { token, reason }] of session.losses ?? []) {
    digest.number(sequence);
    digest.number(token);
    digest.number(reason);
  }
  session.replies.forEach((slot) => {
    digest.number(slot.sequence);
    digest.number(slot.stamp);
    digest.text(slot.state);
    digest.text(JSON.stringify(slot.result));
  });
  return digest;
}

/** Includes the claims in the key; a claim of several keys is hashed in each of them. */
function digestKey(key: Key): Digest {
  const digest = new Digest();
  const { semaphore } = key;
  digest.text(key.name);
  digest.number(key.holdCount);
  digest.number(semaphore?.limit ?? 0);
  digest.flag(semaphore?.isSet === true);
  for (let place = key.firstHold; place !== undefined; place = place.next) {
    digestPlace(digest, place);
  }
  for (let place = key.queue?.first; place !== undefined; place = place.next) {
    digestPlace(digest, place);
  }
  return digest;
}

function digestPlace(digest: Digest, place: Place): void {
  const { mode, permits, claimant } = place;
  digest.text(mode);
  digest.number(permits?.wanted ?? 0);
  for (const slot of permits?.slots ?? []) digest.number(slot);
  if (claimant instanceof Request) digestRequest(digest, claimant);
  else if (claimant instanceof Closing) {
    digest.number(claimant.token);
    digest.number(claimant.session);
    digest.number(claimant.identity?.number ?? -1);
    digest.number(claimant.number);
    digest.number(claimant.dueAt);
  } else if (claimant instanceof Hold) digestHold(digest, claimant);
  for (let at = claimant.firstPlace; at !== undefined; at = at.sibling) digest.text(at.key.name);
}

function digestRequest(digest: Digest, request: Request): void {
  digestOwner(digest, request);
  digest.number(request.sequence);
  digestOrder(digest, request);
  digest.number(request.enqueuedAt);
  digest.number(request.dueAt);
  digest.number(upgradedBy(request)?.token ?? 0);
  digest.flag(request.isUnchecked);
  digest.flag(request.detects);
  digest.flag(request.isListed);
  digest.text(JSON.stringify(request.options ?? null));
  digestLeaseWait(digest, request.lease);
  digest.number(request.joined);
}

function digestHold(digest: Digest, hold: Hold): void {
  digestOwner(digest, hold);
  digest.number(hold.token);
  digest.number(hold.sequence);
  digest.number(hold.grantedAt);
  digest.number(hold.waitedMs);
  digest.flag(hold.isContended);
  // Extras are made when one is first needed, and stay: one with default values equals none.
  const extras = hold.extras ?? NO_EXTRAS;
  digest.text(extras.value);
  digest.number(extras.maxHoldMs);
  digest.number(extras.minHoldMs);
  digest.number(extras.lockDelayMs);
  digest.number(extras.revokedAt);
  digest.text(extras.revokeReason);
  digest.text(extras.revokedBy);
  digestLeaseWait(digest, extras.lease);
  digest.number(extras.lease?.endsAt ?? -1);
  digest.number(extras.lease?.takenBy ?? 0);
  digest.number(extras.lease?.takenAs ?? 0);
  digest.number(extras.end?.number ?? 0);
}

function digestLeaseWait(digest: Digest, wait: LeaseWait | undefined): void {
  digest.text(wait?.ownerDigest ?? "");
  digest.flag(wait?.isBearer ?? false);
  digest.text(wait?.request ?? "");
  digest.text(wait?.name ?? "");
  digest.number(wait?.ttlMs ?? -1);
  digest.number(wait?.identity.number ?? -1);
}

function digestOwner(digest: Digest, { session, owner }: Hold | Request): void {
  digest.number(session.id);
  digest.number(session.endedBy ?? -1);
  digest.number(owner);
}

function digestOrder(digest: Digest, order: Order | undefined): void {
  digest.number(order?.rank ?? 0);
  digest.number(order?.number ?? 0);
}
