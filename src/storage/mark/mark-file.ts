/**
 * The mark: to which node this directory belongs, how often it was opened, up to where the log is
 * known to be durable, and what is known of the peers. Anything at or below the mark can be damaged,
 * but never torn.
 *
 * The file has two slots with equal contents, written and synced one after the other, and never the
 * only intact one first. A crash tears at most one, and damage to one loses nothing: neither the
 * mark, nor the incarnation, nor a peer.
 *
 * The incarnation also says which process has the directory. A process that finds another
 * incarnation than its own must end, and must not overwrite it.
 */
import { crc32 } from "node:zlib";
import { HoldfastError } from "../../errors/index.js";
import { NODE_ORIGINS } from "../../raft/index.js";
import { corruption } from "../corruption.js";
import { readUint53, writeUint53 } from "../disk-bytes.js";
import { createAtomically, errnoOf, type File, type FileSystem } from "../file-system.js";
import type { NodeIdentity } from "../log-store.js";
import type { RandomBytes } from "../storage-ports.js";
import {
  decodeKnownPeers,
  encodeKnownPeers,
  KNOWN_PEERS_BYTES_MAX,
  type KnownPeers,
} from "./known-peers.js";

/** The incarnation was set by the last opening; it is 0 before the first. */
export interface Mark extends NodeIdentity {
  /** The durable log: its last sequence, and its last entry at that sequence. */
  readonly seq: number;
  readonly index: number;
  readonly term: number;
  /** Segments `firstSegment` … `lastSegment` must exist. 1 and 0 before the first was made. */
  readonly firstSegment: number;
  readonly lastSegment: number;
  readonly peers: KnownPeers;
}

/** The mark of a directory without a log. */
export function newMark(identity: NodeIdentity): Mark {
  const log = { seq: 0, index: 0, term: 0, firstSegment: 1, lastSegment: 0 };
  return { ...identity, ...log, peers: new Map() };
}

/** The identity of a new directory, different from any other, even of the same node. */
export function drawBirth(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(BIRTH_BYTES)).toString("hex");
}

/** What the mark says about the directory itself. */
export function identityIn({ nodeId, clusterId, birth, origin, incarnation }: Mark): NodeIdentity {
  return { nodeId, clusterId, birth, origin, incarnation };
}

export const MARK_FILE_NAME = "mark";
const MAGIC = 0x324d_4648;
const BIRTH_BYTES = 8;
const FIXED_BYTES = 4 + 8 + 4 + 16 + BIRTH_BYTES + 4 + 8 * 6 + 4;
const CHECKSUM_BYTES = 4;
/** The size of a page, so that no sector or page of a disk contains parts of both slots. */
const PAGE_BYTES = 4096;
export const SLOT_BYTES = wholePages(FIXED_BYTES + KNOWN_PEERS_BYTES_MAX + CHECKSUM_BYTES);

function wholePages(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}

/** Uses as many pages as the mark needs. */
function encodeSlot(mark: Mark, generation: number): Buffer {
  const peers = encodeKnownPeers(mark.peers);
  const slot = Buffer.alloc(wholePages(FIXED_BYTES + peers.length + CHECKSUM_BYTES));
  let at = slot.writeUInt32LE(MAGIC, 0);
  at = writeUint53(slot, generation, at);
  at = slot.writeUInt32LE(mark.nodeId, at);
  at += slot.write(mark.clusterId, at, 16, "hex");
  at += slot.write(mark.birth, at, BIRTH_BYTES, "hex");
  at = slot.writeUInt32LE(NODE_ORIGINS.indexOf(mark.origin), at);
  at = writeUint53(slot, mark.incarnation, at);
  at = writeUint53(slot, mark.seq, at);
  at = writeUint53(slot, mark.index, at);
  at = writeUint53(slot, mark.term, at);
  at = writeUint53(slot, mark.firstSegment, at);
  at = writeUint53(slot, mark.lastSegment, at);
  at = slot.writeUInt32LE(peers.length, at);
  at += peers.copy(slot, at);
  slot.writeUInt32LE(crc32(slot.subarray(0, at)), at);
  return slot;
}

interface Slot {
  readonly generation: number;
  readonly mark: Mark;
}

function decodeSlot(file: Buffer, from: number): Slot | undefined {
  const slot = file.subarray(from, from + SLOT_BYTES);
  if (slot.length < SLOT_BYTES || slot.readUInt32LE(0) !== MAGIC) return undefined;
  const contentBytes = FIXED_BYTES + slot.readUInt32LE(FIXED_BYTES - 4);
  if (contentBytes + CHECKSUM_BYTES > SLOT_BYTES) return undefined;
  const content = slot.subarray(0, contentBytes);
  if (crc32(content) !== slot.readUInt32LE(contentBytes)) return undefined;
  const origin = NODE_ORIGINS[content.readUInt32LE(40)];
  const peers = decodeKnownPeers(content.subarray(FIXED_BYTES));
  if (origin === undefined || peers === undefined) return undefined;
  const generation = readUint53(content, 4);
  const mark: Mark = {
    nodeId: content.readUInt32LE(12),
    clusterId: content.toString("hex", 16, 32),
    birth: content.toString("hex", 32, 40),
    origin,
    incarnation: readUint53(content, 44),
    seq: readUint53(content, 52),
    index: readUint53(content, 60),
    term: readUint53(content, 68),
    firstSegment: readUint53(content, 76),
    lastSegment: readUint53(content, 84),
    peers,
  };
  return Number.isSafeInteger(generation) && isPossible(mark) ? { generation, mark } : undefined;
}

/** Whether this was ever written; a checksum alone does not say by which program. */
function isPossible({ incarnation, seq, index, term, firstSegment, lastSegment }: Mark): boolean {
  const numbers = [incarnation, seq, index, term, firstSegment, lastSegment];
  if (!numbers.every(Number.isSafeInteger)) return false;
  const isEmpty = seq === 0 && index === 0 && firstSegment === 1 && lastSegment === 0;
  return isEmpty || (firstSegment >= 1 && firstSegment <= lastSegment);
}

interface FoundMark extends Slot {
  /** Where it was found. */
  readonly offset: number;
  readonly intactSlots: number;
}

/** The newer of both slots; `undefined` if neither is intact. The file must exist. */
export async function readMark(
  fileSystem: FileSystem,
  directory: string,
): Promise<FoundMark | undefined> {
  const content = Buffer.alloc(2 * SLOT_BYTES);
  const file = await fileSystem.open(`${directory}/${MARK_FILE_NAME}`, "read");
  try {
    await file.read(content, 0);
  } finally {
    await file.close();
  }
  const first = decodeSlot(content, 0);
  const second = decodeSlot(content, SLOT_BYTES);
  const isSecondNewer = (second?.generation ?? 0) > (first?.generation ?? 0);
  const newest = isSecondNewer ? second : first;
  if (newest === undefined) return undefined;
  const intactSlots = first === undefined || second === undefined ? 1 : 2;
  return { ...newest, offset: isSecondNewer ? SLOT_BYTES : 0, intactSlots };
}

export class MarkFile {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;
  readonly #file: File;
  /** Where the slots are. First comes the one that was not used when the file was opened. */
  readonly #offsets: readonly [number, number];
  #current: Mark;
  #generation: number;
  /** How many of the two slots could be read when the file was opened. */
  readonly intactSlots: number;

  private constructor(
    fileSystem: FileSystem,
    directory: string,
    file: File,
    { generation, mark, offset, intactSlots }: FoundMark,
  ) {
    this.#fileSystem = fileSystem;
    this.#directory = directory;
    this.#file = file;
    this.#offsets = [SLOT_BYTES - offset, offset];
    this.#current = mark;
    this.#generation = generation;
    this.intactSlots = intactSlots;
  }

  /** Makes the file, durably; an existing one is replaced. */
  static async create(fileSystem: FileSystem, directory: string, mark: Mark): Promise<void> {
    const slot = encodeSlot(mark, 1);
    const content = Buffer.alloc(2 * SLOT_BYTES);
    for (const from of [0, SLOT_BYTES]) slot.copy(content, from);
    await createAtomically(fileSystem, directory, MARK_FILE_NAME, content);
  }

  /** Fails with a corruption error unless at least one slot is intact. Changes nothing. */
  static async open(fileSystem: FileSystem, directory: string): Promise<MarkFile> {
    const path = `${directory}/${MARK_FILE_NAME}`;
    const found = await readMark(fileSystem, directory);
    if (found === undefined) {
      throw corruption({ file: path, offset: 0, index: 0 }, "neither copy of the mark is intact");
    }
    return new MarkFile(fileSystem, directory, await fileSystem.open(path, "write"), found);
  }

  /** What is durable in at least one slot. */
  get current(): Mark {
    return this.#current;
  }

  /**
   * Fails with `UNAVAILABLE` if another process has taken the directory over, or if the mark is not
   * in its place. A file that cannot be read at the moment shows neither.
   */
  async demandOwn(): Promise<void> {
    let found: FoundMark | undefined;
    try {
      found = await readMark(this.#fileSystem, this.#directory);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") return;
      const message = `the data directory ${this.#directory} was removed or moved while in use`;
      throw new HoldfastError("UNAVAILABLE", message);
    }
    const { birth, incarnation } = this.#current;
    const { mark = this.#current } = found ?? {};
    if (mark.birth === birth && mark.incarnation === incarnation) return;
    const message = `another process has opened the data directory ${this.#directory}`;
    const details = { path: this.#directory, incarnation, found: mark.incarnation };
    throw new HoldfastError("UNAVAILABLE", message, { details });
  }

  /**
   * Resolves when both slots are durable. Fails as `demandOwn` does, and then has written nothing.
   * One call at a time.
   */
  async write(mark: Mark): Promise<void> {
    await this.demandOwn();
    this.#generation += 1;
    const slot = encodeSlot(mark, this.#generation);
    for (const offset of this.#offsets) await this.#file.write([slot], offset);
    this.#current = mark;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
