/** The files of `snapshot save`, as `snapshot inspect` and `restore` read them. */
import { createHash } from "node:crypto";
import { MemoryFileSystem } from "../../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import { LockTable } from "../../../../src/lockfsm/index.js";
import { encodeConfiguration } from "../../../../src/raft/index.js";
import {
  inspectSnapshotFile,
  restoreSnapshotFile,
  type SnapshotContents,
  writeSnapshotFile,
} from "../../../../src/server/offline/snapshot-files.js";
import { restoreAtBoot } from "../../../../src/server/snapshots/restore-at-boot.js";
import { openDataDirectory, SnapshotDigest } from "../../../../src/storage/index.js";
import {
  FILE_DIGEST_BYTES,
  FILE_HEAD_BYTES,
} from "../../../../src/storage/snapshots/saved-file.js";
import { everything } from "../../../lockfsm/plans/everything.js";
import { rest, sealed } from "../../../lockfsm/plans/snapshots.js";
import { mutateJson } from "../../engine/json-mutators.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";
import { indexIn, mutateBlock } from "./table-snapshots.js";

const CLUSTER_ID = "ab".repeat(16);
const HEADER_LENGTH_AT = FILE_HEAD_BYTES - 4;
const SEGMENT_BYTES = 8_192;
const PIECES = [7, 1 << 20];

export const snapshotFiles: FuzzTarget = {
  name: "snapshot-files",
  about: "a saved snapshot, inspected and restored into a data directory",
  corpus: async () => [await fileOf(everything().log.table), await fileOf(new LockTable())],
  mutators: [mutateHeader, mutateChunk],
  repair: repaired,
  bytesMax: 32_768,
  steps: { fixed: 8_000_000, perByte: 4_000 },
  shortRuns: 20,
  async run(input) {
    const [found, again] = [await inspected(input, PIECES[0]), await inspected(input, PIECES[1])];
    demandEqual(JSON.stringify(found), JSON.stringify(again), "the same file in other pieces");
    if (found instanceof HoldfastError) return "refused";
    return (await isRestored(input, found)) ? "taken" : "refused";
  },
};

async function inspected(input: Uint8Array, size = 1): Promise<SnapshotContents | HoldfastError> {
  try {
    return await inspectSnapshotFile(inPieces(input, size));
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): HoldfastError {
  if (!(error instanceof HoldfastError) || error.code !== "INVALID_ARGUMENT") throw error;
  demand(error.message.length < 600, () => error.message);
  return error;
}

/** Into the directory of a new cluster, which then is opened as every start opens it. */
async function isRestored(input: Uint8Array, contents: SnapshotContents): Promise<boolean> {
  const fileSystem = new MemoryFileSystem();
  const disk = new MemoryStoreDisk();
  const means = { fileSystem, openStore: async () => disk.open() };
  const path = "/data";
  try {
    await restoreSnapshotFile(inPieces(input, 1 << 20), {
      ...{ id: 1, dataDirectory: path, restoreId: "fuzz", quietMs: undefined, tokenFloor: 0 },
      initialCluster: [{ id: 1, address: { host: "db-1", port: 7511 } }],
      ...{ segmentBytes: SEGMENT_BYTES, means },
    });
  } catch (error) {
    refusal(error);
    demandEqual([...fileSystem.files().keys()].length, 0, "files of a restore that is refused");
    return false;
  }
  const options = { path, nodeId: 1, clusterId: CLUSTER_ID, segmentBytes: SEGMENT_BYTES, ...means };
  const directory = await openDataDirectory(options);
  const [manifest] = await directory.snapshots.list();
  demand(manifest !== undefined, () => "a restored directory without a snapshot");
  const table = new LockTable();
  await restoreAtBoot(directory.snapshots, manifest, table);
  demand(table.nextToken >= contents.nextToken, () => `tokens fall to ${table.nextToken}`);
  demandEqual(table.counts().sessions, 0, "sessions of a restored cluster");
  await directory.close();
  return true;
}

async function* inPieces(input: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < input.length; at += size) yield input.slice(at, at + size);
}

async function fileOf(table: LockTable): Promise<Uint8Array> {
  const chunks = rest(table.snapshot(1_000));
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  const addresses = [1, 2, 3].map((id) => ({ id, address: `db-${id}:7511` }));
  const members = { voters: [1, 2], outgoing: [], learners: [3], addresses };
  const manifest = digest.manifestOf({ index: table.index, term: 3 }, encodeConfiguration(members));
  const parts: Uint8Array[] = [];
  const offered = {
    ...manifest,
    configuration: Buffer.from(manifest.configuration).toString("hex"),
    ...{ clusterId: CLUSTER_ID, nodeId: 2, version: "0.1.0", wallMs: 1_800_000_000_000 },
    async *chunks() {
      yield* chunks;
    },
  };
  await writeSnapshotFile(
    offered,
    async (part) => {
      parts.push(part.slice());
    },
    () => undefined,
  );
  return Uint8Array.from(Buffer.concat(parts));
}

interface Layout {
  readonly headerEnd: number;
  /** Where the chunks lie, each after its length. */
  readonly chunks: readonly { readonly at: number; readonly end: number }[];
}

function layoutOf(input: Uint8Array): Layout | undefined {
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.length);
  if (bytes.length < FILE_HEAD_BYTES) return undefined;
  const headerEnd = FILE_HEAD_BYTES + bytes.readUInt32LE(HEADER_LENGTH_AT);
  if (headerEnd + 2 * FILE_DIGEST_BYTES > bytes.length) return undefined;
  const chunks: { at: number; end: number }[] = [];
  const last = bytes.length - FILE_DIGEST_BYTES;
  for (let at = headerEnd + FILE_DIGEST_BYTES + 4; at <= last; ) {
    const end = at + bytes.readUInt32LE(at - 4);
    if (end > last) break;
    chunks.push({ at, end });
    at = end + 4;
  }
  return { headerEnd, chunks };
}

function mutateHeader(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const layout = layoutOf(input);
  if (layout === undefined) return undefined;
  const headerOf = (bytes: Uint8Array): Uint8Array =>
    bytes.slice(FILE_HEAD_BYTES, layoutOf(bytes)?.headerEnd);
  const other = (): Uint8Array => headerOf(source.other());
  const header = mutateJson(headerOf(input), { random: source.random, other });
  if (header === undefined) return undefined;
  const bytes = Buffer.from(replaced(input, FILE_HEAD_BYTES, layout.headerEnd, header));
  bytes.writeUInt32LE(header.length, HEADER_LENGTH_AT);
  return Uint8Array.from(bytes);
}

function mutateChunk(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const chunk = source.random.pickOrNone(layoutOf(input)?.chunks ?? []);
  if (chunk === undefined) return undefined;
  const { at, end } = chunk;
  const other = (): Uint8Array => {
    const bytes = source.other();
    const donor = source.random.pickOrNone(layoutOf(bytes)?.chunks ?? []);
    return donor === undefined ? bytes : bytes.subarray(donor.at, donor.end);
  };
  const changed = mutateBlock(input.slice(at, end), { random: source.random, other });
  if (changed === undefined) return undefined;
  const length = Buffer.alloc(4);
  length.writeUInt32LE(changed.length);
  return replaced(input, at - 4, end, Buffer.concat([length, changed]));
}

/** Sums of the blocks, of the chunks and of the file, and what the header says of the chunks. */
function repaired(input: Uint8Array): Uint8Array {
  const layout = layoutOf(input);
  if (layout === undefined) return input;
  const [first] = layout.chunks;
  const index = first === undefined ? 0 : indexIn(input.subarray(first.at, first.end));
  const digest = new SnapshotDigest();
  const parts = layout.chunks.map(({ at, end }, ordinal) => {
    const chunk = input.slice(at, end);
    if (chunk.length >= 8) sealed(chunk, ordinal, index);
    digest.add(chunk);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(chunk.length);
    return Buffer.concat([length, chunk]);
  });
  const header = repairedHeader(input.subarray(FILE_HEAD_BYTES, layout.headerEnd), digest);
  const head = Buffer.from(input.slice(0, FILE_HEAD_BYTES));
  head.writeUInt32LE(header.length, HEADER_LENGTH_AT);
  const told = Buffer.concat([head, header]);
  const all = Buffer.concat([told, sha256(told), ...parts]);
  return Uint8Array.from(Buffer.concat([all, sha256(all)]));
}

function repairedHeader(header: Uint8Array, digest: SnapshotDigest): Buffer {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(Buffer.from(header).toString()) as Record<string, unknown>;
  } catch {
    return Buffer.from(header);
  }
  const { index, term, configuration } = fields ?? {};
  if (typeof index !== "number" || typeof term !== "number") return Buffer.from(header);
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(term)) return Buffer.from(header);
  if (index < 0 || term < 0 || typeof configuration !== "string") return Buffer.from(header);
  const members = Uint8Array.from(Buffer.from(configuration, "hex"));
  const { checksum, chunkCount, byteLength } = digest.manifestOf({ index, term }, members);
  return Buffer.from(JSON.stringify({ ...fields, checksum, chunkCount, byteLength }));
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
