/** The records that are written and read by hand, against their declarations. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoneHold } from "../../../src/lockfsm/holds/lone-holds.js";
import { Hold, HoldEnd, HoldExtras } from "../../../src/lockfsm/records/hold.js";
import { Identity } from "../../../src/lockfsm/records/identity.js";
import { Key, Permits, Place } from "../../../src/lockfsm/records/key.js";
import type { Lease } from "../../../src/lockfsm/records/lease.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import { FieldReader } from "../../../src/lockfsm/snapshot/field-reader.js";
import {
  readHold,
  readLoneHold,
  writeHold,
  writeLoneHold,
} from "../../../src/lockfsm/snapshot/hold-records.js";
import { RecordWriter } from "../../../src/lockfsm/snapshot/kinds.js";
import {
  KIND,
  RECORDS,
  type RecordName,
  type RecordOf,
  writeRecord,
} from "../../../src/lockfsm/snapshot/record-schema.js";
import { CLAIM_MODES, ProtocolError } from "../../../src/protocol/index.js";
import { anyKey, anyNumber } from "../../protocol/arbitraries.js";
import { runsOf } from "../../runs.js";

const STAMP = 2 ** 40;
const NEXT_TOKEN = 2 ** 50;
const moment = {
  ...{ stamp: STAMP, nextToken: NEXT_TOKEN, nextNumber: 9, nextIdentity: 9, nextCredential: 9 },
};

const loneHold: fc.Arbitrary<LoneHold> = fc.record({
  token: fc.integer({ min: 1, max: NEXT_TOKEN - 1 }),
  task: anyNumber(),
  sequence: fc.integer({ min: 1, max: 2 ** 40 }),
  grantedAt: fc.integer({ min: 0, max: STAMP }),
  name: anyKey,
});

const milliseconds = fc.oneof(fc.constant(0), anyNumber(0, 2 ** 32 - 1));
const label = fc.oneof(fc.constant(""), fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/));
const digest = fc.stringMatching(/^[0-9a-f]{32}$/);

const lease: fc.Arbitrary<Lease> = fc.record({
  ownerDigest: digest,
  request: fc.oneof(fc.constant(""), digest),
  name: label,
  ttlMs: fc.integer({ min: 0, max: 600_000_000 }),
  identity: fc
    .tuple(fc.integer({ min: 0, max: moment.nextIdentity - 1 }), label)
    .map(([number, name]) => new Identity(number, name)),
  isBearer: fc.boolean(),
  ...{ endsAt: anyNumber(), takenBy: anyNumber(), takenAs: anyNumber() },
});

const extras = fc.record({
  value: fc.oneof(fc.constant(""), anyKey),
  ...{ maxHoldMs: milliseconds, minHoldMs: milliseconds },
  lockDelayMs: fc.integer({ min: 0, max: 60_000 }),
  revokedAt: milliseconds,
  revokeReason: label,
  revokedBy: label,
  lease: fc.option(lease, { nil: undefined }),
});

const items = fc.array(
  fc.record({
    key: anyKey,
    mode: fc.constantFrom(...CLAIM_MODES),
    slots: fc.array(fc.nat(999_999), { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 3 },
);

const hold: fc.Arbitrary<Hold> = fc
  .record({
    ...{ fields: loneHold, waitedMs: anyNumber(), isContended: fc.boolean(), items },
    extras: fc.option(extras, { nil: undefined }),
    endNumber: fc.integer({ min: 0, max: moment.nextNumber - 1 }),
  })
  .map(({ fields: { token, task, sequence, grantedAt }, extras: more, ...of }) => {
    const { detached } = new TableState(resolveTableSettings());
    const made = new Hold(token, detached, task, sequence, grantedAt);
    const changed = made.change();
    changed.waitedMs = of.waitedMs;
    changed.isContended = of.isContended;
    if (more !== undefined) {
      const end = of.endNumber === 0 ? undefined : new HoldEnd(made, 0, of.endNumber);
      changed.extras = Object.assign(new HoldExtras(), more, { end });
    }
    for (const { key, mode, slots } of of.items.toReversed()) {
      const permits = mode === "permits" ? new Permits(slots.length) : undefined;
      if (permits !== undefined) permits.slots = slots;
      const place = new Place(new Key(key, undefined), mode, made, permits);
      place.change().sibling = made.firstPlace;
      changed.firstPlace = place;
    }
    return made;
  });

function written(write: (to: RecordWriter) => void): Uint8Array {
  const writer = new RecordWriter(moment);
  write(writer);
  return writer.take();
}

/** What a reader makes of the bytes after the kind; "refused" if it refuses them. */
function outcomeOf(bytes: Uint8Array, read: (fields: FieldReader) => unknown): unknown {
  const fields = new FieldReader(bytes, moment);
  fields.uint();
  try {
    return [read(fields), fields.at];
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return "refused";
  }
}

/** Zero and other small numbers are what most bounds are about. */
const byteOrSmall = fc.oneof(fc.nat(255), fc.nat(3));

function expectAsDeclared(
  name: RecordName,
  bytes: Uint8Array,
  read: (fields: FieldReader) => unknown,
): void {
  const declared = outcomeOf(bytes, (fields) => withoutLinks(RECORDS[name].read(fields, name)));
  expect(outcomeOf(bytes, read)).toEqual(declared);
}

/** Leaves out usual values that the declaration copies in addition to the values of a snapshot. */
function withoutLinks(record: object): object {
  if (!("extras" in record) || record.extras === undefined) return record;
  const { end, upgrade, ...kept } = record.extras as RecordOf<"hold">["extras"] & HoldExtras;
  expect([end, upgrade]).toEqual([undefined, undefined]);
  return { ...record, extras: kept };
}

/** Writes it by hand, from a row of a table. */
function writeRow(to: RecordWriter, { token, task, sequence, grantedAt, name }: LoneHold): void {
  const { rows, detached } = new TableState(resolveTableSettings());
  const row = rows.add(detached, token, sequence, name);
  rows.describe(row, task, grantedAt);
  writeLoneHold(to, rows, row, name);
}

test("a lone hold is written as it is declared, and read back", () => {
  fc.assert(
    fc.property(loneHold, (one) => {
      const bytes = written((to) => writeRow(to, one));
      expect(bytes).toEqual(written((to) => writeRecord(to, "loneHold", one)));
      expect(outcomeOf(bytes, readLoneHold)).toEqual([one, bytes.length]);
    }),
  );
});

test("a hold is written as it is declared, and read back", () => {
  fc.assert(
    fc.property(hold, (one) => {
      const bytes = written((to) => writeHold(to, one));
      expect(bytes).toEqual(written((to) => writeRecord(to, "hold", one)));
      const { token, task, sequence, grantedAt, waitedMs, isContended } = one;
      const read = expect.objectContaining({
        ...{ token, task, sequence, grantedAt, waitedMs, isContended },
        endNumber: one.extras?.end?.number ?? 0,
      });
      expect(outcomeOf(bytes, readHold)).toEqual([read, bytes.length]);
      expectAsDeclared("hold", bytes, readHold);
    }),
  );
});

test("a damaged hold is read, or refused, as it is declared", () => {
  fc.assert(
    fc.property(fc.oneof(loneHold, hold), fc.nat(), byteOrSmall, (one, at, byte) => {
      const name = one instanceof Hold ? "hold" : "loneHold";
      const bytes = written((to) => {
        if (one instanceof Hold) writeHold(to, one);
        else writeRow(to, one);
      });
      bytes[1 + (at % (bytes.length - 1))] = byte;
      expectAsDeclared(name, bytes, name === "hold" ? readHold : readLoneHold);
    }),
    { numRuns: runsOf(700) },
  );
});

test("extras that are usual, or beyond their bounds, are refused as it is declared", () => {
  const hasOnly = (bit: number, value: number | string): Uint8Array =>
    written((to) => {
      for (const number of [KIND.hold, 1, 0, 1, 0, 0, 0, bit]) to.uint(number);
      if (typeof value === "string") to.string(value);
      else to.uint(value);
      for (const number of [0, 1, 0]) to.uint(number);
      to.string("key");
    });
  const some = { value: "v", revokeReason: "r", revokedBy: "ops" };
  const wrong = {
    value: [""],
    maxHoldMs: [0, 2 ** 32],
    minHoldMs: [0, 2 ** 32],
    lockDelayMs: [0, 60_001],
    revokedAt: [0],
    revokeReason: [""],
    revokedBy: ["", "no name"],
  };
  for (const [at, [name, values]] of Object.entries(wrong).entries()) {
    const right = hasOnly(1 << at, some[name as keyof typeof some] ?? 1);
    expect(outcomeOf(right, readHold), name).not.toBe("refused");
    expectAsDeclared("hold", right, readHold);
    for (const value of values) {
      const bytes = hasOnly(1 << at, value);
      expect(outcomeOf(bytes, readHold), `${name} ${value}`).toBe("refused");
      expectAsDeclared("hold", bytes, readHold);
    }
  }
});
