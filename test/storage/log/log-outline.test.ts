/** The outline of a log against the plain list of its terms. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LogOutline } from "../../../src/storage/log/log-outline.js";

const step = fc.record({
  type: fc.constantFrom("append", "append", "raise", "truncate", "trim", "reset"),
  share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

describe("the outline of a log", () => {
  it("knows the term of every entry over appends, truncations, trimmings and resets", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const outline = new LogOutline(0, 0);
        /** Terms from the base on. */
        let terms = [0];
        let base = 0;
        for (const { type, share } of steps) {
          const last = base + terms.length - 1;
          const inside = base + Math.floor(share * (last - base + 1));
          const lastTerm = terms.at(-1) ?? 0;
          if (type === "append" || type === "raise") {
            const term = lastTerm + (type === "raise" ? 1 : 0);
            expect(outline.canAppend(last + 1, term)).toBe(true);
            expect(outline.canAppend(last + 1, term - 1)).toBe(type === "raise");
            outline.append(last + 1, term);
            terms.push(term);
          } else if (type === "truncate") {
            outline.truncateFrom(inside + 1);
            terms = terms.slice(0, inside + 1 - base);
          } else if (type === "trim") {
            outline.trimBefore(inside + 1);
            terms = terms.slice(inside - base);
            base = inside;
          } else {
            base = last + Math.floor(share * 5);
            terms = [lastTerm + 1];
            outline.reset(base, lastTerm + 1);
          }
          expect(outline.baseIndex).toBe(base);
          expect(outline.baseTerm).toBe(terms[0]);
          expect(outline.lastIndex).toBe(base + terms.length - 1);
          expect(outline.lastTerm).toBe(terms.at(-1));
          for (const [at, term] of terms.entries()) expect(outline.termOf(base + at)).toBe(term);
          expect(outline.termOf(base - 1)).toBeUndefined();
          expect(outline.termOf(base + terms.length)).toBeUndefined();
          expect(outline.canTruncateFrom(base)).toBe(false);
          expect(outline.canTruncateFrom(base + 1)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
