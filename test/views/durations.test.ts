/** How durations are shown. */
import { expect, test } from "vitest";
import { agoText, formatDuration } from "../../src/views/index.js";

test("a duration is shown with as much as a person needs", () => {
  expect(formatDuration(0)).toBe("0ms");
  expect(formatDuration(-5)).toBe("0ms");
  expect(formatDuration(999.4)).toBe("999ms");
  expect(formatDuration(1_000)).toBe("1s");
  expect(formatDuration(3_240)).toBe("3.2s");
  expect(formatDuration(59_949)).toBe("59.9s");
  expect(formatDuration(59_951)).toBe("1m 00s");
  expect(formatDuration(125_000)).toBe("2m 05s");
  expect(formatDuration(3_599_600)).toBe("1h 00m");
  expect(formatDuration(3 * 3_600_000 + 7 * 60_000)).toBe("3h 07m");
  expect(formatDuration(2 * 86_400_000 + 4 * 3_600_000)).toBe("2d 04h");
  expect(formatDuration(0.42)).toBe("0.4ms");
  expect(formatDuration(3.04)).toBe("3ms");
  expect(formatDuration(9.96)).toBe("10ms");
});

test("how long ago something was is said roughly, so that it seldom changes", () => {
  const at = [-5, 900, 59_999, 60_000, 3_599_999, 3_600_000, 47 * 3_600_000, 49 * 3_600_000];
  expect(at.map(agoText)).toEqual([
    ...["0s ago", "0s ago", "59s ago", "1m ago", "59m ago", "1h ago", "47h ago", "2d ago"],
  ]);
});
