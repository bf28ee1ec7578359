/** The log in memory: look-ups by term, slices, and what is left after the log is cut. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RaftLog } from "../../src/raft/log.js";
import { entry, log } from "./cluster/solo.js";

describe("the log", () => {
  it("finds the last entry of a term not above another by bisection", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12 }),
        fc.nat({ max: 14 }),
        fc.nat({ max: 7 }),
        (unsorted, index, term) => {
          const terms = unsorted.sort((a, b) => a - b);
          const found = new RaftLog(0, 0, log(...terms)).lastIndexWithTermUpTo(index, term);
          let expected = 0;
          for (const [at, each] of terms.entries()) {
            if (at + 1 <= index && each <= term) expected = at + 1;
          }
          expect(found).toBe(expected);
        },
      ),
    );
  });

  it("hands the same slice to everybody, and a new one after a truncation", () => {
    const held = new RaftLog(0, 0, log(1, 1, 1));
    const slice = held.slice(2, 3);
    expect(held.slice(2, 3)).toBe(slice);
    held.truncate(3);
    held.append(entry(3, 2));
    expect(held.slice(2, 3).map(({ term }) => term)).toEqual([1, 2]);
    expect(slice.map(({ term }) => term)).toEqual([1, 1]);
    expect(held.slice(4, 3)).toEqual([]);
  });

  it("goes on after its base when its beginning goes, and after a snapshot when all goes", () => {
    const held = new RaftLog(0, 0, log(1, 1, 2, 3));
    held.compactTo(3);
    expect([held.baseIndex, held.baseTerm, held.lastIndex, held.lastTerm]).toEqual([3, 2, 4, 3]);
    expect(held.slice(4, 4).length).toBe(1);
    held.reset(9, 5);
    expect([held.baseIndex, held.lastIndex, held.lastTerm]).toEqual([9, 9, 5]);
    held.append(entry(10, 5));
    expect(held.term(9)).toBe(5);
    expect(() => held.reset(9, 5)).toThrow(/reset to 9/);
    expect(() => held.compactTo(8)).toThrow(/compaction to 8/);
  });

  it("knows what it does not hold", () => {
    const held = new RaftLog(5, 2, [entry(6, 3)]);
    expect([held.matches(5, 2), held.matches(6, 3)]).toEqual([true, true]);
    expect([held.matches(4, 2), held.matches(7, 3), held.matches(6, 2)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(() => held.entry(5)).toThrow(/no entry 5/);
    expect(() => held.truncate(5)).toThrow(/truncation at 5/);
    expect(() => held.slice(5, 6)).toThrow(/slice/);
  });
});
