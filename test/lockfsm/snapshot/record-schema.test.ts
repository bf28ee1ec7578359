/** The one record that is written and read by hand, against its declaration. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoneHold } from "../../../src/lockfsm/holds/lone-holds.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import { FieldReader } from "../../../src/lockfsm/snapshot/field-reader.js";
import { RecordWriter } from "../../../src/lockfsm/snapshot/kinds.js";
import {
  KIND,
  RECORDS,
  readLoneHold,
  writeLoneHold,
  writeRecord,
} from "../../../src/lockfsm/snapshot/record-schema.js";
import { ProtocolError } from "../../../src/protocol/index.js";
import { anyKey, anyNumber } from "../../protocol/arbitraries.js";

const STAMP = 2 ** 40;
const NEXT_TOKEN = 2 ** 50;
const moment = {
  ...{ stamp: STAMP, nextToken: NEXT_TOKEN, nextNumber: 9, nextIdentity: 9, nextCredential: 9 },
};

const loneHold: fc.Arbitrary<LoneHold> = fc.record({
  token: fc.integer({ min: 1, max: NEXT_TOKEN - 1 }),
  owner: anyNumber(),
  sequence: fc.integer({ min: 1, max: 2 ** 40 }),
  grantedAt: fc.integer({ min: 0, max: STAMP }),
  name: anyKey,
});

/** Its bytes as they are written by hand, from a row of a table. */
function byHand({ token, owner, sequence, grantedAt, name }: LoneHold): Uint8Array {
  const { rows, detached } = new TableState(resolveTableSettings());
  const row = rows.add(detached, token, sequence, name);
  rows.describe(row, owner, grantedAt);
  const writer = new RecordWriter(moment);
  writeLoneHold(writer, rows, row, name);
  return writer.take();
}

function bySchema(hold: LoneHold): Uint8Array {
  const writer = new RecordWriter(moment);
  writeRecord(writer, "loneHold", hold);
  return writer.take();
}

/** What a reader makes of the bytes; the reason if it refuses them. */
function outcomeOf(bytes: Uint8Array, read: (fields: FieldReader) => unknown): unknown {
  const fields = new FieldReader(bytes, moment);
  try {
    expect(fields.uint()).toBe(KIND.loneHold);
    return [read(fields), fields.at];
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return "refused";
  }
}

test("a lone hold is written as it is declared, and read back", () => {
  fc.assert(
    fc.property(loneHold, (hold) => {
      const bytes = byHand(hold);
      expect(bytes).toEqual(bySchema(hold));
      expect(outcomeOf(bytes, readLoneHold)).toEqual([hold, bytes.length]);
    }),
  );
});

test("a damaged lone hold is read, or refused, as it is declared", () => {
  fc.assert(
    fc.property(loneHold, fc.nat(), fc.nat(255), (hold, at, byte) => {
      const bytes = bySchema(hold);
      bytes[1 + (at % (bytes.length - 1))] = byte;
      const declared = outcomeOf(bytes, (fields) => RECORDS.loneHold.read(fields, "loneHold"));
      expect(outcomeOf(bytes, readLoneHold)).toEqual(declared);
    }),
  );
});
