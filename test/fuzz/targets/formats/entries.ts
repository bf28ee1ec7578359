/**
 * Entries of the log, as a follower gets them and as records are forwarded: what passes the check is
 * applied by every node, always with the same outcome.
 */
import fc from "fast-check";
import { LockTable, NOBODY } from "../../../../src/lockfsm/index.js";
import {
  BATCH_HEADER_BYTES,
  checkBatch,
  countRecords,
  decodeCommands,
  OP,
  RECORD_HEADER_BYTES,
  selectRecords,
  writeRecord,
} from "../../../../src/protocol/index.js";
import { MODEL_VERSION } from "../../../../src/protocol/model-version.js";
import { rest, restored } from "../../../lockfsm/plans/snapshots.js";
import { anyCommand } from "../../../protocol/arbitraries.js";
import { encodeBatch, encodeCommand } from "../../../protocol/command-bytes.js";
import { mutateMsgpack, readNode } from "../../engine/msgpack-mutators.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandEqual, demandSameBytes, type FuzzTarget } from "../../engine/target.js";

const SEED = 11;
const STAMP = 20_000;
const WALL_MS = 1_800_000_000_000;

export const entries: FuzzTarget = {
  name: "entries",
  about: "an entry of the log: the check before it enters, and the table that applies it",
  corpus: sampleEntries,
  mutators: [mutateCommand],
  repair: countsRepaired,
  bytesMax: 8_192,
  steps: { fixed: 300_000, perByte: 2_000 },
  shortRuns: 100,
  run(input) {
    const header = checkBatch(input);
    const count = countRecords(input, 0);
    if (count >= 0) {
      demandEqual(decodeCommands(input, 0).length, count, "commands of forwarded records");
      demandSameBytes(
        selectRecords(input, () => true),
        input,
        "records that are all kept",
      );
    }
    if (header === undefined) return "refused";
    const records = input.subarray(BATCH_HEADER_BYTES);
    const { stamp, wallMs } = header;
    demandSameBytes(encodeBatch(stamp, wallMs, header.count, [records]), input, "written again");
    const commands = decodeCommands(input, BATCH_HEADER_BYTES);
    demandEqual(commands.length, header.count, "commands of an entry");
    const tables = [scene(), scene()];
    for (const table of tables) {
      if (stamp < table.stamp) return "refused";
      table.apply({ index: table.index + 1, stamp, wallMs, commands }, NOBODY);
      table.apply({ index: table.index + 1, stamp, wallMs, commands: [] }, NOBODY);
    }
    const [one, other] = tables.map((table) => table.hash());
    demandEqual(one, other, "tables that applied the same");
    const copy = restored(rest((tables[0] as LockTable).snapshot()));
    demandEqual(copy.hash(), one, "a table restored from its snapshot");
    return commands.some(({ command }) => command === undefined) ? "refused" : "taken";
  },
};

/** The table of a session that holds a lock and some permits; another waits for both. */
function scene(): LockTable {
  const table = new LockTable({ waitersMax: 100, grantsPerStepMax: 8, unitsPerEntryMax: 64 });
  SCENE.forEach((commands, at) => {
    table.apply({ index: at + 1, stamp: STAMP - 10 + at, wallMs: WALL_MS, commands }, NOBODY);
  });
  return table;
}

const head = (sequence: number) => ({ sequence, mark: 1, acknowledged: [] });
const open = (digit: string) => ({
  session: 0,
  epoch: 0,
  command: {
    ...{ op: OP.open, nonce: digit.repeat(32), attempt: 1, ttlMs: 15_000, name: digit },
    metadata: "",
  } as const,
});
const acquire = (session: number, sequence: number, key: string, permits?: number) => ({
  session,
  epoch: 1,
  command: {
    op: OP.acquire,
    ...head(sequence),
    task: 1,
    items:
      permits === undefined
        ? [{ key, mode: "exclusive" } as const]
        : [{ key, mode: "permits", permits, limit: 3 } as const],
    waitMs: -1,
    options: undefined,
  } as const,
});
const SCENE = [
  [open("1"), open("2")],
  [acquire(1, 1, "k"), acquire(1, 2, "s", 2), acquire(2, 1, "k"), acquire(2, 2, "s", 2)],
];

function recordOf(session: number, epoch: number, bytes: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, session, epoch, bytes);
  return record;
}

function sampleEntries(): Uint8Array[] {
  const command = fc.record({
    session: fc.integer({ min: 0, max: 3 }),
    epoch: fc.integer({ min: 0, max: 2 }),
    command: fc.oneof(anyCommand, anyCommand.map(asNext)),
  });
  const batches = fc.array(command, { maxLength: 4 }).map((commands) => {
    const records = commands.map((one) =>
      recordOf(one.session, one.epoch, encodeCommand(one.command)),
    );
    return encodeBatch(STAMP, WALL_MS, records.length, records);
  });
  const known = SCENE.map((commands) => {
    const records = commands.map(({ session, epoch, command: one }) =>
      recordOf(session, epoch, encodeCommand(one)),
    );
    return encodeBatch(STAMP, WALL_MS, records.length, records);
  });
  const sampled = fc.sample(batches, { seed: SEED, numRuns: 120 });
  return [...known, ...sampled.filter(({ length }) => length < 4_096)];
}

/** The table executes no sequence but the next one. */
function asNext<Command extends { readonly op: number }>(command: Command): Command {
  const changed = { ...command, mark: 1, acknowledged: [] };
  return "sequence" in command ? { ...changed, sequence: 3, ...targetOf(command) } : changed;
}

function targetOf(command: object): object {
  return "target" in command ? { target: 1 } : {};
}

/** Changes the values of one command and its length with it. */
function mutateCommand(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const starts = commandStarts(input);
  const start = source.random.pickOrNone(starts);
  if (start === undefined) return undefined;
  const end = start + lengthAt(input, start);
  const changed = mutateMsgpack(input.slice(start, end), {
    random: source.random,
    other() {
      const other = source.other();
      const from = commandStarts(other).at(-1) ?? 0;
      return other.slice(from);
    },
  });
  if (changed === undefined) return undefined;
  const bytes = Buffer.from(replaced(input, start, end, changed));
  bytes.writeUInt32BE(changed.length, start - 4);
  return Uint8Array.from(bytes);
}

function commandStarts(input: Uint8Array): number[] {
  const starts: number[] = [];
  let at = BATCH_HEADER_BYTES;
  while (at + RECORD_HEADER_BYTES <= input.length) {
    const start = at + RECORD_HEADER_BYTES;
    const end = start + lengthAt(input, start);
    if (end > input.length) break;
    starts.push(start);
    at = end;
  }
  return starts;
}

function lengthAt(input: Uint8Array, start: number): number {
  return Buffer.from(input.buffer, input.byteOffset, input.length).readUInt32BE(start - 4);
}

/** Version, and lengths and number of records as they are, wherever the values end. */
function countsRepaired(input: Uint8Array): Uint8Array {
  if (input.length < BATCH_HEADER_BYTES) return input;
  const bytes = Buffer.from(input);
  bytes[0] = MODEL_VERSION;
  let count = 0;
  let at = BATCH_HEADER_BYTES;
  while (at + RECORD_HEADER_BYTES <= bytes.length) {
    const start = at + RECORD_HEADER_BYTES;
    const said = start + bytes.readUInt32BE(start - 4);
    at = said <= bytes.length ? said : (readNode(bytes, start, 0)?.end ?? bytes.length);
    bytes.writeUInt32BE(at - start, start - 4);
    count += 1;
  }
  bytes.writeUInt32BE(count, 17);
  demand(at >= BATCH_HEADER_BYTES, () => "records before the header");
  return Uint8Array.from(bytes);
}
