/** When the loop writes itself, and when a thread does. */
import { describe, expect, it } from "vitest";
import { WritePace } from "../../src/storage/write-pace.js";

/** Writes at once whenever that is advised, for so long; each takes `tookMs`, and there is one every other ms. */
function writesAtOnce(pace: WritePace, fromMs: number, untilMs: number, tookMs: number): number {
  let count = 0;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 2) {
    if (!pace.isQuickFor(300, nowMs)) continue;
    count += 1;
    pace.onWritten(tookMs, nowMs);
  }
  return count;
}

describe("the pace of writes", () => {
  it("writes small records at once from the beginning, large ones never", () => {
    const pace = new WritePace();
    expect(pace.isQuickFor(300, 0)).toBe(true);
    expect(pace.isQuickFor(64 << 10, 0)).toBe(true);
    expect(pace.isQuickFor((64 << 10) + 1, 0)).toBe(false);
  });

  it("goes on on a quick disk, and does not mind a straggler", () => {
    const pace = new WritePace();
    expect(writesAtOnce(pace, 0, 1_000, 0.15)).toBe(500);
    pace.onWritten(5, 1_000);
    expect(writesAtOnce(pace, 1_002, 2_002, 0.15)).toBe(500);
  });

  it.each([0.8, 2, 8, 30])(
    "stops the loop for 2 %% of the time at most, with %d ms a write",
    (ms) => {
      const pace = new WritePace();
      const spentMs = writesAtOnce(pace, 0, 600_000, ms) * ms;
      expect(spentMs / 600_000).toBeLessThan(0.02);
    },
  );

  it("asks again, and takes it up when the disk is quick again", () => {
    const pace = new WritePace();
    pace.onWritten(30, 1_000);
    expect(pace.isQuickFor(300, 30_999)).toBe(false);
    expect(writesAtOnce(pace, 31_000, 32_000, 0.1)).toBe(500);
  });
});
