import { expect, test } from "vitest";
import { BurstLoop } from "../../../bench/load/burst-loop.js";
import type { LoadedLock, LoadShape } from "../../../bench/load/load-shapes.js";

/** Grants in a later turn, and notes what it was asked. */
class NotedLocks {
  readonly notes: string[];

  constructor(notes: string[]) {
    this.notes = notes;
  }

  async acquire(token: number): Promise<LoadedLock> {
    this.notes.push("take");
    await new Promise((resolve) => setImmediate(resolve));
    const lock = {
      items: [{ key: `${token}`, mode: "exclusive" as const, permits: 0, slots: [] }],
      token,
      mode: "exclusive" as const,
      isHeld: true,
      release: async () => {
        this.notes.push("release");
        lock.isHeld = false;
        return { released: true } as const;
      },
    };
    return lock;
  }
}

/**
 * Runs until `takes` have begun. Returns how many takes each burst had before its first release.
 */
async function burstsOf(rate: number, takes: number, clients = 1) {
  const notes: string[][] = Array.from({ length: clients }, () => []);
  const all: string[] = [];
  let asked = 0;
  const shape: LoadShape<NotedLocks> = {
    ask: (locks) => {
      asked += 1;
      all.push("take");
      return locks.acquire(asked);
    },
  };
  const loop = new BurstLoop({ clients: notes.map((each) => new NotedLocks(each)), shape, rate });
  while (asked < takes) await new Promise((resolve) => setImmediate(resolve));
  await loop.stop();
  expect(loop.cycles).toBe(asked);
  const bursts = notes.map((each) =>
    (each.join(" ").match(/(?:take ?)+(?:release ?)+/g) ?? []).map((burst) => {
      const [took, released] = ["take", "release"].map((word) => burst.split(word).length - 1);
      expect(released).toBe(took);
      return took;
    }),
  );
  return bursts;
}

test("cycles begin together, and the next ones when all of them have ended", async () => {
  expect(await burstsOf(200, 30)).toEqual([[10, 10, 10]]);
});

test("a rate that does not fill a burst with whole cycles is kept over several", async () => {
  expect(await burstsOf(30, 6)).toEqual([[1, 2, 1, 2]]);
});

test("each client has the same part of every burst", async () => {
  expect(await burstsOf(120, 12, 3)).toEqual([
    [2, 2],
    [2, 2],
    [2, 2],
  ]);
});
