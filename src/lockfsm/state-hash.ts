/**
 * One value for everything the table remembers, equal on all nodes that applied the same entries.
 * Records in Maps are hashed one by one and summed, since the order of a Map is not part of the
 * state; whatever has an order is hashed in it. Takes time proportional to the table: for the
 * simulator, tests and comparisons on request, never for every entry.
 */
import type { Result } from "../protocol/index.js";
import type { Hold } from "./hold.js";
import { Key } from "./key.js";
import { Request } from "./request.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** Two independent lanes of 32 bits. */
class Digest {
  first = 0x811c_9dc5;
  second = 0x2545_f491;

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

  /** Adds a finished record; a sum does not know the order. */
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
  state.keys.forEach((key) => {
    sums.sum(digestKey(key));
  });
  const whole = new Digest();
  whole.number(state.index);
  whole.number(state.stamp);
  whole.number(state.tokens.next);
  whole.number(state.nextNumber);
  for (const value of settingsOf(state)) whole.number(value);
  state.work.forEach((item) => {
    whole.flag(item instanceof Key);
    if (item instanceof Key) whole.text(item.name);
    else whole.number(item.id);
  });
  whole.number(sums.first);
  whole.number(sums.second);
  return whole.hex();
}

function settingsOf({ settings }: TableState): number[] {
  const { waitersMax, inFlightMax, unacknowledgedMax, unitsPerEntryMax } = settings;
  return [waitersMax, inFlightMax, unacknowledgedMax, unitsPerEntryMax, settings.grantsPerStepMax];
}

function digestSession(session: Session): Digest {
  const digest = new Digest();
  digest.number(session.id);
  digest.text(session.nonce);
  digest.text(session.name);
  digest.text(session.metadata);
  digest.number(session.ttlMs);
  digest.number(session.dueAt);
  digest.number(session.attachEpoch);
  digest.number(session.attachedAt);
  digest.number(session.attachedSequence);
  digest.number(session.highestSequence);
  digest.number(session.replies.mark);
  session.replies.forEach((slot) => {
    digest.number(slot.sequence);
    digest.number(slot.stamp);
    digest.text(slot.state);
    digest.number(slot.endReason ?? -1);
    digestResult(digest, slot.result);
  });
  return digest;
}

function digestResult(digest: Digest, result: Result): void {
  digest.number(result.status);
  if ("token" in result) digest.number(result.token);
  if ("reason" in result) digest.number(result.reason);
  if (!("blockers" in result) || result.blockers === undefined) return;
  digest.number(result.blockedBy ?? -1);
  for (const blocker of result.blockers) {
    digest.text(blocker.sessionName);
    digest.text(blocker.key);
    digest.text(blocker.mode);
    digest.number(blocker.token);
  }
}

/** With the claims that stand in it; one of several keys is hashed in each of them. */
function digestKey(key: Key): Digest {
  const digest = new Digest();
  digest.text(key.name);
  digest.number(key.holdCount);
  for (let place = key.firstHold; place !== undefined; place = place.next) {
    digest.flag(place.exclusive);
    digestClaimant(digest, place.claimant);
  }
  for (let place = key.firstWaiter; place !== undefined; place = place.next) {
    digest.flag(place.exclusive);
    digest.flag(place.reached);
    digestClaimant(digest, place.claimant);
  }
  return digest;
}

function digestClaimant(digest: Digest, claimant: Request | Hold): void {
  digest.number(claimant.session.id);
  digest.flag(claimant.session.isEnded);
  digest.number(claimant.owner);
  if (claimant instanceof Request) {
    digest.number(claimant.slot.sequence);
    digest.number(claimant.number);
    digest.number(claimant.enqueuedAt);
    digest.number(claimant.dueAt);
  } else {
    digest.number(claimant.token);
    digest.number(claimant.sequence);
    digest.number(claimant.grantedAt);
  }
  for (let place = claimant.firstPlace; place !== undefined; place = place.sibling) {
    digest.text(place.key.name);
  }
}
