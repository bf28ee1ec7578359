/**
 * A snapshot of a cluster in a file, which is kept elsewhere and may come back damaged, cut short,
 * or as another file:
 *
 *     magic     16 bytes; like PNG's, so that a transfer as text is noticed
 *     version   u32; of this format
 *     length    u32; of the header
 *     header    JSON: the cluster, the time, and the manifest
 *     digest    SHA-256 over everything before it
 *     chunks    each after its length (u32), as a node sent them
 *     digest    SHA-256 over everything before it, the first digest included
 *
 * Numbers are little-endian. Nothing follows. Unknown fields of the header are ignored; any other
 * change raises the version. No part of the file is trusted before a digest confirms it.
 */
import { createHash } from "node:crypto";
import { HoldfastError } from "../../errors/index.js";
import { SnapshotDigest } from "./digest.js";
import { isChecksum } from "./snapshot-record.js";
import type { SnapshotManifest } from "./snapshot-store.js";
import { SNAPSHOT_CHUNK_BYTES_MAX } from "./stored-snapshot-writer.js";

/** A snapshot, and its origin. */
export interface SavedSnapshot {
  readonly manifest: SnapshotManifest;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** The node that took it. */
  readonly nodeId: number;
  /** Wall clock of that node, in milliseconds. */
  readonly savedWallMs: number;
  /** The version of Holdfast on that node. */
  readonly version: string;
}

/** What is wrong with a file: `details.problem` of the error. */
export type SnapshotFileProblem = "notASnapshot" | "newerFormat" | "cutShort" | "damaged";

export const FILE_MAGIC = Buffer.from("\x89holdfast-snap\r\n", "latin1");
export const FILE_FORMAT_VERSION = 1;
export const FILE_DIGEST_BYTES = 32;
/** Magic, version and length of the header. */
export const FILE_HEAD_BYTES = FILE_MAGIC.length + 8;
/** No header is longer; a longer one is damage. */
export const FILE_HEADER_BYTES_MAX = 1 << 20;

export function badFile(problem: SnapshotFileProblem, message: string): HoldfastError {
  return new HoldfastError("INVALID_ARGUMENT", message, { details: { problem } });
}

/** The length of the file of a snapshot whose header has `headerBytes`. */
export function fileBytesOf({ chunkCount, byteLength }: SnapshotManifest, headerBytes: number) {
  return FILE_HEAD_BYTES + headerBytes + 2 * FILE_DIGEST_BYTES + 4 * chunkCount + byteLength;
}

/** Turns a snapshot into the bytes of its file, one part after the other. Writes nothing itself. */
export class SnapshotFileEncoder {
  readonly #saved: SavedSnapshot;
  readonly #hash = createHash("sha256");
  readonly #digest = new SnapshotDigest();
  readonly #header: Buffer;

  constructor(saved: SavedSnapshot) {
    this.#saved = saved;
    this.#header = Buffer.from(JSON.stringify(headerOf(saved)), "utf8");
  }

  /** The size of the whole file. */
  get byteLength(): number {
    return fileBytesOf(this.#saved.manifest, this.#header.length);
  }

  /** The bytes before the first chunk. */
  begin(): Buffer {
    const head = Buffer.alloc(FILE_HEAD_BYTES);
    FILE_MAGIC.copy(head);
    const at = head.writeUInt32LE(FILE_FORMAT_VERSION, FILE_MAGIC.length);
    head.writeUInt32LE(this.#header.length, at);
    const told = Buffer.concat([head, this.#header]);
    const digest = this.#hash.update(told).copy().digest();
    this.#hash.update(digest);
    return Buffer.concat([told, digest]);
  }

  /** Throws what `begin` of a reader would throw: an impossible chunk is the sender's fault. */
  chunk(bytes: Uint8Array): Buffer {
    demandChunkLength(bytes.length);
    const part = Buffer.allocUnsafe(4 + bytes.length);
    part.writeUInt32LE(bytes.length, 0);
    part.set(bytes, 4);
    this.#digest.add(bytes);
    this.#hash.update(part);
    return part;
  }

  /** The bytes after the last chunk. Throws unless the chunks match the manifest. */
  end(): Buffer {
    demandManifest(this.#digest, this.#saved.manifest);
    return this.#hash.digest();
  }
}

export function demandChunkLength(length: number): void {
  if (length >= 1 && length <= SNAPSHOT_CHUNK_BYTES_MAX) return;
  throw badFile("damaged", `the snapshot is damaged: it has a chunk of ${length} bytes`);
}

/** Fails unless the chunks in `digest` are those that the manifest announced. */
export function demandManifest(digest: SnapshotDigest, manifest: SnapshotManifest): void {
  const found = digest.manifestOf(manifest, manifest.configuration);
  if (found.checksum === manifest.checksum) return;
  const message =
    `the snapshot is damaged: its checksum is ${found.checksum.slice(0, 16)}… ` +
    `instead of ${manifest.checksum.slice(0, 16)}…`;
  throw badFile("damaged", message);
}

function headerOf({ manifest, clusterId, nodeId, savedWallMs, version }: SavedSnapshot) {
  const { index, term, checksum, chunkCount, byteLength, configuration } = manifest;
  return {
    clusterId,
    nodeId,
    savedWallMs,
    version,
    index,
    term,
    checksum,
    chunkCount,
    byteLength,
    configuration: Buffer.from(configuration).toString("hex"),
  };
}

const HEADER_NUMBERS = [
  "nodeId",
  "savedWallMs",
  "index",
  "term",
  "chunkCount",
  "byteLength",
] as const;

/** The reverse of the header that `begin` writes; `undefined` for anything else. */
export function readHeader(bytes: Buffer): SavedSnapshot | undefined {
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof header !== "object" || header === null) return undefined;
  const fields = header as Record<string, unknown>;
  const { clusterId, version, checksum, configuration } = fields;
  if (typeof clusterId !== "string" || !/^[0-9a-f]{32}$/.test(clusterId)) return undefined;
  if (typeof version !== "string" || typeof checksum !== "string") return undefined;
  if (typeof configuration !== "string" || !isChecksum(checksum)) return undefined;
  const numbers = HEADER_NUMBERS.map((name) => fields[name]);
  if (!numbers.every(isCount)) return undefined;
  const [nodeId, savedWallMs, index, term, chunkCount, byteLength] = numbers as [
    ...[number, number, number],
    ...[number, number, number],
  ];
  const members = Uint8Array.from(Buffer.from(configuration, "hex"));
  const counted = { chunkCount, byteLength, configuration: members };
  return {
    manifest: { index, term, checksum, ...counted },
    ...{ clusterId, nodeId, savedWallMs, version },
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
