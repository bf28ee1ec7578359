/**
 * Computes one value from everything the table remembers, equal on all nodes that applied the same
 * entries: the digest of the records that a snapshot would have now, each hashed alone and all
 * summed, because the order of most means nothing. Takes time proportional to the table: it is for
 * the simulator, tests and comparisons on request, never for every entry.
 */
import { lookAt } from "../holds/lone-holds.js";
import { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { recordBeginning, recordIdentities, recordWork } from "./block-writer.js";
import { RecordWriter } from "./kinds.js";
import { BEGINNING, type RecordName, type SourceOf, writeRecord } from "./record-schema.js";

/** Two independent lanes of 32 bits. */
class Digest {
  first = 0x811c_9dc5;
  second = 0x2545_f491;

  /** Adds a finished record. A sum does not depend on the order. */
  sum(record: Uint8Array): void {
    const digest = new Digest();
    digest.bytes(record);
    this.first = (this.first + digest.mixed(digest.first)) >>> 0;
    this.second = (this.second + digest.mixed(digest.second)) >>> 0;
  }

  bytes(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      this.first = Math.imul(this.first ^ byte, 0x0100_0193);
      this.first ^= this.first >>> 15;
      this.second = Math.imul(this.second + byte, 0x9e37_79b1);
      this.second ^= this.second >>> 13;
    }
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
}

/** 16 lower-case hex digits. */
export function hashState(state: TableState): string {
  const work = recordWork(state);
  const identities = recordIdentities(state);
  const beginning = recordBeginning(state, work, identities.length);
  const writer = new RecordWriter(beginning);
  const sums = new Digest();
  const add: Visit = (name, of, session) => {
    writer.reset();
    if (session !== undefined) writer.uint(session);
    writeRecord(writer, name, of);
    sums.sum(writer.view());
  };
  for (const identity of identities) add("identity", identity);
  // A snapshot that is under way has the one walk through these lists.
  state.semaphores.forEach((semaphore) => {
    add("semaphore", semaphore);
  });
  state.cooldowns.forEach((cooldown) => {
    add("cooldown", cooldown);
  });
  state.sessions.forEach((session) => {
    visitSession(state, session, add);
  });
  for (const item of state.work.list()) {
    if (item instanceof Session) visitSession(state, item, add);
  }
  visitClaims(state, state.detached, add);
  writer.reset();
  BEGINNING.write(writer, beginning);
  for (const { kind, of } of work) writeRecord(writer, kind, of);
  for (const ended of state.leases.ended()) writeRecord(writer, "endedLease", ended);
  writeUsage(writer, state);
  writer.uint(sums.first);
  writer.uint(sums.second);
  const whole = new Digest();
  whole.bytes(writer.view());
  return whole.hex();
}

/** @param session the number of the one that the record belongs to */
type Visit = <N extends RecordName>(name: N, of: SourceOf<N>, session?: number) => void;

function visitSession(state: TableState, session: Session, visit: Visit): void {
  visit("session", session);
  session.replies.forEach((slot) => {
    if (slot.state !== "waiting") visit("slot", slot, session.id);
  });
  visitClaims(state, session, visit);
}

/** A lone hold is the same as the ordinary one that it may be on another node. */
function visitClaims(state: TableState, session: Session, visit: Visit): void {
  for (let row = session.firstHold; row !== 0; row = state.rows.nextOf(row)) {
    const hold = lookAt(state, row);
    visit("hold", hold, hold.session.id);
  }
  for (let request = session.firstRequest; request !== undefined; request = request.next) {
    visit("request", request, request.session.id);
  }
}

/** What counts against each identity follows from the rest, but decides results. */
function writeUsage(writer: RecordWriter, { access }: TableState): void {
  const identities = [...access.identities(), ...access.removed()];
  identities.sort((left, right) => left.number - right.number);
  for (const { sessionCount, holdCount, waitCount, bytes } of identities) {
    for (const sum of [sessionCount, holdCount, waitCount, bytes]) writer.uint(sum);
  }
}
