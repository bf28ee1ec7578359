/** The fuzzer itself: planted faults are found, made small, and told apart from refusals. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RandomStream } from "../../lab/random-stream.js";
import { Reader } from "../../src/protocol/index.js";
import { readInput, writeInput } from "./engine/corpus-files.js";
import { common, without } from "./engine/coverage.js";
import { findingOf } from "./engine/finding.js";
import { fuzz } from "./engine/fuzzer.js";
import { mutateJson } from "./engine/json-mutators.js";
import { mutateMsgpack } from "./engine/msgpack-mutators.js";
import { GENERAL_MUTATORS, mutated } from "./engine/mutators.js";
import type { FuzzTarget } from "./engine/target.js";

const LIMITS = { seed: 3, untilMs: Number.POSITIVE_INFINITY };

/** `[1, "k", [2, 3]]` */
const SAMPLE = Uint8Array.from(Buffer.from("9301a16b920203", "hex"));

function targetOf(run: FuzzTarget["run"], rest: Partial<FuzzTarget> = {}): FuzzTarget {
  const steps = { fixed: 1_000_000, perByte: 0 };
  const shape = { name: "planted", about: "", mutators: [mutateMsgpack], bytesMax: 256, steps };
  return { ...shape, corpus: () => [SAMPLE], run, ...rest };
}

describe("a fault", () => {
  test("that needs a number of four bytes where one of one byte stood is found and made small", async () => {
    const target = targetOf((input) => {
      const reader = new Reader(input);
      try {
        reader.arrayHeader();
        if (reader.uint() >= 2 ** 31) throw new TypeError(`planted at ${reader.at}`);
        return "taken";
      } catch (error) {
        if (error instanceof TypeError) throw error;
        return "refused";
      }
    });
    const { findings, taken } = await fuzz(target, { ...LIMITS, executionsMax: 20_000 });
    expect(taken).toBeGreaterThan(0);
    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toMatch(/planted at/);
    expect(findings[0]?.input.length).toBeLessThan(SAMPLE.length + 4);
  });

  test("is reported once, and two faults twice", async () => {
    const target = targetOf((input) => {
      if (input.length > 20) throw new RangeError(`${input.length} bytes`);
      if (input[0] === 0xff) throw new TypeError("another one");
      return "taken";
    });
    const { findings } = await fuzz(target, { ...LIMITS, executionsMax: 3_000 });
    expect(findings.map(({ message }) => message.slice(0, 5)).sort()).toEqual(["Range", "TypeE"]);
  });

  test("behind a checksum is reached because that is set right", async () => {
    const repair = (input: Uint8Array): Uint8Array => {
      const sum = input.subarray(1).reduce((total, byte) => total + byte, 0);
      return Uint8Array.from([sum & 255, ...input.subarray(1)]);
    };
    const run: FuzzTarget["run"] = (input) => {
      if (Buffer.compare(repair(input), input) !== 0) return "refused";
      if (input.length > 3 && input[1] === 0x7f) throw new Error("planted");
      return "taken";
    };
    const one = { ...LIMITS, executionsMax: 3_000 };
    const corpus = () => [repair(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7))];
    expect((await fuzz(targetOf(run, { repair, corpus }), one)).findings).toHaveLength(1);
  });
});

test("the same seed gives the same inputs, and another one others", async () => {
  const inputsOf = async (seed: number): Promise<string> => {
    const inputs: string[] = [];
    const onInput = (input: Uint8Array): void => {
      inputs.push(Buffer.from(input).toString("hex"));
    };
    const target = targetOf(() => "taken");
    await fuzz(target, { ...LIMITS, seed, executionsMax: 200, onInput });
    return inputs.join();
  };
  expect(await inputsOf(5)).toBe(await inputsOf(5));
  expect(await inputsOf(5)).not.toBe(await inputsOf(6));
});

test("no change is longer than it may be, and all of them change something", () => {
  const random = new RandomStream(1);
  const source = { random, other: () => SAMPLE };
  const all = [...GENERAL_MUTATORS, mutateMsgpack];
  const found = new Set<string>();
  for (let left = 2_000; left > 0; left -= 1) {
    const input = mutated(SAMPLE, all, source, 64);
    expect(input.length).toBeLessThanOrEqual(64);
    found.add(Buffer.from(input).toString("hex"));
  }
  expect(found.size).toBeGreaterThan(1_000);
  expect(Buffer.from(SAMPLE).toString("hex")).toBe("9301a16b920203");
});

test("changed JSON is JSON", () => {
  const source = { random: new RandomStream(1), other: () => Buffer.from('{"b":[1]}') };
  let input: Uint8Array = Buffer.from('{"a":{"k":["x",7,null]}}');
  for (let left = 500; left > 0; left -= 1) {
    const next = mutateJson(input, source) ?? input;
    expect(() => JSON.parse(Buffer.from(next).toString()) as unknown).not.toThrow();
    input = next.length > 500 ? Buffer.from('{"a":[1,{"k":2}]}') : next;
  }
});

test("parts of coverage are told apart", () => {
  const run = (...bytes: number[]) => new Map([["a", Uint8Array.from(bytes)]]);
  expect(common(run(1, 1, 0), run(0, 1, 1))).toEqual(run(0, 1, 0));
  expect(without(run(1, 1, 0), run(0, 1, 1))).toEqual(run(1, 0, 0));
  expect(without(run(1, 0), run(1, 1))).toBeUndefined();
});

test("numbers in a message do not make another fault of it", () => {
  const one = findingOf("t", SAMPLE, new RangeError("at byte 17 of 0123456789abcdef"));
  const other = findingOf("t", SAMPLE, new RangeError("at byte 4 of fedcba9876543210"));
  expect(one.signature).toBe(other.signature);
});

describe("a file of the corpus", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-fuzz-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("is read as it was written, next to its comment", () => {
    const input = Uint8Array.from({ length: 200 }, (_, at) => at);
    expect(readInput(writeInput(folder, input, "why\nand how"))).toEqual(input);
  });

  test("with anything else than hex digits is refused", () => {
    const path = join(folder, "wrong.hex");
    writeFileSync(path, "# fine\nzz\n");
    expect(() => readInput(path)).toThrow(/wrong.hex is not made of hex digits/);
  });
});
