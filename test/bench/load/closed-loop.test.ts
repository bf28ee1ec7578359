import { expect, test } from "vitest";
import { ClosedLoop } from "../../../bench/load/closed-loop.js";
import type { LoadedLock, LoadShape } from "../../../bench/load/load-shapes.js";
import { measureLoad } from "../../../bench/load/load-window.js";

type Grant = Pick<LoadedLock, "items" | "token">;

/** Locks of this process: each request is granted as `decide` says, in a turn of its own or not. */
class LocalLocks {
  held = 0;
  heldMax = 0;
  readonly #decide: (number: number) => Grant;
  #count = 0;

  constructor(decide: (number: number) => Grant) {
    this.#decide = decide;
  }

  acquire(): LoadedLock {
    this.#count += 1;
    const { items, token } = this.#decide(this.#count);
    this.held += 1;
    this.heldMax = Math.max(this.heldMax, this.held);
    const lock = {
      items,
      token,
      mode: items[0]?.mode ?? "exclusive",
      isHeld: true,
      release: async () => {
        lock.isHeld = false;
        this.held -= 1;
        await new Promise((resolve) => setImmediate(resolve));
        return { released: true } as const;
      },
    };
    return lock;
  }
}

const SHAPE: LoadShape<LocalLocks> = {
  ask: async (locks) => locks.acquire(),
  kindOf: ({ mode }) => mode,
  isKeptForATurn: true,
};
const NONE = { token: 0, overlap: 0, limit: 0, slot: 0 };

function item(key: string, mode: "exclusive" | "shared"): Grant["items"][number] {
  return { key, mode, permits: 0, slots: [] };
}

/** Runs workers on one service until enough cycles are done. */
async function run(locks: LocalLocks, workers: number, shape = SHAPE) {
  const loop = new ClosedLoop({ clients: [locks], workers, shape });
  while (loop.cycles < 50) await new Promise((resolve) => setImmediate(resolve));
  await loop.stop();
  return loop;
}

test("a service that grants one lock to two at once is found out", async () => {
  const locks = new LocalLocks((token) => ({ token, items: [item("a", "exclusive")] }));
  const { violations, fencingViolations } = await run(locks, 2);
  expect(locks.heldMax).toBe(2);
  expect(violations.overlap).toBeGreaterThan(0);
  expect(fencingViolations).toBe(violations.overlap);
});

test("a service that repeats a token is found out", async () => {
  const locks = new LocalLocks(() => ({ token: 7, items: [item("a", "exclusive")] }));
  expect((await run(locks, 1)).violations.token).toBeGreaterThan(0);
});

test("a service that keeps to the rules is not, and everything is given back at the end", async () => {
  const locks = new LocalLocks((token) => ({ token, items: [item("a", "shared")] }));
  const loop = await run(locks, 4);
  expect(loop.violations).toEqual(NONE);
  expect(locks.heldMax).toBe(4);
  expect(locks.held).toBe(0);
});

test("a worker that does not wait for its release asks for the next lock at once", async () => {
  /** Confirms the releases, oldest first; grants come at once. */
  const confirm: (() => void)[] = [];
  let asked = 0;
  const shape: LoadShape<object> = {
    isReleaseAwaited: false,
    ask: async () => {
      asked += 1;
      const token = asked;
      if (token > 3) await new Promise<void>((resolve) => confirm.push(resolve));
      return {
        items: [item(`${token}`, "exclusive")],
        token,
        mode: "exclusive",
        isHeld: true,
        release: () => {
          return new Promise((resolve) => confirm.push(() => resolve({ released: true })));
        },
      };
    },
  };
  const loop = new ClosedLoop({ clients: [{}], workers: 1, shape });
  while (asked < 4) await new Promise((resolve) => setImmediate(resolve));
  // Three locks were taken and none of their releases is confirmed.
  expect([confirm.length, loop.cycles]).toEqual([4, 0]);
  const stopped = loop.stop();
  for (let next = confirm.shift(); next !== undefined; next = confirm.shift()) {
    next();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await stopped;
  expect(loop.cycles).toBe(4);
});

test("times are reported by kind, and for all kinds together", async () => {
  const locks = new LocalLocks((token) => {
    return { token, items: [item(`${token}`, token % 10 === 0 ? "exclusive" : "shared")] };
  });
  const { acquireTimes, acquireTimesByKind } = await run(locks, 1);
  const counts = ["exclusive", "shared"].map((kind) => acquireTimesByKind.get(kind)?.count ?? 0);
  expect([...acquireTimesByKind.keys()].sort()).toEqual(["exclusive", "shared"]);
  expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(acquireTimes.count);
  expect(counts[0]).toBe(Math.floor(acquireTimes.count / 10));
});

test("a measured stretch has the documented fields, and counts nothing that was before it", async () => {
  const locks = new LocalLocks((token) => ({ token, items: [item(`${token}`, "exclusive")] }));
  const loop = await run(locks, 1);
  const stopped = await measureLoad(loop, [], 1, new AbortController().signal);
  const nothing = { p50: 0, p99: 0, p999: 0, max: 0 };
  expect(stopped).toEqual({
    seconds: expect.any(Number),
    cyclesPerSecond: 0,
    acquireMs: nothing,
    acquireMsByKind: {},
    cpuSecondsPerProcess: {},
    diskBytes: null,
    residentMiB: { start: {}, end: {} },
    cpuMicrosPerCycle: {},
  });
});
