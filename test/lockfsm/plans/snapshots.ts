/** Taking snapshots and restoring them, in one go or piece by piece, for tests. */
import { LockTable, TableRestore } from "../../../src/lockfsm/index.js";
import type { TableState } from "../../../src/lockfsm/records/state.js";
import { BlockReader } from "../../../src/lockfsm/snapshot/block-reader.js";
import { BLOCK_HEAD_BYTES, checksumOf } from "../../../src/lockfsm/snapshot/format.js";
import { link } from "../../../src/lockfsm/snapshot/link.js";
import { SnapshotReader } from "../../../src/lockfsm/snapshot/reader.js";

export type Drawn = Generator<Uint8Array, void, void>;

/** What `drawn` still has to give. */
export function rest(drawn: Drawn): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (const chunk of drawn) chunks.push(chunk);
  return chunks;
}

/** The next `count` chunks, as far as there are any. */
export function draw(drawn: Drawn, count: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  while (chunks.length < count) {
    const next = drawn.next();
    if (next.done === true) break;
    chunks.push(next.value);
  }
  return chunks;
}

export function restored(chunks: Iterable<Uint8Array>): LockTable {
  return finished(added(chunks)).table;
}

export function added(chunks: Iterable<Uint8Array>): TableRestore {
  const restore = new TableRestore();
  for (const chunk of chunks) restore.add(chunk);
  return restore;
}

/** The table, and in how many turns it was made. */
export function finished(restore: TableRestore): { table: LockTable; turns: number } {
  const linking = restore.finish();
  for (let turns = 1; ; turns += 1) {
    const next = linking.next();
    if (next.done === true) return { table: next.value, turns };
  }
}

/** The state and its table, for tests that look inside. */
export function restoredState(chunks: Iterable<Uint8Array>): {
  readonly state: TableState;
  readonly table: LockTable;
} {
  const reader = new SnapshotReader();
  const blocks = new BlockReader();
  for (const chunk of chunks) {
    blocks.add(chunk, (body) => {
      reader.read(body);
      blocks.index = reader.parts?.state.index ?? 0;
    });
  }
  if (reader.parts === undefined) throw new Error("no snapshot");
  const linking = link(reader.parts);
  for (;;) {
    const next = linking.next();
    if (next.done === true) return { state: next.value, table: LockTable.of(next.value) };
  }
}

export function copyOf(table: LockTable): LockTable {
  return restored(rest(table.snapshot()));
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
}

/** `chunk` with a checksum that bears out what it holds; its place in the snapshot of `index`. */
export function sealed(chunk: Uint8Array, ordinal: number, index: number): Uint8Array {
  const body = chunk.subarray(BLOCK_HEAD_BYTES);
  const head = new DataView(chunk.buffer, chunk.byteOffset, BLOCK_HEAD_BYTES);
  head.setUint32(0, body.length);
  head.setUint32(4, checksumOf(body, ordinal, ordinal === 0 ? 0 : index));
  return chunk;
}
