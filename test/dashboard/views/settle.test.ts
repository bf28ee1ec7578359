import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { settle } from "../../../dashboard/parts/settle.js";

interface Row {
  readonly key: string;
  readonly value: number;
}
const keyOf = (row: Row): string => row.key;
const rows = (text: string, value = 0): Row[] => [...text].map((key) => ({ key, value }));
const shownAs = (all: readonly Row[]): string => all.map(keyOf).join("");

describe("rows under a pointer", () => {
  it("stay where they are, with what is known of them now", () => {
    const { rows: shown, gone, newCount } = settle(rows("abc"), rows("xbaz", 1), keyOf, true);
    expect(shownAs(shown)).toBe("abc");
    expect(shown.map(({ value }) => value)).toEqual([1, 1, 0]);
    expect([...gone]).toEqual(["c"]);
    expect(newCount).toBe(2);
  });

  it("are what is there as soon as nobody points at them", () => {
    const settled = settle(rows("abc"), rows("xb"), keyOf, false);
    expect(shownAs(settled.rows)).toBe("xb");
    expect(settled).toMatchObject({ newCount: 0, gone: new Set() });
  });

  it("never move, whatever happens to the others", () => {
    const keys = fc.uniqueArray(fc.constantFrom(..."abcdefgh"), { minLength: 1 });
    fc.assert(
      fc.property(keys, keys, (before, now) => {
        const {
          rows: shown,
          gone,
          newCount,
        } = settle(rows(before.join("")), rows(now.join("")), keyOf, true);
        expect(shownAs(shown)).toBe(before.join(""));
        expect([...gone]).toEqual(before.filter((key) => !now.includes(key)));
        expect(newCount).toBe(now.filter((key) => !before.includes(key)).length);
      }),
    );
  });
});
