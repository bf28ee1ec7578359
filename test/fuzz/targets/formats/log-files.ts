/**
 * The files of a node's log: both copies of the mark, and segments. An input has each of them after
 * its length, without the zeros at its end.
 */
import { crc32 } from "node:zlib";
import { MemoryFileSystem } from "../../../../lab/memory/memory-file-system.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import {
  HEADER_BYTES,
  recordBytesOf,
  SALT_BYTES,
  SECTION,
  TRAILER,
} from "../../../../src/storage/log/record-format.js";
import { segmentNameOf } from "../../../../src/storage/log/segment.js";
import { SEGMENT_BASE_BYTES } from "../../../../src/storage/log/segment-base.js";
import { SLOT_BYTES } from "../../../../src/storage/mark/mark-file.js";
import { type Files, type Specimen, specimenOf } from "../../../storage/log/damage-specimen.js";
import {
  entryOf,
  equalBytes,
  equalEntries,
  HandTimer,
  memoryDisk,
  OpenLog,
  writeOf,
} from "../../../storage/log/log-harness.js";
import { type Mutator, replaced } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";

const SEGMENT_BYTES = 2_048;
const MARK = "/data/mark";
const MARK_FIXED_BYTES = 96;
/** The log cannot go on after it, which does not matter here. */
const INDEX_MAX = 2 ** 50;
/** Corrupt, or another node's. */
const REFUSALS: ReadonlySet<string> = new Set(["INTERNAL", "INVALID_ARGUMENT"]);
const STANDINGS = { 4: "stands, keeping all", 5: "resets", 6: "stands" } as const;
const SIZES = [40, 20, 90, 10, 50, 30, 20];

interface Scene {
  readonly specimen: Specimen;
  readonly input: Uint8Array;
}

let scenes: Promise<readonly Scene[]> | undefined;

export const logFiles: FuzzTarget = {
  name: "log-files",
  about: "the mark and the segments of a log, opened as at a start",
  corpus: async () => (await madeOnce()).map(({ input }) => input),
  mutators: [mutateRecord, mutateMark],
  repair: repaired,
  bytesMax: 16_384,
  steps: { fixed: 400_000, perByte: 1_000 },
  shortRuns: 25,
  async run(input) {
    const [scene] = await madeOnce();
    if (scene === undefined) throw new Error("no specimen");
    const files = new Map(scene.specimen.files);
    for (const path of files.keys()) if (path.endsWith(".seg")) files.delete(path);
    for (const [path, content] of filesOf(input)) files.set(path, content);
    const fileSystem = new MemoryFileSystem(files);
    const before = fileSystem.files();
    const disk = memoryDisk(fileSystem, scene.specimen.store.copy(), SEGMENT_BYTES);
    let log: OpenLog;
    try {
      log = await OpenLog.open(disk, { timer: new HandTimer().timer });
    } catch (error) {
      if (!(error instanceof HoldfastError) || !REFUSALS.has(error.code)) throw error;
      const { corrupt } = error.details;
      demand(error.code !== "INTERNAL" || corrupt === true, () => String(error.stack));
      demand(areEqual(fileSystem.files(), before), () => `files changed: ${error.message}`);
      return "refused";
    }
    const last = demandWhole(log);
    if (last.index < INDEX_MAX) await log.write(writeOf(log.boot.lastSeq + 1, [next(last)]));
    const kept = [...log.boot.entries, next(last)];
    await log.close();
    if (last.index >= INDEX_MAX) return "taken";
    const again = await OpenLog.open(disk, { timer: new HandTimer().timer });
    const whole = kept.filter(({ index }) => index > again.boot.baseIndex);
    demand(equalEntries(again.boot.entries, whole), () => "the log did not go on");
    await again.close();
    return "taken";
  },
};

const next = (last: { readonly index: number; readonly term: number }) =>
  entryOf(last.index + 1, last.term);

/** Entries without gaps, numbers that can be counted; returns the last entry. */
function demandWhole({ boot }: OpenLog): { index: number; term: number } {
  const { baseIndex, baseTerm, entries, hardState, snapshot, lastSeq } = boot;
  const numbers = [baseIndex, baseTerm, hardState.term, lastSeq, snapshot?.index ?? 0];
  for (const number of numbers) demand(Number.isSafeInteger(number), () => `number ${number}`);
  let last = { index: baseIndex, term: baseTerm };
  for (const { index, term } of entries) {
    demandEqual(index, last.index + 1, "the index of an entry");
    demand(term >= last.term && Number.isSafeInteger(term), () => `term ${term} at ${index}`);
    last = { index, term };
  }
  demand(baseIndex <= (snapshot?.index ?? 0), () => `the log begins at ${baseIndex}`);
  return last;
}

function areEqual(some: Files, others: Files): boolean {
  if (some.size !== others.size) return false;
  return [...some].every(([path, content]) => {
    const other = others.get(path);
    return other !== undefined && equalBytes(content, other);
  });
}

function madeOnce(): Promise<readonly Scene[]> {
  scenes ??= Promise.all(
    [0, 5, 7].map(async (marked) => {
      const specimen = await specimenOf(SIZES, marked, SEGMENT_BYTES, STANDINGS);
      return { specimen, input: inputOf(specimen.files) };
    }),
  );
  return scenes;
}

function inputOf(files: Files): Uint8Array {
  const mark = files.get(MARK) ?? new Uint8Array(0);
  const slots = [mark.slice(0, SLOT_BYTES), mark.slice(SLOT_BYTES)];
  const paths = [...files.keys()].filter((path) => path.endsWith(".seg")).sort();
  const segments = paths.map((path) => files.get(path) ?? new Uint8Array(0));
  return joinedParts([...slots, ...segments].map(withoutZeros));
}

function withoutZeros(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.subarray(0, end);
}

function joinedParts(parts: readonly Uint8Array[]): Uint8Array {
  const pieces = parts.flatMap((part) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(part.length);
    return [length, part];
  });
  return Uint8Array.from(Buffer.concat(pieces));
}

/** Two copies of the mark, then segments. */
function partsOf(input: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at + 2 <= input.length; ) {
    const end = at + 2 + (((input[at] as number) << 8) | (input[at + 1] as number));
    parts.push(input.slice(at + 2, end));
    at = end;
  }
  return parts;
}

function filesOf(input: Uint8Array): Files {
  const [first = new Uint8Array(0), second = new Uint8Array(0), ...segments] = partsOf(input);
  const mark = new Uint8Array(2 * SLOT_BYTES);
  mark.set(first.subarray(0, SLOT_BYTES));
  mark.set(second.subarray(0, SLOT_BYTES), SLOT_BYTES);
  const files: Files = new Map([[MARK, mark]]);
  for (const [at, part] of segments.slice(0, 4).entries()) {
    const content = new Uint8Array(Math.max(SEGMENT_BYTES, part.length));
    content.set(part);
    files.set(`/data/log/${segmentNameOf(at + 1)}`, content);
  }
  return files;
}

/** Checksums, chain and trailers of the records of each segment, and sums of the marks. */
function repaired(input: Uint8Array): Uint8Array {
  const [first, second, ...segments] = partsOf(input);
  const marks = [first, second].map((slot) => sealedSlot(slot ?? new Uint8Array(0)));
  let previousCrc = 0;
  const sealedSegments = segments.map((segment) => {
    const bytes = Buffer.from(segment);
    for (const at of recordsIn(segment)) {
      bytes.copy(bytes, at, 0, SALT_BYTES);
      const body = bytes.subarray(
        at + HEADER_BYTES,
        at + HEADER_BYTES + bytes.readUInt32LE(at + 16),
      );
      bytes.writeUInt32LE(previousCrc, at + 20);
      bytes.writeUInt32LE(crc32(body), at + 28);
      previousCrc = crc32(bytes.subarray(at, at + 32));
      bytes.writeUInt32LE(previousCrc, at + 32);
      bytes[at + HEADER_BYTES + body.length] = TRAILER;
    }
    return bytes;
  });
  return joinedParts([...marks, ...sealedSegments]);
}

function recordsIn(segment: Uint8Array): number[] {
  const bytes = Buffer.from(segment);
  const starts: number[] = [];
  for (let at = 0; at + HEADER_BYTES < bytes.length; ) {
    const end = at + recordBytesOf(bytes.readUInt32LE(at + 16));
    if (end > bytes.length) break;
    starts.push(at);
    at = end;
  }
  return starts;
}

function sealedSlot(slot: Uint8Array): Uint8Array {
  if (slot.length < MARK_FIXED_BYTES) return slot;
  const bytes = Buffer.alloc(SLOT_BYTES);
  bytes.set(slot.subarray(0, SLOT_BYTES));
  const contentBytes = MARK_FIXED_BYTES + bytes.readUInt32LE(MARK_FIXED_BYTES - 4);
  if (contentBytes + 4 > SLOT_BYTES) return slot;
  bytes.fill(0, contentBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, contentBytes)), contentBytes);
  return withoutZeros(bytes);
}

/** A section more, or one of another record, in the body of a record. */
function mutateRecord(...[input, source]: Parameters<Mutator>): Uint8Array | undefined {
  const { random } = source;
  const parts = partsOf(input);
  const number = random.integer(2, Math.max(2, parts.length - 1));
  const segment = parts[number];
  const starts = recordsIn(segment ?? new Uint8Array(0));
  const start = random.pickOrNone(starts);
  if (segment === undefined || start === undefined) return undefined;
  const bodyBytes = Buffer.from(segment).readUInt32LE(start + 16);
  const bodyAt = start + HEADER_BYTES;
  const from = random.chance(0.5) ? bodyAt + bodyBytes : random.integer(bodyAt, bodyAt + bodyBytes);
  const removed = random.chance(0.5) ? 0 : Math.min(random.below(30), bodyAt + bodyBytes - from);
  const part = random.chance(0.5) ? sectionOf(random.next) : bodyFrom(source.other(), random.next);
  const changed = Buffer.from(replaced(segment, from, from + removed, part));
  changed.writeUInt32LE(bodyBytes - removed + part.length, start + 16);
  return joinedParts(parts.with(number, changed));
}

/** A section of any kind with numbers from 0 to 15, or the last that can be counted. */
function sectionOf(next: () => number): Uint8Array {
  const small = (): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(next() < 0.1 ? 2n ** 53n - BigInt(Math.floor(next() * 3)) : 0n);
    if (next() < 0.9) bytes[0] = Math.floor(next() * 16);
    return bytes;
  };
  const word = Buffer.from([Math.floor(next() * 3), 0, 0, 0]);
  const tags = [SECTION.hardState, SECTION.truncate, SECTION.batch, SECTION.snapshot];
  const tag = tags[Math.floor(next() * tags.length)] ?? SECTION.batch;
  const body: Record<number, readonly Buffer[]> = {
    [SECTION.hardState]: [small(), word],
    [SECTION.truncate]: [small()],
    [SECTION.batch]: [small(), small(), word, Buffer.from([1, 0, 0, 0, 0, 2, 0, 0, 0, 0])],
    [SECTION.snapshot]: [small(), small(), Buffer.alloc(32, 7), small(), word.subarray(0, 1)],
  };
  return Uint8Array.from(Buffer.concat([Buffer.from([tag]), ...(body[tag] ?? [])]));
}

function bodyFrom(input: Uint8Array, next: () => number): Uint8Array {
  const segment = partsOf(input)[2] ?? new Uint8Array(0);
  const starts = recordsIn(segment).slice(1);
  const start = starts[Math.floor(next() * starts.length)];
  if (start === undefined) return new Uint8Array(SEGMENT_BASE_BYTES);
  const length = Buffer.from(segment).readUInt32LE(start + 16);
  return segment.slice(start + HEADER_BYTES, start + HEADER_BYTES + length);
}

/** Numbers of the mark, followed by known peers. */
function mutateMark(...[input, { random }]: Parameters<Mutator>): Uint8Array | undefined {
  const parts = partsOf(input);
  const [slot, second] = parts;
  if (slot === undefined || second === undefined || slot.length < MARK_FIXED_BYTES)
    return undefined;
  const bytes = Buffer.alloc(SLOT_BYTES);
  bytes.set(slot);
  if (random.chance(0.5)) {
    const at = random.integer(1, (MARK_FIXED_BYTES >> 2) - 2) * 4;
    bytes.writeUInt32LE(random.chance(0.3) ? 2 ** 32 - 1 : random.below(16), at);
  } else {
    const peers = Array.from({ length: random.below(40) }, () => random.below(4));
    bytes.set(peers, MARK_FIXED_BYTES);
    bytes.writeUInt32LE(peers.length, MARK_FIXED_BYTES - 4);
  }
  const changed = sealedSlot(bytes);
  return joinedParts(parts.with(0, changed).with(1, random.chance(0.8) ? changed : second));
}
