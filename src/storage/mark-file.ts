/**
 * The mark: whose directory this is, how often it was opened, and up to where the log is known to
 * be durable. What lies at or below the mark can be damaged, but never torn.
 *
 * The file has two slots with equal contents, written and synced one after the other. A crash tears
 * at most one, and damage to one loses nothing: neither falls the mark back nor the incarnation.
 */
import { crc32 } from "node:zlib";
import { corruption } from "./corruption.js";
import { createAtomically, errnoOf, type File, type FileSystem, readWhole } from "./file-system.js";
import type { NodeIdentity, NodeOrigin } from "./log-store.js";
import { readUint53, writeUint53 } from "./record-format.js";
import type { RandomBytes } from "./storage-ports.js";

/** The incarnation is that of the last opening; 0 before the first. */
export interface Mark extends NodeIdentity {
  /** The durable log: its last sequence, and its last entry at that sequence. */
  readonly seq: number;
  readonly index: number;
  readonly term: number;
  /** Segments `firstSegment` … `lastSegment` must be there. 1, 0 before the first was made. */
  readonly firstSegment: number;
  readonly lastSegment: number;
}

/** The mark of a directory without a log. */
export function newMark(identity: NodeIdentity): Mark {
  return { ...identity, seq: 0, index: 0, term: 0, firstSegment: 1, lastSegment: 0 };
}

/** What tells a directory that is being made from every other, also of the same node. */
export function drawBirth(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(BIRTH_BYTES)).toString("hex");
}

/** What the mark says besides the log. */
export function identityIn({ nodeId, clusterId, birth, origin, incarnation }: Mark): NodeIdentity {
  return { nodeId, clusterId, birth, origin, incarnation };
}

export const MARK_FILE_NAME = "mark";
/** Far enough apart that no sector and no page of a disk holds parts of both. */
const SLOT_BYTES = 4096;
const MAGIC = 0x314d_4648;
const BIRTH_BYTES = 8;
const CONTENT_BYTES = 4 + 8 + 4 + 16 + BIRTH_BYTES + 4 + 8 * 6;
const ORIGINS: readonly NodeOrigin[] = ["initial", "joined"];

function encodeSlot(mark: Mark, generation: number): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES);
  let at = slot.writeUInt32LE(MAGIC, 0);
  at = writeUint53(slot, generation, at);
  at = slot.writeUInt32LE(mark.nodeId, at);
  at += slot.write(mark.clusterId, at, 16, "hex");
  at += slot.write(mark.birth, at, BIRTH_BYTES, "hex");
  at = slot.writeUInt32LE(ORIGINS.indexOf(mark.origin), at);
  at = writeUint53(slot, mark.incarnation, at);
  at = writeUint53(slot, mark.seq, at);
  at = writeUint53(slot, mark.index, at);
  at = writeUint53(slot, mark.term, at);
  at = writeUint53(slot, mark.firstSegment, at);
  at = writeUint53(slot, mark.lastSegment, at);
  slot.writeUInt32LE(crc32(slot.subarray(0, at)), at);
  return slot;
}

interface Slot {
  readonly generation: number;
  readonly mark: Mark;
}

function decodeSlot(file: Buffer, from: number): Slot | undefined {
  if (from + SLOT_BYTES > file.length || file.readUInt32LE(from) !== MAGIC) return undefined;
  const content = file.subarray(from, from + CONTENT_BYTES);
  if (crc32(content) !== file.readUInt32LE(from + CONTENT_BYTES)) return undefined;
  const origin = ORIGINS[content.readUInt32LE(40)];
  if (origin === undefined) return undefined;
  return {
    generation: readUint53(content, 4),
    mark: {
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
    },
  };
}

interface FoundMark extends Slot {
  readonly intactSlots: number;
}

/** The newer of both slots; `undefined` when neither is intact. The file must be there. */
export async function readMark(
  fileSystem: FileSystem,
  directory: string,
): Promise<FoundMark | undefined> {
  const content = await readWhole(fileSystem, `${directory}/${MARK_FILE_NAME}`);
  const first = decodeSlot(content, 0);
  const second = decodeSlot(content, SLOT_BYTES);
  const newest = (second?.generation ?? 0) > (first?.generation ?? 0) ? second : first;
  if (newest === undefined) return undefined;
  return { ...newest, intactSlots: first === undefined || second === undefined ? 1 : 2 };
}

export class MarkFile {
  readonly #file: File;
  #current: Mark;
  #generation: number;
  /** How many of the two slots could be read when the file was opened. */
  readonly intactSlots: number;

  private constructor(file: File, { generation, mark, intactSlots }: FoundMark) {
    this.#file = file;
    this.#current = mark;
    this.#generation = generation;
    this.intactSlots = intactSlots;
  }

  /** Makes the file, durably; one that is there is replaced. */
  static async create(fileSystem: FileSystem, directory: string, mark: Mark): Promise<void> {
    const slot = encodeSlot(mark, 1);
    await createAtomically(fileSystem, directory, MARK_FILE_NAME, Buffer.concat([slot, slot]));
  }

  /** Fails with a corruption error unless at least one slot is intact. Changes nothing. */
  static async open(fileSystem: FileSystem, directory: string): Promise<MarkFile> {
    const path = `${directory}/${MARK_FILE_NAME}`;
    const found = await readMark(fileSystem, directory).catch((error: Error) => {
      if (errnoOf(error) !== "EIO") throw error;
      return undefined;
    });
    if (found === undefined) {
      throw corruption({ file: path, offset: 0, index: 0 }, "neither copy of the mark is intact");
    }
    return new MarkFile(await fileSystem.open(path, "write"), found);
  }

  /** What is durable in at least one slot. */
  get current(): Mark {
    return this.#current;
  }

  /** Resolves when both slots are durable. One call at a time. */
  async write(mark: Mark): Promise<void> {
    this.#generation += 1;
    const slot = encodeSlot(mark, this.#generation);
    await this.#file.write([slot], 0);
    await this.#file.write([slot], SLOT_BYTES);
    this.#current = mark;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
