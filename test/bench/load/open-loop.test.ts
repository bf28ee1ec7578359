import { expect, test } from "vitest";
import type { LoadedLock, LoadShape } from "../../../bench/load/load-shapes.js";
import { OpenLoop } from "../../../bench/load/open-loop.js";

/** Grants nothing until it is told to, then everything at once. */
class StalledLocks {
  asked = 0;
  readonly #waiting: (() => void)[] = [];
  #isOpen = false;

  async acquire(): Promise<LoadedLock> {
    this.asked += 1;
    const token = this.asked;
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const lock = {
      items: [{ key: `${token}`, mode: "exclusive" as const, permits: 0, slots: [] }],
      token,
      mode: "exclusive" as const,
      isHeld: true,
      release: async () => {
        lock.isHeld = false;
        return { released: true } as const;
      },
    };
    return lock;
  }

  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting) resolve();
  }
}

const SHAPE: LoadShape<StalledLocks> = { ask: (locks) => locks.acquire() };
const RATE = 200;

function start(locks: StalledLocks, workers: number) {
  return new OpenLoop({ clients: [locks], workers, shape: SHAPE, rate: RATE });
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test("a stall counts for everybody who would have come during it", async () => {
  const locks = new StalledLocks();
  const loop = start(locks, 1);
  // One waits in the service; the others wait for the worker, and have not even been asked for.
  await until(() => loop.backlog >= 20);
  expect(locks.asked).toBe(1);
  const late = loop.backlog;
  locks.open();
  await until(() => loop.backlog === 0);
  await loop.stop();
  expect(loop.cycles).toBeGreaterThan(late);
  expect(loop.startDelays.count).toBe(loop.cycles);
  // Those who came in the middle of it had half of it to wait.
  const stallMs = ((late - 1) / RATE) * 1_000;
  expect(loop.acquireTimes.maxMs).toBeGreaterThanOrEqual(stallMs);
  expect(loop.startDelays.quantileMs(0.5)).toBeGreaterThan(0);
});

test("as many are under way as there are workers, and no more", async () => {
  const locks = new StalledLocks();
  const loop = start(locks, 3);
  await until(() => loop.backlog > 0);
  expect(locks.asked).toBe(3);
  locks.open();
  await until(() => loop.cycles > 3);
  await loop.stop();
  expect(loop.fencingViolations).toBe(0);
  const { cycles } = loop;
  await new Promise((resolve) => setImmediate(resolve));
  expect(loop.cycles).toBe(cycles);
});

test("what was before is not counted", async () => {
  const locks = new StalledLocks();
  const loop = start(locks, 2);
  locks.open();
  await until(() => loop.cycles > 2);
  loop.reset();
  expect([loop.cycles, loop.acquireTimes.count, loop.startDelays.count]).toEqual([0, 0, 0]);
  await loop.stop();
});
