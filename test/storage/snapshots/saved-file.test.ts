/** The file of a snapshot: what was written is read, and nothing else is taken for it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SnapshotDigest } from "../../../src/storage/snapshots/digest.js";
import {
  FILE_FORMAT_VERSION,
  FILE_HEAD_BYTES,
  FILE_MAGIC,
  type SavedSnapshot,
  SnapshotFileEncoder,
} from "../../../src/storage/snapshots/saved-file.js";
import { SnapshotFileReader } from "../../../src/storage/snapshots/saved-file-reader.js";

interface Sample {
  readonly saved: SavedSnapshot;
  readonly chunks: readonly Uint8Array[];
}

function sampleOf(chunks: readonly Uint8Array[], configuration = Uint8Array.of(1, 2, 3)): Sample {
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  const manifest = digest.manifestOf({ index: 4_711, term: 3 }, configuration);
  const saved = { manifest, clusterId: "5d".repeat(16), nodeId: 2, version: "0.1.0" };
  return { saved: { ...saved, savedWallMs: 1_795_000_000_000 }, chunks };
}

function fileOf({ saved, chunks }: Sample): Buffer {
  const encoder = new SnapshotFileEncoder(saved);
  const parts = [encoder.begin(), ...chunks.map((chunk) => encoder.chunk(chunk)), encoder.end()];
  const file = Buffer.concat(parts);
  expect(file.length).toBe(encoder.byteLength);
  return file;
}

async function* inSlices(file: Buffer, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < file.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    yield file.subarray(at, at + length);
    at += length;
  }
}

async function read(file: Buffer, lengths: readonly number[] = [1 << 16]): Promise<Sample> {
  const reader = new SnapshotFileReader(inSlices(file, lengths));
  const saved = await reader.begin();
  const chunks: Uint8Array[] = [];
  for await (const chunk of reader.chunks()) chunks.push(Uint8Array.from(chunk));
  expect(reader.fileBytes).toBe(file.length);
  return { saved, chunks };
}

/** What the reader says is wrong; "intact" when it takes the file. */
async function problemOf(file: Buffer): Promise<unknown> {
  try {
    await read(file);
    return "intact";
  } catch (error) {
    expect(error).toMatchObject({ name: "HoldfastError", code: "INVALID_ARGUMENT" });
    expect(String((error as Error).message)).not.toContain("\n");
    return (error as { details: { problem: unknown } }).details.problem;
  }
}

const small = fileOf(sampleOf([Uint8Array.of(1, 2, 3, 4, 5), Uint8Array.of(6), new Uint8Array(9)]));

const anySample = fc
  .tuple(
    fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 6 }),
    fc.uint8Array({ maxLength: 40 }),
  )
  .map(([chunks, configuration]) => sampleOf(chunks, configuration));

describe("the file of a snapshot", () => {
  test("is read as it was written, in whatever pieces it comes", async () => {
    const slices = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(anySample, slices, async (sample, lengths) => {
        const { saved, chunks } = await read(fileOf(sample), lengths);
        expect(saved).toEqual(sample.saved);
        expect(chunks).toEqual(sample.chunks.map((chunk) => Uint8Array.from(chunk)));
      }),
      { numRuns: 200 },
    );
  });

  test("is refused with any single bit of it changed, wherever that is", async () => {
    for (let at = 0; at < small.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const damaged = Buffer.from(small);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        const problem = await problemOf(damaged);
        if (at < FILE_MAGIC.length) expect([at, problem]).toEqual([at, "notASnapshot"]);
        else if (at < FILE_MAGIC.length + 4) expect([at, problem]).toEqual([at, "newerFormat"]);
        // A length that is too long asks for more than there is.
        else expect(["damaged", "cutShort"], `byte ${at}`).toContain(problem);
      }
    }
  });

  test("is refused with several bytes of any region overwritten", async () => {
    await fc.assert(
      fc.asyncProperty(
        anySample,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        async (sample, from, bytes) => {
          const file = fileOf(sample);
          const damaged = Buffer.from(file);
          damaged.set(bytes.subarray(0, file.length - (from % file.length)), from % file.length);
          const problem = await problemOf(damaged);
          expect(problem === "intact").toBe(damaged.equals(file));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("is refused when it is cut short at any place, and named so", async () => {
    for (let length = 0; length < small.length; length += 1) {
      const problem = await problemOf(small.subarray(0, length));
      expect([length, problem]).toEqual([length, length === 0 ? "notASnapshot" : "cutShort"]);
    }
  });

  test("is refused when something follows it", async () => {
    expect(await problemOf(Buffer.concat([small, Buffer.of(0)]))).toBe("damaged");
    expect(await problemOf(Buffer.concat([small, small]))).toBe("damaged");
  });

  test("is refused with its chunks in another order, be each of them intact", async () => {
    const [first, second] = [Uint8Array.of(1, 1), Uint8Array.of(2, 2)];
    const { saved } = sampleOf([first, second]);
    const encoder = new SnapshotFileEncoder(saved);
    const parts = [encoder.begin(), encoder.chunk(second), encoder.chunk(first)];
    expect(() => encoder.end()).toThrowError(/checksum/);
    expect(parts).toHaveLength(3);
  });

  test("of a later format is not taken for a damaged one, and nothing of it is read", async () => {
    const later = Buffer.from(small);
    later.writeUInt32LE(FILE_FORMAT_VERSION + 1, FILE_MAGIC.length);
    await expect(read(later)).rejects.toThrowError(/in format 2, this version .* reads format 1/);
  });

  test("has room for what a later version of the same format says besides", async () => {
    const { saved } = sampleOf([]);
    const begun = new SnapshotFileEncoder(saved).begin();
    const header = begun.subarray(FILE_HEAD_BYTES, begun.length - 32).toString();
    expect(JSON.parse(header)).toMatchObject({ index: 4_711, nodeId: 2 });
  });

  test("is distinguished from other files by its first bytes", async () => {
    for (const other of ["PK\u0003\u0004", "{}", "\n", "x".repeat(10_000)]) {
      expect(await problemOf(Buffer.from(other))).toBe("notASnapshot");
    }
    // A transfer as text turns CR LF into LF.
    const asText = Buffer.from(small.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
    expect(await problemOf(asText)).toBe("notASnapshot");
  });
});
