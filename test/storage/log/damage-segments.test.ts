/** What a damaged disk may do to a log of several segments, and to the mark next to it. */
import { describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { type Mark, MarkFile, SLOT_BYTES } from "../../../src/storage/mark/mark-file.js";
import { strideOf } from "../../runs.js";
import {
  altered,
  contentOf,
  FIRST,
  type Files,
  outcomeOf,
  SECOND,
  type Specimen,
  specimenOf,
  THIRD,
  usedBytesOf,
} from "./damage-specimen.js";
import { HandTimer, memoryDisk, OpenLog } from "./log-harness.js";

const SIZES = Array.from({ length: 14 }, (_, at) => 100 + ((at * 37) % 90));

function segmentsOf({ files }: Pick<Specimen, "files">): string[] {
  return [...files.keys()].filter((name) => name.endsWith(".seg")).sort();
}

async function expectEveryFlipNoticed(specimen: Specimen): Promise<void> {
  for (const path of segmentsOf(specimen)) {
    const used = usedBytesOf(contentOf(specimen.files, path));
    for (let at = 0; at < used; at += strideOf(8)) {
      const files = altered(specimen.files, path, (bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ 0x40;
        return bytes;
      });
      const outcome = await outcomeOf(files, specimen, `${path} byte ${at}`);
      expect(outcome, `${path} byte ${at}`).toHaveProperty("corrupt.details.file", path);
    }
  }
}

async function expectEveryLossNoticed(specimen: Specimen): Promise<void> {
  for (const path of segmentsOf(specimen)) {
    const files = new Map(specimen.files);
    files.delete(path);
    const outcome = await outcomeOf(files, specimen, `without ${path}`);
    expect(outcome).toHaveProperty("corrupt.details.file", path);
  }
}

describe("a log of several segments, damaged", () => {
  async function several(marked: number): Promise<Specimen> {
    const specimen = await specimenOf(SIZES, marked, 1500);
    expect(specimen.files.has(THIRD)).toBe(true);
    return specimen;
  }

  it("notices every flipped byte of a record in any segment", async () => {
    const specimen = await several(14);
    await expectEveryFlipNoticed(specimen);
  });

  it.each([0, 9, 14])("notices a missing segment, with the mark at %i", async (marked) => {
    const specimen = await several(marked);
    await expectEveryLossNoticed(specimen);
  });

  it("notices segments that changed places or belong to another log", async () => {
    const specimen = await several(14);
    const stranger = await several(14);
    const paths = [FIRST, SECOND, THIRD];
    for (const one of paths) {
      for (const other of paths) {
        const source = one === other ? stranger : specimen;
        const files = new Map(specimen.files);
        files.set(one, contentOf(source.files, other));
        if (one !== other) files.set(other, contentOf(specimen.files, one));
        // A whole first segment of an equal log is caught by the second, which does not follow it.
        expect(await outcomeOf(files, specimen, `${one}, ${other}`)).toHaveProperty("corrupt");
      }
    }
  });

  it("knows its mark from either copy, and refuses to open without both", async () => {
    const specimen = await several(9);
    const mark = "/data/mark";
    for (let at = 0; at < 2 * SLOT_BYTES; at += 1) {
      // The slots are mostly padding: all bytes of their contents, a sample of the rest.
      if (at % SLOT_BYTES >= 104 && at % 256 !== 0) continue;
      const files = altered(specimen.files, mark, (bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ 0xff;
        return bytes;
      });
      const whole = await outcomeOf(files, specimen, `mark byte ${at}`);
      expect(whole).toMatchObject({ stage: { seq: 14 } });
    }
    // Neither copy is older than the other: each alone demands everything below the mark.
    const marked = await several(14);
    const last = segmentsOf(marked).at(-1);
    const shorter = altered(marked.files, last ?? "", (bytes) =>
      bytes.fill(0, usedBytesOf(bytes) - 1),
    );
    for (const slot of [0, SLOT_BYTES]) {
      const files = altered(shorter, mark, (bytes) => bytes.fill(0, slot, slot + SLOT_BYTES));
      expect(await outcomeOf(files, marked, `copy ${slot} lost`)).toHaveProperty("corrupt");
      const disk = memoryDisk(
        new MemoryFileSystem(
          altered(specimen.files, mark, (bytes) => bytes.fill(0, slot, slot + SLOT_BYTES)),
        ),
      );
      const log = await OpenLog.open(disk, { timer: new HandTimer().timer });
      expect(log.directory.identity.incarnation).toBe(2);
    }
    for (const alter of [
      (bytes: Uint8Array) => bytes.fill(0),
      (bytes: Uint8Array) => bytes.slice(0, 50),
      (bytes: Uint8Array) => new Uint8Array(bytes.length).fill(0xff),
    ]) {
      const outcome = await outcomeOf(altered(specimen.files, mark, alter), specimen, "no mark");
      expect(outcome).toHaveProperty("corrupt.details.file", mark);
    }
    for (const name of ["/data/mark", "/data/VERSION"]) {
      const files = new Map(specimen.files);
      files.delete(name);
      const outcome = await outcomeOf(files, specimen, `without ${name}`);
      expect(outcome).toHaveProperty("corrupt.details.file", name);
    }
  });
});

describe("a log whose first segments were removed, damaged", () => {
  async function shortened(marked = 14): Promise<Specimen> {
    const specimen = await specimenOf(SIZES, marked, 1500, { 5: "resets", 11: "stands" });
    expect(segmentsOf(specimen)).not.toContain(FIRST);
    expect(segmentsOf(specimen).length).toBeGreaterThan(1);
    return specimen;
  }

  async function withMark(specimen: Specimen, changes: Partial<Mark>): Promise<Files> {
    const fileSystem = new MemoryFileSystem(specimen.files);
    const mark = await MarkFile.open(fileSystem, "/data");
    await mark.write({ ...mark.current, ...changes });
    return fileSystem.files();
  }

  it("notices every flipped byte of a record in any segment", async () => {
    const specimen = await shortened();
    await expectEveryFlipNoticed(specimen);
  });

  it.each([0, 12, 14])("notices a missing segment, with the mark at %i", async (marked) => {
    const specimen = await shortened(marked);
    await expectEveryLossNoticed(specimen);
  });

  it("ignores and removes what a removal left behind, whatever it holds", async () => {
    const specimen = await shortened();
    const files = new Map(specimen.files);
    files.set(FIRST, new Uint8Array(1500).fill(7));
    const fileSystem = new MemoryFileSystem(files);
    const log = await OpenLog.open(memoryDisk(fileSystem, specimen.store.copy()));
    await log.close();
    expect([...fileSystem.files().keys()]).not.toContain(FIRST);
  });

  it("is not opened with a first segment that the snapshot does not reach", async () => {
    const plain = await specimenOf(SIZES, 14, 1500);
    const files = await withMark(plain, { firstSegment: 2 });
    const outcome = await outcomeOf(files, plain, "no snapshot");
    expect(outcome).toHaveProperty("corrupt.details.file", SECOND);
    expect(outcome).toHaveProperty("corrupt.details.reason", expect.stringMatching(/no snapshot/));

    const early = await specimenOf(SIZES, 14, 1500, { 2: "stands, keeping all" });
    const behind = await withMark(early, { firstSegment: segmentsOf(early).length });
    const outside = await outcomeOf(behind, early, "a snapshot before the first segment");
    expect(outside).toHaveProperty(
      "corrupt.details.reason",
      expect.stringMatching(/snapshot of 2/),
    );

    const lower = await shortened();
    expect(
      await outcomeOf(await withMark(lower, { firstSegment: 1 }), lower, "an older mark"),
    ).toHaveProperty("corrupt.details.file", FIRST);
  });

  it("is not opened without the snapshot it stands on, or with an altered manifest", async () => {
    const specimen = await shortened();
    const store = new MemoryStoreDisk();
    const lacking = await outcomeOf(specimen.files, { ...specimen, store }, "no snapshot");
    expect(lacking).toHaveProperty("corrupt.details.file", "store");
    const { index } = specimen.stages.at(-1)?.snapshot ?? {};
    expect(lacking).toHaveProperty("corrupt.details.index", index);
    expect(specimen.store.values.size).toBeGreaterThan(0);
    for (const [name, value] of specimen.store.values) {
      for (let bit = 0; bit < value.length * 8; bit += 5) {
        const damaged = specimen.store.copy();
        damaged.damage(name, bit);
        const outcome = await outcomeOf(specimen.files, { ...specimen, store: damaged }, name);
        expect(outcome).toHaveProperty("corrupt.details.file", "store");
      }
    }
  });
});
