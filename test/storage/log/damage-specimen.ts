/**
 * Small logs to be damaged, and the verdict on what became of one: it opens with an unaltered
 * prefix that has everything at or below the durable mark, and goes on from there; or it refuses to
 * open as corrupt, says where, and changes no file. Whatever else happens fails the test.
 */
import { expect } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../src/errors/index.js";
import type { Entry, HardState, SnapshotPoint, Write } from "../../../src/raft/index.js";
import {
  entryOf,
  equalBytes,
  equalEntries,
  HandTimer,
  memoryDisk,
  OpenLog,
  resetTo,
  snapshotAt,
  standsOn,
  storeSnapshot,
  writeOf,
} from "./log-harness.js";

export type Files = Map<string, Uint8Array>;

const LOG = "/data/log";
export const FIRST = `${LOG}/00000001.seg`;
export const SECOND = `${LOG}/00000002.seg`;
export const THIRD = `${LOG}/00000003.seg`;

/** The state after each record of a log. */
interface Stage {
  readonly seq: number;
  readonly entries: readonly Entry[];
  readonly hardState: HardState;
  readonly snapshot: SnapshotPoint | undefined;
}

/** How a record changes what the log stands on. */
export type Standing = "stands" | "stands, keeping all" | "resets";

export interface Specimen {
  readonly files: Files;
  /** Has the snapshots. */
  readonly store: MemoryStoreDisk;
  readonly stages: readonly Stage[];
  /** The sequence the durable mark stands at. */
  readonly marked: number;
}

/**
 * Writes `sizes.length` records and leaves the mark after the record `marked`. `standings`: the
 * records, by their sequence, that change what the log stands on.
 */
export async function specimenOf(
  sizes: readonly number[],
  marked: number,
  segmentBytes: number,
  standings: Readonly<Record<number, Standing>> = {},
): Promise<Specimen> {
  const fileSystem = new MemoryFileSystem();
  const store = new MemoryStoreDisk();
  const disk = memoryDisk(fileSystem, store, segmentBytes);
  const log = await OpenLog.open(disk, { timer: new HandTimer().timer });
  let entries: readonly Entry[] = [];
  let hardState: HardState = { term: 0, vote: 0 };
  let snapshot: SnapshotPoint | undefined;
  const stages: Stage[] = [{ seq: 0, entries, hardState, snapshot }];
  for (const [at, bytes] of sizes.entries()) {
    const seq = at + 1;
    const term = 1 + (at >> 1);
    hardState = { term, vote: (at % 3) + 1 };
    const last = entries.at(-1)?.index ?? 0;
    // Every third record replaces the last entry, so that damage to a truncation is seen too.
    const truncateFrom = at % 3 === 2 ? last : undefined;
    if (truncateFrom !== undefined) entries = entries.slice(0, -1);
    const stand = standOf(standings[seq], entries, term);
    if (stand.snapshot !== undefined) {
      snapshot = snapshotAt(stand.snapshot);
      await storeSnapshot(log, snapshot);
      if (stand.snapshot.isReset) entries = [];
    }
    const index = 1 + (entries.at(-1)?.index ?? snapshot?.index ?? 0);
    const added = [entryOf(index, term, bytes), entryOf(index + 1, term, bytes >> 1)];
    await log.write(writeOf(seq, added, { hardState, truncateFrom, ...stand }));
    entries = [...entries, ...added];
    stages.push({ seq, entries, hardState, snapshot });
    if (seq === marked) await log.directory.log.syncMark();
    // What was removed in the background is removed.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { files: fileSystem.files(), store, stages, marked };
}

function standOf(
  standing: Standing | undefined,
  entries: readonly Entry[],
  term: number,
): Pick<Write, "snapshot"> {
  const last = entries.at(-1);
  if (standing === undefined || last === undefined) return { snapshot: undefined };
  if (standing === "resets") return resetTo({ index: last.index + 7, term });
  return standsOn(last, standing === "stands" ? last.index + 1 : 0);
}

type Outcome = { readonly stage: Stage } | { readonly corrupt: HoldfastError };

/** Opens damaged files; fails the test unless the outcome is one of the two allowed ones. */
export async function outcomeOf(files: Files, specimen: Specimen, what: string): Promise<Outcome> {
  const fileSystem = new MemoryFileSystem(files);
  const before = fileSystem.files();
  const disk = memoryDisk(fileSystem, specimen.store.copy());
  let log: OpenLog;
  try {
    log = await OpenLog.open(disk, { timer: new HandTimer().timer });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw new Error(`${what}: ${String(error)}`);
    expect(error.code, what).toBe("INTERNAL");
    expect(error.details, what).toMatchObject({ corrupt: true, file: expect.any(String) });
    expect(equalFiles(fileSystem.files(), before), `${what}: files changed`).toBe(true);
    return { corrupt: error };
  }
  const { baseIndex, entries, hardState, snapshot, lastSeq } = log.boot;
  const stage = specimen.stages.find(({ seq }) => seq === lastSeq);
  if (stage === undefined) throw new Error(`${what}: opened at the unknown sequence ${lastSeq}`);
  if (lastSeq < specimen.marked) throw new Error(`${what}: lost ${lastSeq + 1} below the mark`);
  // Entries that nobody needs may be gone with their segments.
  const kept = stage.entries.filter(({ index }) => index > baseIndex);
  if (!equalEntries(entries, kept)) throw new Error(`${what}: an entry was altered`);
  expect(hardState, what).toEqual(stage.hardState);
  expect(snapshot, what).toEqual(stage.snapshot);
  expect(baseIndex, what).toBeLessThanOrEqual(snapshot?.index ?? 0);
  // Whatever was cut, the log goes on and is whole afterwards.
  const next = entryOf(1 + (entries.at(-1)?.index ?? baseIndex), 99);
  await log.write(writeOf(lastSeq + 1, [next]));
  await log.close();
  const again = await OpenLog.open(disk, { timer: new HandTimer().timer });
  const whole = [...kept, next].filter(({ index }) => index > again.boot.baseIndex);
  if (!equalEntries(again.boot.entries, whole)) {
    throw new Error(`${what}: the log did not go on`);
  }
  await again.close();
  return { stage };
}

function equalFiles(a: Files, b: Files): boolean {
  return (
    a.size === b.size &&
    [...a].every(([path, content]) => {
      const other = b.get(path);
      return other !== undefined && equalBytes(content, other);
    })
  );
}

export function altered(
  files: Files,
  path: string,
  alter: (content: Uint8Array) => Uint8Array,
): Files {
  const copy = new Map(files);
  const content = files.get(path);
  if (content === undefined) throw new Error(`no file ${path}`);
  copy.set(path, alter(content.slice()));
  return copy;
}

/** The end of the last record of a segment. */
export function usedBytesOf(content: Uint8Array): number {
  let used = content.length;
  while (used > 0 && content[used - 1] === 0) used -= 1;
  return used;
}

/** Where the records begin: each begins with the salt of its segment. */
export function recordsOf(content: Uint8Array): number[] {
  const bytes = Buffer.from(content);
  const salt = bytes.subarray(0, 8);
  const positions: number[] = [];
  for (let at = 0; at >= 0; at = bytes.indexOf(salt, at + 1)) positions.push(at);
  return positions;
}

export function contentOf(files: Files, path: string): Uint8Array {
  const content = files.get(path);
  if (content === undefined) throw new Error(`no file ${path}`);
  return content;
}
