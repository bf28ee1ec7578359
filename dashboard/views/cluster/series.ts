/** What the charts of the cluster show, from what its nodes keep of the last quarter of an hour. Pure. */
import type { VitalsPoint } from "../../../src/index.js";
import type { NodeHealth } from "./cluster-facts.js";

/** The time between two points of a node. */
const POINT_MS = 5_000;
const POINT_SECONDS = POINT_MS / 1_000;

export interface ClusterSeries {
  readonly times: readonly number[];
  /** A second, over five seconds each. */
  readonly grants: readonly (number | null)[];
  readonly waits: readonly (number | null)[];
  readonly failures: readonly (number | null)[];
  readonly commitP50Ms: readonly (number | null)[];
  readonly commitP99Ms: readonly (number | null)[];
  readonly waitP50Ms: readonly (number | null)[];
  readonly waitP99Ms: readonly (number | null)[];
}

/**
 * Every node applies the same log, so what happened to locks is the same on each: it is taken from
 * the node with the most points. How long commits took only a leader knows, so each time has the
 * value of the node that led then.
 */
export function seriesOf(nodes: readonly NodeHealth[]): ClusterSeries {
  const all = nodes.map(({ vitals }) => vitals?.points ?? []);
  const longest = all.reduce((best, one) => (one.length > best.length ? one : best), []);
  const leading = new Map<number, VitalsPoint>();
  for (const point of all.flat()) {
    if (point.commitP99Ms !== null) leading.set(slotOf(point), point);
  }
  const column = (read: (point: VitalsPoint) => number | null): (number | null)[] =>
    longest.map(read);
  const rate = (field: "grants" | "waits" | "failures"): (number | null)[] =>
    column((point) => point[field] / POINT_SECONDS);
  return {
    times: longest.map(({ wallMs }) => wallMs),
    grants: rate("grants"),
    waits: rate("waits"),
    failures: rate("failures"),
    commitP50Ms: column((point) => leading.get(slotOf(point))?.commitP50Ms ?? null),
    commitP99Ms: column((point) => leading.get(slotOf(point))?.commitP99Ms ?? null),
    waitP50Ms: column(({ waitP50Ms }) => waitP50Ms),
    waitP99Ms: column(({ waitP99Ms }) => waitP99Ms),
  };
}

/** Nodes begin their five seconds at different moments. */
function slotOf({ wallMs }: VitalsPoint): number {
  return Math.floor(wallMs / POINT_MS);
}
