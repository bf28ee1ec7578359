/**
 * Writes and reads the records of holds by hand, because they are most of a large table. They are
 * the bytes that `record-schema.ts` declares, within the same bounds, with less work: the loop over
 * the fields of any record is not compiled for one kind of record, and a table of holds with
 * options took half as long again to save. A test compares the two, also on damaged bytes. All
 * other records are written and read as declared.
 */
import { LOCK_DELAY_MS_MAX, WAIT_MS_MAX } from "../../protocol/index.js";
import type { LoneHold } from "../holds/lone-holds.js";
import type { Hold, HoldExtras } from "../records/hold.js";
import type { HoldRows } from "../records/hold-rows.js";
import type { FieldReader } from "./field-reader.js";
import { orderer, type RecordWriter } from "./kinds.js";
import { heldItems, KIND, lease, type RecordOf } from "./record-schema.js";

const SAFE_MAX = Number.MAX_SAFE_INTEGER;

/** Which fields of `HoldExtras` do not have their usual value, as bits. */
const EXTRA = {
  value: 1,
  maxHoldMs: 2,
  minHoldMs: 4,
  lockDelayMs: 8,
  revokedAt: 16,
  revokeReason: 32,
  revokedBy: 64,
  lease: 128,
} as const;
const EXTRAS_ALL = 255;

/** Writes the record of a hold that is only a row. */
export function writeLoneHold(to: RecordWriter, rows: HoldRows, row: number, name: string): void {
  const { stamp: now, nextToken } = to.moment;
  to.uint(KIND.loneHold);
  to.uint(nextToken - rows.tokenOf(row));
  to.uint(rows.taskOf(row));
  to.uint(rows.sequenceOf(row));
  to.uint(now - rows.grantedAtOf(row));
  to.string(name);
}

export function readLoneHold(from: FieldReader): LoneHold {
  const { stamp: now, nextToken } = from.moment;
  return {
    token: nextToken - from.within(1, nextToken - 1, "token back"),
    task: from.uint(),
    sequence: from.within(1, SAFE_MAX, "sequence"),
    grantedAt: now - from.within(0, now, "grantedAt"),
    name: from.string(),
  };
}

export function writeHold(to: RecordWriter, hold: Hold): void {
  const { stamp: now, nextToken } = to.moment;
  const { extras } = hold;
  to.uint(KIND.hold);
  to.uint(nextToken - hold.token);
  to.uint(hold.task);
  to.uint(hold.sequence);
  to.uint(now - hold.grantedAt);
  to.uint(hold.waitedMs);
  to.uint(hold.isContended ? 1 : 0);
  if (extras === undefined) to.uint(0);
  else writeExtras(to, extras);
  to.uint(extras?.end?.number ?? 0);
  heldItems.write(to, hold.firstPlace);
}

export function readHold(from: FieldReader): RecordOf<"hold"> {
  const { stamp: now, nextToken, nextNumber } = from.moment;
  return {
    token: nextToken - from.within(1, nextToken - 1, "token back"),
    task: from.uint(),
    sequence: from.within(1, SAFE_MAX, "sequence"),
    grantedAt: now - from.within(0, now, "grantedAt"),
    waitedMs: from.uint(),
    isContended: from.within(0, 1, "isContended") === 1,
    extras: readExtras(from),
    endNumber: from.within(0, nextNumber - 1, "endNumber"),
    items: heldItems.read(from, "items"),
  };
}

function writeExtras(to: RecordWriter, extras: HoldExtras): void {
  const { value, maxHoldMs, minHoldMs, lockDelayMs } = extras;
  const { revokedAt, revokeReason, revokedBy, lease: owned } = extras;
  to.uint(
    (value === "" ? 0 : EXTRA.value) |
      (maxHoldMs === 0 ? 0 : EXTRA.maxHoldMs) |
      (minHoldMs === 0 ? 0 : EXTRA.minHoldMs) |
      (lockDelayMs === 0 ? 0 : EXTRA.lockDelayMs) |
      (revokedAt === 0 ? 0 : EXTRA.revokedAt) |
      (revokeReason === "" ? 0 : EXTRA.revokeReason) |
      (revokedBy === "" ? 0 : EXTRA.revokedBy) |
      (owned === undefined ? 0 : EXTRA.lease),
  );
  if (value !== "") to.string(value);
  if (maxHoldMs !== 0) to.uint(maxHoldMs);
  if (minHoldMs !== 0) to.uint(minHoldMs);
  if (lockDelayMs !== 0) to.uint(lockDelayMs);
  if (revokedAt !== 0) to.uint(revokedAt);
  if (revokeReason !== "") to.string(revokeReason);
  if (revokedBy !== "") to.string(revokedBy);
  if (owned !== undefined) lease.write(to, owned);
}

type ExtrasRecord = RecordOf<"hold">["extras"];

function readExtras(from: FieldReader): ExtrasRecord {
  const has = from.within(0, EXTRAS_ALL, "extras");
  if (has === 0) return undefined;
  return {
    value: (has & EXTRA.value) === 0 ? "" : readText(from, "value"),
    maxHoldMs: (has & EXTRA.maxHoldMs) === 0 ? 0 : from.within(1, WAIT_MS_MAX, "maxHoldMs"),
    minHoldMs: (has & EXTRA.minHoldMs) === 0 ? 0 : from.within(1, WAIT_MS_MAX, "minHoldMs"),
    lockDelayMs:
      (has & EXTRA.lockDelayMs) === 0 ? 0 : from.within(1, LOCK_DELAY_MS_MAX, "lockDelayMs"),
    revokedAt: (has & EXTRA.revokedAt) === 0 ? 0 : from.within(1, SAFE_MAX, "revokedAt"),
    revokeReason: (has & EXTRA.revokeReason) === 0 ? "" : readText(from, "revokeReason"),
    revokedBy: (has & EXTRA.revokedBy) === 0 ? "" : readOrderer(from),
    lease: (has & EXTRA.lease) === 0 ? undefined : lease.read(from, "lease"),
  };
}

function readText(from: FieldReader, name: string): string {
  return from.string() || from.fail(`${name} is given its usual value`);
}

function readOrderer(from: FieldReader): string {
  return orderer.read(from, "revokedBy") || from.fail("revokedBy is given its usual value");
}
