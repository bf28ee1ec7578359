/** The laws that every judge of locks decides by, on facts alone. */
import { expect, test } from "vitest";
import { problemOfEnding } from "../../../lab/laws/endings.js";
import {
  type Claim,
  conflictOf,
  excludeEachOther,
  type Mode,
  problemOfSlots,
} from "../../../lab/laws/exclusion.js";
import { Heirs } from "../../../lab/laws/heirs.js";
import { leadOf, type Place } from "../../../lab/laws/order.js";

const claim = (mode: Mode, slots: readonly number[] = [], limit?: number): Claim => {
  return { key: "k", mode, permits: slots.length, slots, limit };
};

test.each<[Mode, Mode, boolean]>([
  ["exclusive", "exclusive", true],
  ["exclusive", "shared", true],
  ["shared", "exclusive", true],
  ["shared", "shared", false],
  ["shared", "permits", true],
  ["permits", "permits", false],
])("%s together with %s is a conflict: %s", (one, other, isConflict) => {
  const conflict = conflictOf(claim(one), [["holder", claim(other)]]);
  expect(conflict?.kind).toBe(isConflict ? "mode" : undefined);
});

test("permits conflict by a slot, or by their sum, no matter who said how many there are", () => {
  const wanted = claim("permits", [2]);
  const one = ["one", claim("permits", [0], 3)] as const;
  const other = ["other", claim("permits", [1])] as const;
  expect(conflictOf(wanted, [one, other])).toBeUndefined();
  const twice = conflictOf(claim("permits", [1]), [one, other]);
  expect(twice).toEqual({ kind: "slot", holder: "other", slot: 1 });
  const most = { kind: "count", holder: "other", held: 3, limit: 2 };
  expect(conflictOf(wanted, [one, other], 2)).toEqual(most);
  expect(conflictOf(claim("permits", [2], 2), [one, other])).toEqual(most);
  // One that asks for permits waits after one that waits for them.
  expect(excludeEachOther("permits", "permits")).toBe(true);
});

test.each<[string, Partial<Claim>, string | undefined]>([
  ["as many as permits", { permits: 2, slots: [0, 2], limit: 3 }, undefined],
  ["not known", { permits: 2, slots: undefined }, undefined],
  ["too few", { permits: 2, slots: [0] }, "2 permits have 1 slots"],
  ["beyond the limit", { permits: 1, slots: [3], limit: 3 }, "there is no slot 3 of 3"],
])("slots that are %s", (_, more, problem) => {
  expect(problemOfSlots({ ...claim("permits"), ...more })).toBe(problem);
});

test("a request is ahead by its arrival less its head start, as far as both are known", () => {
  const place = (earliest: number, latest: number, least: number, most: number): Place => {
    return { arrived: { earliest, latest }, headStart: { least, most } };
  };
  expect(leadOf(place(0, 10, 0, 0), place(15, 15, 0, 0))).toBe(5);
  expect(leadOf(place(900, 900, 1_000, 1_000), place(0, 0, 0, 0))).toBe(100);
  // Each may have arrived first, or may have given its head start up.
  expect(leadOf(place(0, 10, 0, 0), place(5, 15, 0, 0))).toBeLessThan(0);
  expect(leadOf(place(900, 900, 0, 1_000), place(0, 0, 0, 0))).toBeLessThan(0);
});

test("each reason of an end needs what it says", () => {
  const hold = { maxHoldMs: 1_000, heldMs: 900, earlyMs: 100 };
  const byNobody = { ...hold, isAskedFor: () => false };
  const byThief = { ...hold, isAskedFor: (end: string) => end === "stolen" };
  expect(problemOfEnding("stolen", byThief)).toBeUndefined();
  expect(problemOfEnding("revoked", byThief)).toBe("was revoked, for which nobody asked");
  expect(problemOfEnding("stolen", byNobody)).toBe("was stolen, for which nobody asked");
  expect(problemOfEnding("maxHold", byNobody)).toBeUndefined();
  expect(problemOfEnding("maxHold", { ...byNobody, earlyMs: 99 })).toContain("after 900 ms");
  expect(problemOfEnding("maxHold", { ...byNobody, maxHoldMs: undefined })).toContain("has none");
  expect(problemOfEnding("expired", byNobody)).toBeUndefined();
});

test("what is handed over as a whole has one heir", () => {
  const heirs = new Heirs<number, string>();
  expect(heirs.goesOn("one", [1, 2])).toBeUndefined();
  expect(heirs.goesOn("one", [1, 2])).toBeUndefined();
  expect(heirs.goesOn("other", [3])).toBeUndefined();
  expect(heirs.goesOn("other", [2, 4])).toBe("one");
});
