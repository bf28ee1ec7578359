/**
 * Damage to the files of a data directory while no process uses it: any file, by a flipped bit, a
 * page of zeros, a truncation, or the removal of the file; or everything is removed.
 */
import { open, readdir, rm, stat, truncate } from "node:fs/promises";
import { join, relative } from "node:path";
import type { RandomStream } from "../../lab/random-stream.js";
import type { DamagedFile } from "./nemesis.js";

const PAGE_BYTES = 4_096;
/** Set aside by an earlier recovery: evidence, which no process reads. */
const EVIDENCE = /^set-aside-/;
/** LevelDB's own log, which no process reads. */
const CHRONICLE = /^LOG(\.old)?$/;
/**
 * Share of the written bytes that may be damaged. The very end of a log is left alone: a loss there
 * within the last second cannot be told from bytes that were never written.
 */
const FIRST_SHARE = 0.8;

const WAYS = ["bit", "zeros", "cut", "remove"] as const;
type Way = (typeof WAYS)[number];

/** The kind of file if everything was removed. */
const EVERYTHING = "everything";

interface Damage {
  /** For people. */
  readonly what: string;
  readonly file: DamagedFile;
}

/** Damages one file of the directory, or removes everything in it. */
export async function damageDirectory(
  dataDirectory: string,
  random: RandomStream,
): Promise<Damage> {
  const isWipe = random.chance(1 / 8);
  const files = await filesIn(dataDirectory);
  // By kind first: there are many segments and tables, and one mark.
  const kinds = [...new Set(files.map(kindOf))].sort();
  if (isWipe || kinds.length === 0) {
    await emptied(dataDirectory);
    return { what: "nothing left", file: { kind: EVERYTHING, kinds } };
  }
  const kind = random.pick(kinds);
  const file = random.pick(files.filter((name) => kindOf(name) === kind));
  const way = random.pick(WAYS);
  return { what: await damageFile(dataDirectory, file, way, random), file: { kind, kinds } };
}

export async function emptied(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    await rm(join(directory, name), { recursive: true });
  }
}

/** Names below the directory, in order. */
async function filesIn(dataDirectory: string): Promise<string[]> {
  const entries = await readdir(dataDirectory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !CHRONICLE.test(entry.name))
    .map((entry) => relative(dataDirectory, join(entry.parentPath, entry.name)))
    .filter((name) => !EVIDENCE.test(name))
    .sort();
}

/** `log/00000003.seg` and `log/00000004.seg` are of one kind. */
export function kindOf(name: string): string {
  return name.replace(/\d+/g, "N");
}

async function damageFile(
  dataDirectory: string,
  name: string,
  way: Way,
  random: RandomStream,
): Promise<string> {
  const path = join(dataDirectory, name);
  const place = Math.floor((await writtenBytes(path)) * FIRST_SHARE * random.next());
  switch (way) {
    case "remove":
      await rm(path);
      return `${name} removed`;
    case "cut":
      await truncate(path, place);
      return `${name} cut at byte ${place}`;
    case "zeros": {
      const from = place - (place % PAGE_BYTES);
      const { size } = await stat(path);
      await overwrite(path, from, () => Buffer.alloc(Math.min(PAGE_BYTES, size - from)));
      return `${name} with a page of zeros at byte ${from}`;
    }
    case "bit":
      await overwrite(path, place, (byte) => {
        const bit = random.below(8);
        return Buffer.of((byte[0] ?? 0) ^ (1 << bit));
      });
      return `${name} with a flipped bit at byte ${place}`;
  }
}

/** `make` gets the byte at `from`. */
async function overwrite(
  path: string,
  from: number,
  make: (byte: Buffer) => Buffer,
): Promise<void> {
  const handle = await open(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    await handle.read(byte, 0, 1, from);
    const bytes = make(byte);
    await handle.write(bytes, 0, bytes.length, from);
  } finally {
    await handle.close();
  }
}

/** Segments are filled with zeros before use. */
async function writtenBytes(path: string): Promise<number> {
  const handle = await open(path, "r");
  try {
    const bytes = await handle.readFile();
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end -= 1;
    return end;
  } finally {
    await handle.close();
  }
}
