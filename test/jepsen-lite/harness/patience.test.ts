/** How long is waited for what must come, on a machine that may stand still. */
import { expect, test } from "vitest";
import { Patience } from "../../../jepsen-lite/harness/patience.js";

test("what is awaited step by step has its time, and a machine that stands still costs a second", () => {
  let nowMs = 0;
  const patience = new Patience(10_000, () => nowMs);
  const after = (milliseconds: number) => {
    nowMs += milliseconds;
    return patience.lasts();
  };
  expect(after(900)).toBe(true);
  expect(after(600_000), "ten minutes").toBe(true);
  for (let step = 0; step < 8; step += 1) expect(after(1_000)).toBe(true);
  expect(after(200)).toBe(false);
});
