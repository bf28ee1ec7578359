/** The slots of a semaphore: always the lowest free ones. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { CopyOnWrite } from "../../../src/lockfsm/records/copy-on-write.js";
import { Semaphore } from "../../../src/lockfsm/records/semaphore.js";
import { ClusterLog, permits } from "../plans/cluster-log.js";

/** The lowest numbers that nobody has, found by counting up. */
function lowestFree(taken: ReadonlySet<number>, count: number): number[] {
  const slots: number[] = [];
  for (let slot = 0; slots.length < count; slot += 1) if (!taken.has(slot)) slots.push(slot);
  return slots;
}

describe("the slots of a semaphore", () => {
  const change = fc.record({
    kind: fc.constantFrom("take", "take", "give", "limit", "restore"),
    size: fc.integer({ min: 1, max: 6 }),
    pick: fc.nat(50),
  });

  test("are the lowest free ones, whatever was taken, given back, lowered or restored", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120, size: "max" }), (changes) => {
        let semaphore = new Semaphore("s", 10, false, new CopyOnWrite());
        const held: number[][] = [];
        const taken = new Set<number>();
        for (const { kind, size, pick } of changes) {
          if (kind === "take" && semaphore.held + size <= semaphore.limit) {
            const slots = semaphore.take(size);
            expect(slots).toEqual(lowestFree(taken, size));
            for (const slot of slots) taken.add(slot);
            held.push(slots);
          } else if (kind === "give" && held.length > 0) {
            const [slots = []] = held.splice(pick % held.length, 1);
            semaphore.give(slots);
            for (const slot of slots) taken.delete(slot);
          } else if (kind === "limit") semaphore.change().limit = size * 3;
          else if (kind === "restore") {
            const { limit } = semaphore;
            semaphore = new Semaphore("s", limit, false, new CopyOnWrite());
            expect(semaphore.restore(held.flat().reverse())).toBe(true);
          }
          expect(semaphore.held).toBe(taken.size);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("cannot be restored when one is named twice", () => {
    const semaphore = new Semaphore("s", 10, false, new CopyOnWrite());
    expect(semaphore.restore([3, 1, 3])).toBe(false);
  });

  test("cannot be taken beyond the limit", () => {
    const semaphore = new Semaphore("s", 2, false, new CopyOnWrite());
    semaphore.take(2);
    expect(() => semaphore.take(1)).toThrow("2 of 2, 1 more");
  });
});

describe("a semaphore's holds", () => {
  test("have slots of their own, which the next one gets when they end", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const first = a.take(permits("s", 2, 4));
    b.take(permits("s", 1));
    expect(c.acquire(permits("s", 3), -1)).toMatchObject({ status: 2 });
    a.end(first);
    expect(log.table.inspect("s").holds.map(({ slots }) => slots)).toEqual([[2], [0, 1, 3]]);
  });

  test("are granted under the old limit where a step left them to the entry in which it falls", () => {
    const log = new ClusterLog({ grantsPerStepMax: 1 });
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const first = a.take(permits("s", 3, 3));
    for (const waiting of [b, c]) {
      expect(waiting.acquire(permits("s", 1), -1)).toMatchObject({ status: 2 });
    }
    a.end(first);
    expect(log.table.hasQueuedWork).toBe(true);
    expect(log.table.inspect("s").holds.map(({ slots }) => slots)).toEqual([[0]]);
    a.setLimit("s", 1);
    const { limit, holds } = log.table.inspect("s");
    expect({ limit, slots: holds.map(({ slots }) => slots) }).toEqual({
      limit: 1,
      slots: [[0], [1]],
    });
  });

  test("keep slots above a limit that fell, and count all the same", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(permits("s", 2, 4));
    const high = b.take(permits("s", 2));
    a.setLimit("s", 2);
    expect(log.table.inspect("s").holds.map(({ slots }) => slots)).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(b.acquire(permits("s", 1), 0, { task: 2 })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
    b.end(high);
    expect(b.acquire(permits("s", 1), 0, { task: 2 })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
  });
});
