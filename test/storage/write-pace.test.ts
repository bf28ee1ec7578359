/** When the loop writes itself, and when a thread does. */
import { describe, expect, it } from "vitest";
import { WritePace } from "../../src/storage/write-pace.js";

/** How often it writes at once when there is something to write every other ms; each takes `tookMs`. */
function writesAtOnce(pace: WritePace, fromMs: number, untilMs: number, tookMs: number): number {
  let count = 0;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 2) {
    if (!pace.isQuickFor(300, nowMs)) continue;
    count += 1;
    nowMs += tookMs;
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
    expect(writesAtOnce(pace, 0, 1_000, 0.15)).toBeGreaterThan(400);
    pace.onWritten(1.5, 1_000);
    expect(writesAtOnce(pace, 1_002, 2_002, 0.15)).toBeGreaterThan(400);
  });

  it("lets a loop that got its core back late now and then keep writing on the loop", () => {
    const pace = new WritePace();
    for (let write = 1; write <= 1_000; write++) {
      const nowMs = 2 * write;
      expect(pace.isQuickFor(300, nowMs)).toBe(true);
      pace.onWritten(write % 8 === 0 ? 10 : 0.15, nowMs);
    }
  });

  it("pauses when most writes are slow", () => {
    const pace = new WritePace();
    let write = 0;
    for (; write < 500 && pace.isQuickFor(300, 2 * write); write++) {
      pace.onWritten(write % 3 > 0 ? 0.3 : 0.15, 2 * write);
    }
    expect(write).toBeLessThan(40);
  });

  it("pauses at once after a write that hung, and again if the next one is slow", () => {
    const pace = new WritePace();
    pace.onWritten(20, 0);
    expect(pace.isQuickFor(300, 19_999)).toBe(false);
    expect(pace.isQuickFor(300, 20_000)).toBe(true);
    pace.onWritten(0.3, 20_000);
    expect(pace.isQuickFor(300, 20_999)).toBe(false);
    expect(pace.isQuickFor(300, 21_000)).toBe(true);
    pace.onWritten(0.15, 21_000);
    expect(pace.isQuickFor(300, 21_000)).toBe(true);
  });

  it.each([0.27, 0.3, 0.5, 0.8, 2, 8, 30, 500])(
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
    expect(writesAtOnce(pace, 31_000, 32_000, 0.1)).toBeGreaterThan(400);
  });

  it("does not avoid for long a disk that stood still for an hour", () => {
    const pace = new WritePace();
    pace.onWritten(3_600_000, 3_600_000);
    expect(pace.isQuickFor(300, 3_660_000)).toBe(true);
  });
});
