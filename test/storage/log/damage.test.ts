/** What a damaged disk may do to a log of one segment. */
import { describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { strideOf } from "../../runs.js";
import {
  altered,
  contentOf,
  FIRST,
  type Files,
  outcomeOf,
  recordsOf,
  specimenOf,
  usedBytesOf,
} from "./damage-specimen.js";
import { entryOf, HandTimer, memoryDisk, OpenLog, writeOf } from "./log-harness.js";

const SMALL = 2048;
const SIZES = [40, 20, 90, 10, 50, 30, 20];
/** Every kind of section is in one of the records. */
const STANDINGS = { 4: "stands, keeping all", 5: "resets", 6: "stands" } as const;
const MARKS = [0, 3, 5, 7];
/** Places that are left out in `npm test`; each of the marks and flips tries others. */
const STRIDE = strideOf(8);
/** One flip of a single bit, one of every bit. */
const FLIPS = [0x01, 0xff];

describe("a log of one segment, damaged", () => {
  it.each(MARKS)("survives being torn at every byte, with the mark at %i", async (marked) => {
    const specimen = await specimenOf(SIZES, marked, SMALL, STANDINGS);
    const content = contentOf(specimen.files, FIRST);
    const records = recordsOf(content);
    const used = usedBytesOf(content);
    for (let from = (records[1] ?? 0) + (marked % STRIDE); from < used; from += STRIDE) {
      const files = altered(specimen.files, FIRST, (bytes) => bytes.fill(0, from));
      const whole =
        records.filter((_at, number) => (records[number + 1] ?? used) <= from).length - 1;
      const outcome = await outcomeOf(files, specimen, `torn at ${from}`);
      // Above the mark a tear is not damage: everything before it is there.
      if (whole >= marked) expect(outcome).toMatchObject({ stage: { seq: whole } });
      else expect(outcome).toHaveProperty("corrupt.details.file", FIRST);
    }
  });

  it.each(MARKS)("refuses to be shortened to any length, with the mark at %i", async (marked) => {
    const specimen = await specimenOf(SIZES, marked, SMALL, STANDINGS);
    const used = usedBytesOf(contentOf(specimen.files, FIRST));
    for (let length = 0; length < SMALL; length += length < used + 64 ? STRIDE : 13) {
      const files = altered(specimen.files, FIRST, (bytes) => bytes.slice(0, length));
      const outcome = await outcomeOf(files, specimen, `cut to ${length}`);
      expect(outcome).toHaveProperty("corrupt.details.file", FIRST);
    }
  });

  it.each(MARKS)("notices every flipped byte, with the mark at %i", async (marked) => {
    const specimen = await specimenOf(SIZES, marked, SMALL, STANDINGS);
    const used = usedBytesOf(contentOf(specimen.files, FIRST));
    // Every byte of the records and of what comes right after them, a sample of the rest.
    for (const [from, mask] of FLIPS.entries()) {
      for (let at = (marked + from) % STRIDE; at < SMALL; at += at < used + 64 ? STRIDE : 13) {
        const files = altered(specimen.files, FIRST, (bytes) => {
          bytes[at] = (bytes[at] ?? 0) ^ mask;
          return bytes;
        });
        const outcome = await outcomeOf(files, specimen, `byte ${at} flipped by ${mask}`);
        // A flip never looks like a torn write: the record was written as a whole.
        if (at < used) expect(outcome, `byte ${at}`).toHaveProperty("corrupt.details.file", FIRST);
        // In space not yet written it may be taken for one, or for damage, but costs no record.
        else if ("stage" in outcome) expect(outcome.stage.seq, `byte ${at}`).toBe(SIZES.length);
      }
    }
  });

  it.each(MARKS)("loses nothing below the mark to zeroed sectors, mark at %i", async (marked) => {
    const specimen = await specimenOf([700, 1500, 300, 900], Math.min(marked, 4), 8192);
    for (let first = 0; first < 8192; first += 512) {
      for (let end = first + 512; end <= 8192; end += 512) {
        const files = altered(specimen.files, FIRST, (bytes) => bytes.fill(0, first, end));
        await outcomeOf(files, specimen, `zeroed from ${first} to ${end}`);
      }
    }
  });

  it("takes any subset of the sectors of its last write for a torn one", async () => {
    // The pads move the last record so that its header lies on either side of a sector's boundary.
    for (let pad = 0; pad < 36; pad += 2) {
      const specimen = await specimenOf([158 + pad, 800], 1, 4096);
      const content = contentOf(specimen.files, FIRST);
      const from = recordsOf(content)[2] ?? 0;
      const used = usedBytesOf(content);
      const first = Math.floor(from / 512);
      const sectors = Math.ceil(used / 512) - first;

      for (let kept = 0; kept < 2 ** sectors; kept += 1) {
        const files = altered(specimen.files, FIRST, (bytes) => {
          for (let at = from; at < used; at += 1) {
            if ((kept & (1 << (Math.floor(at / 512) - first))) === 0) bytes[at] = 0;
          }
          return bytes;
        });
        const outcome = await outcomeOf(files, specimen, `sectors ${kept.toString(2)}, pad ${pad}`);
        const seq = kept === 2 ** sectors - 1 ? 2 : 1;
        expect(outcome, `sectors ${kept.toString(2)}, pad ${pad}`).toMatchObject({
          stage: { seq },
        });
      }
    }
  });

  it("takes nothing for torn that has a whole record after it", async () => {
    const specimen = await specimenOf(SIZES, 0, SMALL, STANDINGS);
    const content = contentOf(specimen.files, FIRST);
    const records = recordsOf(content);
    for (const [number, from] of records.entries()) {
      const to = records[number + 1];
      if (to === undefined) continue;
      for (const part of [from, from + 20, from + 40, to - 1]) {
        const files = altered(specimen.files, FIRST, (bytes) => bytes.fill(0, part, to));
        const outcome = await outcomeOf(files, specimen, `record ${number} without its end`);
        expect(outcome).toHaveProperty("corrupt.details.offset", from);
      }
    }
  });

  it("accepts no record that followed another one than the one before it", async () => {
    const common = await specimenOf([40], 1, SMALL);
    const endings: Files[] = [];
    for (const kind of ["command", "noop"] as const) {
      const fileSystem = new MemoryFileSystem(common.files);
      const log = await OpenLog.open(memoryDisk(fileSystem), { timer: new HandTimer().timer });
      await log.write(writeOf(2, [{ ...entryOf(3, 2), kind }]));
      await log.write(writeOf(3, [entryOf(4, 2)]));
      endings.push(fileSystem.files());
    }
    const [one = common.files, other = common.files] = endings;
    const third = recordsOf(contentOf(one, FIRST))[3] ?? 0;
    const spliced = altered(one, FIRST, (bytes) => {
      bytes.set(contentOf(other, FIRST).subarray(third), third);
      return bytes;
    });
    const outcome = await outcomeOf(spliced, common, "the end of another log");
    expect(outcome).toHaveProperty("corrupt.details.offset", third);
  });

  it("names file, offset and entry of the damage", async () => {
    const specimen = await specimenOf(SIZES, 7, SMALL, STANDINGS);
    const second = recordsOf(contentOf(specimen.files, FIRST))[2] ?? 0;
    const files = altered(specimen.files, FIRST, (bytes) => {
      bytes[second + 50] = (bytes[second + 50] ?? 0) ^ 0x10;
      return bytes;
    });
    const outcome = await outcomeOf(files, specimen, "one bit");
    expect(outcome).toHaveProperty("corrupt.details.file", FIRST);
    expect(outcome).toHaveProperty("corrupt.details.offset", second);
    expect(outcome).toHaveProperty("corrupt.details.index", 3);
  });

  it("takes no record of zeros for a torn one when another byte of it is flipped", async () => {
    const fileSystem = new MemoryFileSystem();
    const disk = memoryDisk(fileSystem, undefined, 8192);
    const log = await OpenLog.open(disk, { timer: new HandTimer().timer });
    const data = new Uint8Array(3000);
    await log.write(writeOf(1, [{ index: 1, term: 1, kind: "command", data }]));
    const files = fileSystem.files();
    const at = recordsOf(contentOf(files, FIRST))[1] ?? 0;
    const hardState = { term: 0, vote: 0 };
    const stages = [{ seq: 0, entries: [], hardState, snapshot: undefined }];
    const specimen = { files, store: new MemoryStoreDisk(), stages, marked: 0 };
    const flipped = altered(files, FIRST, (bytes) => {
      bytes[at + 1500] = 1;
      return bytes;
    });
    const outcome = await outcomeOf(flipped, specimen, "one bit in zeros");
    expect(outcome).toHaveProperty("corrupt.details.offset", at);
  });

  it.each(MARKS)("accepts no record twice, with the mark at %i", async (marked) => {
    const specimen = await specimenOf(SIZES, marked, SMALL, STANDINGS);
    const content = contentOf(specimen.files, FIRST);
    const used = usedBytesOf(content);
    const records = recordsOf(content);
    for (const [number, from] of records.entries()) {
      const to = records[number + 1] ?? used;
      const files = altered(specimen.files, FIRST, (bytes) => bytes.copyWithin(used, from, to));
      const outcome = await outcomeOf(files, specimen, `record ${number} again`);
      expect(outcome).toHaveProperty("corrupt.details.offset", used);
    }
  });

  it.each(MARKS)("reads nothing of an older log after its tail, mark at %i", async (marked) => {
    const specimen = await specimenOf(SIZES, marked, SMALL, STANDINGS);
    const older = contentOf((await specimenOf([300, 300], 0, SMALL)).files, FIRST);
    const used = usedBytesOf(contentOf(specimen.files, FIRST));
    for (const [number, from] of recordsOf(older).entries()) {
      for (const gap of [0, 1, 36, 100]) {
        const left = older.slice(from, usedBytesOf(older)).subarray(0, SMALL - used - gap);
        const files = altered(specimen.files, FIRST, (bytes) => {
          bytes.set(left, used + gap);
          return bytes;
        });
        const outcome = await outcomeOf(files, specimen, `leftover ${number}, ${gap} later`);
        if ("stage" in outcome) expect(outcome.stage.seq).toBe(SIZES.length);
      }
    }
  });
});
