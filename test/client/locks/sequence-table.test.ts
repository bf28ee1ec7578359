/** A table by sequence answers like a map, whatever its places went through. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SequenceTable } from "../../../src/client/locks/sequence-table.js";

interface Entry {
  readonly sequence: number;
  readonly step: number;
}

class Pair {
  readonly #table = new SequenceTable<Entry>();
  readonly #map = new Map<number, Entry>();

  set(entry: Entry): void {
    this.#table.set(entry);
    this.#map.set(entry.sequence, entry);
  }

  delete(sequence: number): void {
    this.#table.delete(sequence);
    this.#map.delete(sequence);
  }

  clear(): void {
    this.#table.clear();
    this.#map.clear();
  }

  check(sequence: number): void {
    expect(this.#table.size).toBe(this.#map.size);
    expect(this.#table.get(sequence)).toBe(this.#map.get(sequence));
  }

  checkAll(): void {
    const sorted = [...this.#map.values()].sort((one, other) => one.sequence - other.sequence);
    expect(this.#table.all()).toEqual(sorted);
    for (const { sequence } of sorted) this.check(sequence);
  }
}

const FIBONACCI = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
/** Few of them, so that most are set and removed again and again; multiples of 10,946 collide. */
const sequence = fc.oneof(
  fc.integer({ min: 1, max: 200 }),
  fc.integer({ min: 0, max: 60 }).map((n) => 1 + n * 10_946),
  fc.constantFrom(...FIBONACCI.map((n) => Number.MAX_SAFE_INTEGER - n)),
);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant("set" as const), sequence }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("delete" as const), sequence }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("get" as const), sequence }) },
);

test("it has what a map has after the same steps", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 600, size: "max" }), (steps) => {
      const pair = new Pair();
      for (const [at, { what, sequence }] of steps.entries()) {
        if (what === "set") pair.set({ sequence, step: at });
        else if (what === "delete") pair.delete(sequence);
        pair.check(sequence);
      }
      pair.checkAll();
    }),
    { numRuns: 60 },
  );
});

test("sequences go by while many holds stay", () => {
  const pair = new Pair();
  for (let sequence = 1; sequence <= 300; sequence++) pair.set({ sequence, step: 0 });
  for (let sequence = 301; sequence <= 4_000; sequence += 2) {
    pair.set({ sequence, step: 1 });
    pair.check(sequence);
    pair.delete(sequence);
    pair.check(sequence);
  }
  pair.checkAll();
  pair.clear();
  pair.checkAll();
  pair.set({ sequence: 7, step: 2 });
  pair.checkAll();
});
