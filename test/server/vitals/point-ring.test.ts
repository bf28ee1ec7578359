import { describe, expect, test } from "vitest";
import { VITALS_POINTS_MAX } from "../../../src/protocol/index.js";
import { POINT_MS, PointRing } from "../../../src/server/vitals/point-ring.js";

const WALL_MS = 1_000_000;

/** A ring that begins at 0, and the totals from which its points are made. */
function begin() {
  const totals = { grants: 0, waits: 0, failures: 0, lost: 0 };
  let commitP50Ms: number | null = null;
  const source = {
    totals: () => ({ ...totals }),
    takeDistributions: () => {
      const taken = commitP50Ms;
      commitP50Ms = null;
      const times = { commitP50Ms: taken, commitP99Ms: taken, waitP50Ms: null, waitP99Ms: null };
      return { ...times, loopDelayMaxMs: 3 };
    },
  };
  const ring = new PointRing(source, 0);
  return {
    ring,
    totals,
    measure: (ms: number) => {
      commitP50Ms = ms;
    },
    end: (nowMs: number) => ring.end(nowMs, WALL_MS + nowMs),
  };
}

describe("the ring of points", () => {
  test("has a point for each five seconds, of what was done in them", () => {
    const { ring, totals, measure, end } = begin();
    totals.grants = 10;
    totals.lost = 1;
    measure(4);
    end(POINT_MS - 1);
    expect(ring.after(0)).toEqual([]);
    end(POINT_MS);
    totals.grants = 15;
    totals.waits = 2;
    end(2 * POINT_MS + 20);
    expect(ring.after(0)).toMatchObject([
      { wallMs: WALL_MS + POINT_MS, grants: 10, lost: 1, waits: 0, commitP50Ms: 4 },
      { wallMs: WALL_MS + 2 * POINT_MS, grants: 5, lost: 0, waits: 2, commitP50Ms: null },
    ]);
    expect(ring.after(WALL_MS + POINT_MS)).toHaveLength(1);
  });

  test("has points of nothing for the time in which the node had no turns", () => {
    const { ring, totals, measure, end } = begin();
    totals.failures = 3;
    measure(2);
    end(4 * POINT_MS + 1);
    const points = ring.after(0);
    expect(points.map(({ failures }) => failures)).toEqual([3, 0, 0, 0]);
    expect(points.map(({ commitP99Ms }) => commitP99Ms)).toEqual([2, null, null, null]);
    expect(points.map(({ wallMs }) => wallMs - WALL_MS)).toEqual(
      [1, 2, 3, 4].map((number) => number * POINT_MS),
    );
    expect(ring.dueMs).toBe(5 * POINT_MS);
  });

  test("keeps a quarter of an hour, however long the pause was", () => {
    const { ring, totals, end } = begin();
    totals.grants = 1;
    end(POINT_MS);
    end(1_000_000 * POINT_MS);
    const points = ring.after(0);
    expect(points).toHaveLength(VITALS_POINTS_MAX);
    expect(points.at(-1)?.wallMs).toBe(WALL_MS + 1_000_000 * POINT_MS);
    expect(points.every(({ grants }) => grants === 0)).toBe(true);
  });
});
