/**
 * What the node did in each five seconds of the last quarter of an hour. A point is made from the
 * difference of totals, when the first turn after its end begins or somebody asks: it needs no timer,
 * because a node without turns does nothing.
 */
import { VITALS_POINTS_MAX, type VitalsPoint } from "../../protocol/index.js";

/** The time of one point. */
export const POINT_MS = 5_000;

/** Since the node has caught up: zero before the first point. */
export interface PointTotals {
  readonly grants: number;
  readonly waits: number;
  readonly failures: number;
  readonly lost: number;
}

/** What a point has besides differences of totals. */
export type PointDistributions = Pick<
  VitalsPoint,
  "commitP50Ms" | "commitP99Ms" | "waitP50Ms" | "waitP99Ms" | "loopDelayMaxMs"
>;

export interface PointSource {
  totals(): PointTotals;
  /** The distributions of what was measured since the last call. */
  takeDistributions(): PointDistributions;
}

const NOTHING: PointTotals = Object.freeze({ grants: 0, waits: 0, failures: 0, lost: 0 });

export class PointRing {
  readonly #source: PointSource;
  readonly #points: VitalsPoint[] = [];
  #before: PointTotals;
  #dueMs: number;

  constructor(source: PointSource, nowMs: number) {
    this.#source = source;
    this.#before = NOTHING;
    this.#dueMs = nowMs + POINT_MS;
  }

  /** When the current point ends. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** The points that ended after that wall time, oldest first. */
  after(wallMs: number): VitalsPoint[] {
    return this.#points.filter((point) => point.wallMs > wallMs);
  }

  /** Ends the points whose time is over. `wallMs`: the wall clock now. */
  end(nowMs: number, wallMs: number): void {
    const ended = Math.floor((nowMs - this.#dueMs) / POINT_MS) + 1;
    if (ended <= 0) return;
    const totals = this.#source.totals();
    const measured = this.#source.takeDistributions();
    // What was done until now belongs to the first: there was no turn after its end.
    const first = difference(totals, this.#before);
    const idle: PointDistributions = {
      ...{ commitP50Ms: null, commitP99Ms: null, waitP50Ms: null, waitP99Ms: null },
      loopDelayMaxMs: measured.loopDelayMaxMs,
    };
    for (let at = Math.max(0, ended - VITALS_POINTS_MAX); at < ended; at += 1) {
      const endMs = Math.round(wallMs - (nowMs - this.#dueMs) + at * POINT_MS);
      const did = at === 0 ? { ...first, ...measured } : { ...NOTHING, ...idle };
      if (this.#points.length === VITALS_POINTS_MAX) this.#points.shift();
      this.#points.push({ wallMs: endMs, ...did });
    }
    this.#before = totals;
    this.#dueMs += ended * POINT_MS;
  }
}

function difference(now: PointTotals, before: PointTotals): PointTotals {
  return {
    grants: now.grants - before.grants,
    waits: now.waits - before.waits,
    failures: now.failures - before.failures,
    lost: now.lost - before.lost,
  };
}
