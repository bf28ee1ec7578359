/** The chunks of a table's snapshot, as a node restores them from its store or another node. */
import { HoldfastError } from "../../../../src/errors/index.js";
import { type LockTable, NOBODY } from "../../../../src/lockfsm/index.js";
import { BLOCK_HEAD_BYTES } from "../../../../src/lockfsm/snapshot/format.js";
import { Reader } from "../../../../src/protocol/index.js";
import { everything } from "../../../lockfsm/plans/everything.js";
import { letEverythingEnd } from "../../../lockfsm/plans/recording.js";
import { joined, rest, restored, sealed } from "../../../lockfsm/plans/snapshots.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";

const INDEX_MAX = 2 ** 52;
const STAMP_MAX = 2 ** 52;

export const tableSnapshots: FuzzTarget = {
  name: "table-snapshots",
  about: "the chunks of a snapshot, restored into a table",
  corpus() {
    const { table } = everything().log;
    return [100, 1 << 20].map((bytes) => joined(rest(table.snapshot(bytes))));
  },
  mutators: [mutateBlock],
  repair: sealedBlocks,
  bytesMax: 32_768,
  steps: { fixed: 4_000_000, perByte: 2_000 },
  shortRuns: 25,
  run(input) {
    let table: LockTable;
    try {
      table = restored([input]);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const { corrupt, formatVersion } = error.details;
      demandEqual(error.code, "INTERNAL", "the code of a snapshot that is refused");
      demand(corrupt === true || typeof formatVersion === "number", () => String(error.stack));
      return "refused";
    }
    demandKeepsItsRules(table);
    return "taken";
  },
};

/** From here on it is a table like any other: it goes on, is saved again, and comes to an end. */
function demandKeepsItsRules(table: LockTable): void {
  const { hash } = { hash: table.hash() };
  demandEqual(restored(rest(table.snapshot(1 << 20))).hash(), hash, "the table, saved again");
  if (table.index > INDEX_MAX || table.stamp > STAMP_MAX) return;
  for (const elapsedMs of [0, 1, 50_000]) {
    const [index, stamp] = [table.index + 1, table.stamp + elapsedMs];
    table.apply({ index, stamp, wallMs: 1_800_000_000_000, commands: [] }, NOBODY);
  }
  demandEqual(restored(rest(table.snapshot(50))).hash(), table.hash(), "the table, later");
  letEverythingEnd(table, table.index);
}

interface Block {
  readonly start: number;
  readonly bodyAt: number;
  readonly end: number;
}

/** The blocks, as far as their lengths fit the bytes that are there; the last goes to the end. */
function blocksIn(input: Uint8Array): Block[] {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.length);
  const blocks: Block[] = [];
  for (let start = 0; start + BLOCK_HEAD_BYTES < input.length; ) {
    const bodyAt = start + BLOCK_HEAD_BYTES;
    const end = Math.min(input.length, bodyAt + bytes.readUInt32BE(start));
    blocks.push({ start, bodyAt, end });
    start = end === bodyAt ? input.length : end;
  }
  return blocks;
}

export function mutateBlock(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const block = source.random.pickOrNone(blocksIn(input));
  if (block === undefined) return undefined;
  const { start, bodyAt, end } = block;
  const other = (): Uint8Array => {
    const bytes = source.other();
    const donor = source.random.pickOrNone(blocksIn(bytes));
    return donor === undefined ? bytes : bytes.subarray(donor.bodyAt, donor.end);
  };
  const body = mutateMsgpack(input.slice(bodyAt, end), { random: source.random, other });
  if (body === undefined) return undefined;
  const head = Buffer.alloc(BLOCK_HEAD_BYTES);
  head.writeUInt32BE(body.length);
  return replaced(input, start, end, Buffer.concat([head, body]));
}

function sealedBlocks(input: Uint8Array): Uint8Array {
  const index = indexIn(input);
  const blocks = blocksIn(input).map(({ start, end }, ordinal) => {
    return sealed(input.slice(start, end), ordinal, index);
  });
  return Uint8Array.from(Buffer.concat(blocks));
}

/** The index of the snapshot, as its first block says. */
export function indexIn(input: Uint8Array): number {
  const reader = new Reader(input.subarray(BLOCK_HEAD_BYTES));
  try {
    reader.at += reader.stringHeader();
    reader.uint();
    return reader.uint();
  } catch {
    return 0;
  }
}
