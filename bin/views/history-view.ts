/** The past holds of a lock for people: one line for each, no wider than a terminal of 80 columns. */
import type { Tenure } from "../../src/index.js";
import { type Column, TENURE_COLUMNS } from "../../src/views/index.js";
import { formatRecentTime } from "../text/wall-time.js";

export function tenureColumns(nowMs: number): readonly Column<Tenure>[] {
  const granted: Column<Tenure> = {
    id: "granted",
    title: "Granted",
    // A time is cut no more than a number.
    isNumeric: true,
    cell: ({ grantedWallMs }) => formatRecentTime(grantedWallMs, nowMs),
  };
  return [granted, ...Object.values(TENURE_COLUMNS)];
}
