/**
 * What the ordered store keeps besides chunks: records of snapshots, and the rows, records and mark
 * of the audit. The first byte of an input says which of them it is.
 */

import { MemoryStoreDisk } from "../../../../lab/memory/memory-ordered-store.js";
import { ProtocolError } from "../../../../src/protocol/index.js";
import {
  decodeTenure,
  type EndedTenure,
  encodeTenure,
} from "../../../../src/server/reads/tenures.js";
import {
  decodeAuditRecord,
  encodeAuditRecord,
} from "../../../../src/storage/audit/audit-record.js";
import { AuditRows, auditRowOf, chunkOfRow } from "../../../../src/storage/audit/audit-rows.js";
import { AuditStore } from "../../../../src/storage/index.js";
import {
  decodeSnapshotRecord,
  encodeSnapshotRecord,
} from "../../../../src/storage/snapshots/snapshot-record.js";
import { auditMarkKey, auditRecordKey, auditRowsKey } from "../../../../src/storage/store-keys.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandSameBytes, type FuzzTarget, type Verdict } from "../../engine/target.js";

const KINDS = ["snapshot", "record", "rows", "mark", "tenure"] as const;
const KEY = "orders/1";
const ROW = auditRowOf(KEY);
const CHUNK = chunkOfRow(ROW);
const MARK = { through: { index: 9, number: 4 }, completeAfter: 0 };

export const storeRows: FuzzTarget = {
  name: "store-rows",
  about: "rows of the ordered store: snapshots, and the audit that a node loads at its start",
  corpus: samples,
  mutators: [mutateTenure],
  bytesMax: 4_096,
  // Each of the 4,096 rows is looked at where the mark says that something is gone.
  steps: { fixed: 3_000_000, perByte: 2_000 },
  shortRuns: 20,
  run(input) {
    const value = input.subarray(1);
    switch (KINDS[input[0] ?? 0]) {
      case "snapshot":
        return runSnapshot(value);
      case "record":
        return runRecord(value);
      case "rows":
      case "mark":
        return runAudit(KINDS[input[0] ?? 0] === "rows", value);
      default:
        return runTenure(value);
    }
  },
};

function runSnapshot(value: Uint8Array): Verdict {
  const record = decodeSnapshotRecord(value);
  if (record === undefined) return "refused";
  demandSameBytes(encodeSnapshotRecord(record), value, "the record of a snapshot");
  const { index, term, byteLength } = record.manifest;
  for (const number of [index, term, byteLength]) {
    demand(Number.isSafeInteger(number), () => `${number} in the record of a snapshot`);
  }
  return "taken";
}

function runRecord(value: Uint8Array): Verdict {
  const record = decodeAuditRecord(value);
  if (record === undefined) return "refused";
  demand(Number.isSafeInteger(record.index), () => `${record.index} in a record of the audit`);
  return "taken";
}

function runTenure(value: Uint8Array): Verdict {
  try {
    const { reason, ...tenure } = decodeTenure(KEY, value);
    demand(reason !== null, () => "a tenure that has not ended");
    encodeTenure({ ...tenure, reason });
    return "taken";
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return "refused";
  }
}

/** Damage never fails a call: it shows in what is read. */
async function runAudit(isRows: boolean, value: Uint8Array): Promise<Verdict> {
  const store = new MemoryStoreDisk().open();
  await new AuditStore(store).write(RECORDS, MARK);
  const key = isRows ? auditRowsKey(CHUNK) : auditMarkKey();
  await store.write([{ type: "put", key, value }]);
  const audit = new AuditStore(store);
  await audit.load();
  const through = { index: 1_000, number: 0 };
  const { records, holes } = await audit.read(KEY, through, 10);
  for (const { count } of holes) {
    demand(Number.isSafeInteger(count) && count > 0, () => `a hole of ${count} records`);
  }
  demand(Number.isSafeInteger(audit.lostTotal), () => `${audit.lostTotal} records are lost`);
  await audit.write([{ ...RECORDS[0], index: 20 } as (typeof RECORDS)[number]], {
    ...MARK,
    through: { index: 20, number: 0 },
  });
  await audit.trim({ fromWallMs: 0, bytesMax: 400 }, 100, audit.mark ?? MARK);
  return records.length === RECORDS.length && holes.length === 0 ? "taken" : "refused";
}

const TENURE: EndedTenure = {
  ...{ key: KEY, mode: "exclusive", token: 7, session: 3, sessionName: "a", task: 1, sequence: 2 },
  ...{ identity: "billing", grantedWallMs: 1_800_000_000_000, heldMs: 20, reason: 1 },
  ...{ waitedMs: 5, orderedBy: "ops", holder: "bearer" },
};
const RECORDS = [1, 2].map((index) => ({
  ...{ index, number: 0, lockKey: KEY, endedWallMs: 1_800_000_000_000 },
  body: encodeTenure(TENURE),
}));

async function samples(): Promise<Uint8Array[]> {
  const disk = new MemoryStoreDisk();
  const store = disk.open();
  await new AuditStore(store).write(RECORDS, MARK);
  const manifest = {
    ...{ index: 9, term: 2, checksum: "ab".repeat(32), chunkCount: 3, byteLength: 700 },
    configuration: Uint8Array.of(1, 2, 3),
  };
  const values: readonly (readonly [(typeof KINDS)[number], Uint8Array | undefined])[] = [
    ...(["complete", "own", "received", "removed"] as const).map((state) => {
      return ["snapshot", encodeSnapshotRecord({ state, storedChunks: 3, manifest })] as const;
    }),
    ["record", encodeAuditRecord(RECORDS[0] as (typeof RECORDS)[number])],
    ["record", await store.get(auditRecordKey(ROW, 1))],
    ["rows", await store.get(auditRowsKey(CHUNK))],
    ["rows", new AuditRows().encodeChunk(CHUNK)],
    ["mark", await store.get(auditMarkKey())],
    ["tenure", RECORDS[0]?.body],
  ];
  return values.map(([kind, value = new Uint8Array(0)]) => {
    return Uint8Array.from([KINDS.indexOf(kind), ...value]);
  });
}

function mutateTenure(...[input, { random, other }]: Parameters<Mutator>): Uint8Array | undefined {
  if (KINDS[input[0] ?? 0] !== "tenure") return undefined;
  const body = mutateMsgpack(input.slice(1), { random, other: () => other().slice(1) });
  return body === undefined ? undefined : replaced(input, 1, input.length, body);
}
