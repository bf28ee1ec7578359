/** The past holds of a lock in a terminal. */
import { expect, test } from "vitest";
import { displayWidth } from "../../../bin/text/display-width.js";
import { tenureColumns } from "../../../bin/views/history-view.js";
import { plainViewLines } from "../../../bin/views/view-table.js";
import type { Tenure } from "../../../src/index.js";

const at = (year: number, month: number): number =>
  new Date(year, month - 1, 20, 19, 37, 59, 120).getTime();

const TENURE = {
  ...{ key: "k", mode: "exclusive", token: 3764817043128320, session: 1, task: 1, sequence: 1 },
  ...{ sessionName: "billing-7.eu-central.example", identity: "billing", holder: "session" },
  ...{ heldMs: 125_000, waitedMs: 3_200, orderedBy: "", reason: "released" },
} as unknown as Tenure;

test("80 columns cut no time and no token, whatever the holder is called", () => {
  const [now, recent] = [at(2026, 11), { ...TENURE, grantedWallMs: at(2026, 2) }];
  const lines = plainViewLines(tenureColumns(now), [recent], 80);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
  expect(lines[1]).toMatch(/^02-20 19:37:59 .*… *.* 3764817043128320$/);
});

test("the year of a time is left out only if it is this one", () => {
  const times = [at(2026, 1), at(2025, 12)].map((grantedWallMs) => ({ ...TENURE, grantedWallMs }));
  const lines = plainViewLines(tenureColumns(at(2026, 11)), times, Number.POSITIVE_INFINITY);
  expect(lines.map((line) => line.slice(0, 19))).toEqual([
    "            GRANTED",
    "     01-20 19:37:59",
    "2025-12-20 19:37:59",
  ]);
});
