/**
 * Who held a lock over time, as bars: one lane per holder, time from left to right. Gives places in
 * parts of the whole, 0 – 1, and draws nothing. Pure.
 */
import type { Tenure } from "../../../src/index.js";

/** Lanes with a holder of their own; all others share the last one. */
const LANES_MAX = 8;
/** No bar is thinner than this part of the whole: the shortest hold stays visible. */
const WIDTH_MIN = 0.004;

export type HeldTenure = Pick<
  Tenure,
  | "session"
  | "sessionName"
  | "identity"
  | "holder"
  | "token"
  | "mode"
  | "grantedWallMs"
  | "heldMs"
  | "reason"
>;

export interface TenureBar {
  readonly tenure: HeldTenure;
  readonly from: number;
  readonly width: number;
}

export interface Lane {
  /** One of its holder's; `undefined` for the lane that others share. */
  readonly holder: HeldTenure | undefined;
  readonly bars: readonly TenureBar[];
}

export interface TenureBars {
  /** The holder of the newest tenure comes first. */
  readonly lanes: readonly Lane[];
  readonly beginWallMs: number;
  readonly endWallMs: number;
}

/** `tenures`: newest first, as `history` gives them. `nowWallMs`: the end of what is held. */
export function tenureBars(tenures: readonly HeldTenure[], nowWallMs: number): TenureBars {
  const begins = tenures.map(({ grantedWallMs }) => grantedWallMs);
  const ends = tenures.map((tenure) => endOf(tenure, nowWallMs));
  const beginWallMs = Math.min(nowWallMs, ...begins);
  const endWallMs = Math.max(beginWallMs + 1, ...ends);
  const wholeMs = endWallMs - beginWallMs;
  const byHolder = new Map<number, HeldTenure[]>();
  for (const tenure of tenures) {
    const known = byHolder.get(tenure.session);
    if (known === undefined) byHolder.set(tenure.session, [tenure]);
    else known.push(tenure);
  }
  const barsOf = (tenuresOfOne: readonly HeldTenure[]): readonly TenureBar[] =>
    tenuresOfOne.map((tenure) => {
      const width = Math.max(
        WIDTH_MIN,
        (endOf(tenure, nowWallMs) - tenure.grantedWallMs) / wholeMs,
      );
      const from = (tenure.grantedWallMs - beginWallMs) / wholeMs;
      return { tenure, from: Math.min(from, 1 - WIDTH_MIN), width: Math.min(width, 1) };
    });
  const holders = [...byHolder.values()];
  const lanes = holders
    .slice(0, LANES_MAX)
    .map((tenuresOfOne): Lane => ({ holder: tenuresOfOne[0], bars: barsOf(tenuresOfOne) }));
  const others = holders.slice(LANES_MAX).flat();
  if (others.length > 0) lanes.push({ holder: undefined, bars: barsOf(others) });
  return { lanes, beginWallMs, endWallMs };
}

/** Cluster time stands still without a leader, so a hold that lasts ends now by the wall. */
function endOf({ reason, grantedWallMs, heldMs }: HeldTenure, nowWallMs: number): number {
  return reason === undefined ? Math.max(nowWallMs, grantedWallMs) : grantedWallMs + heldMs;
}
