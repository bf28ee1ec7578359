import { expect, test } from "vitest";
import { GrantWitness, type WitnessedLock } from "../../../bench/load/grant-witness.js";

const NONE = { token: 0, overlap: 0, limit: 0, slot: 0 };

/** A lock as the witness sees it, which may be lost later. */
class SeenLock implements WitnessedLock {
  isHeld = true;
  readonly token: number;
  readonly items: WitnessedLock["items"];

  constructor(token: number, ...items: WitnessedLock["items"]) {
    this.token = token;
    this.items = items;
  }
}

function exclusive(token: number, ...keys: string[]): SeenLock {
  return new SeenLock(token, ...keys.map((key) => item(key, "exclusive")));
}

function shared(token: number, key = "a"): SeenLock {
  return new SeenLock(token, item(key, "shared"));
}

function permits(token: number, ...slots: number[]): SeenLock {
  return new SeenLock(token, { key: "s", mode: "permits", permits: slots.length, slots });
}

function item(key: string, mode: "exclusive" | "shared"): WitnessedLock["items"][number] {
  return { key, mode, permits: 0, slots: [] };
}

/** What a witness counts that sees these granted, one after the other, none released. */
function seen(locks: readonly SeenLock[], limit?: number) {
  const witness = new GrantWitness(limit);
  for (const lock of locks) witness.onGranted(lock);
  expect(witness.total).toBe(Object.values(witness.violations).reduce((a, b) => a + b));
  return witness.violations;
}

test("holders that come one after the other under rising tokens are as it must be", () => {
  const witness = new GrantWitness(2);
  const cycles = [exclusive(1, "a"), shared(2), exclusive(3, "a", "b"), permits(4, 0, 1)];
  for (const lock of cycles) {
    witness.onGranted(lock);
    witness.onReleasing(lock);
  }
  expect(witness.violations).toEqual(NONE);
});

test("readers may be together, and their grants may be read in any order", () => {
  expect(seen([shared(7), shared(5), shared(6)])).toEqual(NONE);
});

test("a writer next to a reader, a reader next to a writer, and two writers overlap", () => {
  expect(seen([shared(1), exclusive(2, "a")])).toEqual({ ...NONE, overlap: 1 });
  expect(seen([shared(1), shared(2), exclusive(3, "a")])).toEqual({ ...NONE, overlap: 2 });
  expect(seen([exclusive(1, "a"), shared(2)])).toEqual({ ...NONE, overlap: 1 });
  expect(seen([exclusive(1, "a"), exclusive(2, "a")])).toEqual({ ...NONE, overlap: 1 });
});

test("of several locks at once, each that is held twice counts", () => {
  expect(seen([exclusive(1, "a", "b"), exclusive(2, "c", "d")])).toEqual(NONE);
  expect(seen([exclusive(1, "a", "b"), exclusive(2, "b", "c")])).toEqual({ ...NONE, overlap: 1 });
});

test("a holder that lost its lock no longer overlaps with anybody", () => {
  const witness = new GrantWitness(1);
  const lost = [exclusive(1, "a"), shared(2, "b"), permits(3, 0)];
  for (const lock of lost) {
    witness.onGranted(lock);
    lock.isHeld = false;
  }
  for (const lock of [exclusive(4, "a"), exclusive(5, "b"), permits(6, 0)]) witness.onGranted(lock);
  expect(witness.violations).toEqual(NONE);
});

test("what was lost and is released late takes nothing from who holds now", () => {
  const witness = new GrantWitness(1);
  const [lost, lostPermit] = [exclusive(1, "a"), permits(2, 0)];
  for (const lock of [lost, lostPermit]) {
    witness.onGranted(lock);
    lock.isHeld = false;
  }
  for (const lock of [exclusive(3, "a"), permits(4, 0)]) witness.onGranted(lock);
  witness.onReleasing(lost);
  witness.onReleasing(lostPermit);
  for (const lock of [exclusive(5, "a"), permits(6, 0)]) witness.onGranted(lock);
  expect(witness.violations).toEqual({ ...NONE, overlap: 1, limit: 1, slot: 1 });
});

test("a token that a resource would refuse counts: each mode has its own rule", () => {
  const oneAfterTheOther = (first: SeenLock, second: SeenLock) => {
    const witness = new GrantWitness();
    for (const lock of [first, second]) {
      witness.onGranted(lock);
      witness.onReleasing(lock);
    }
    return witness.violations.token;
  };
  expect(oneAfterTheOther(exclusive(5, "a"), exclusive(5, "a"))).toBe(1);
  expect(oneAfterTheOther(exclusive(5, "a"), exclusive(4, "a"))).toBe(1);
  expect(oneAfterTheOther(exclusive(5, "a"), exclusive(4, "b"))).toBe(0);
  expect(oneAfterTheOther(exclusive(5, "a"), shared(4))).toBe(1);
  expect(oneAfterTheOther(shared(5), exclusive(4, "a"))).toBe(1);
  expect(oneAfterTheOther(shared(5), shared(4))).toBe(0);
  expect(oneAfterTheOther(permits(5, 0), permits(4, 0))).toBe(1);
  expect(oneAfterTheOther(permits(5, 0), permits(4, 1))).toBe(0);
});

test("more permits than the limit count, and so does a slot that is had twice or is none", () => {
  expect(seen([permits(1, 0, 1), permits(2, 2)], 3)).toEqual(NONE);
  expect(seen([permits(1, 0, 1), permits(2, 2, 3)], 3)).toEqual({ ...NONE, limit: 1, slot: 1 });
  expect(seen([permits(1, 0), permits(2, 0)], 3)).toEqual({ ...NONE, slot: 1 });
  expect(seen([permits(1, 3)], 3)).toEqual({ ...NONE, slot: 1 });
  expect(seen([permits(1, 1, 1)], 3).slot).toBeGreaterThan(0);
  const short = { key: "s", mode: "permits", permits: 2, slots: [0] } as const;
  expect(seen([new SeenLock(1, short)], 3)).toEqual({ ...NONE, slot: 1 });
});
