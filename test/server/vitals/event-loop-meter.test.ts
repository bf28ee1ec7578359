/**
 * Stalls made on purpose. A stall may be reported shorter by as much as the interval between two
 * measurements of an idle loop.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventLoopMeter } from "../../../src/server/vitals/event-loop-meter.js";

const STALL_MS = 500;
const TOLD_MS_MIN = STALL_MS - 2 * 25 - 1;

/** Nothing of the loop runs meanwhile. */
function stall(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}

let meter: EventLoopMeter;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  meter = new EventLoopMeter();
});
afterEach(() => {
  meter.stop();
  vi.useRealTimers();
});

test("a stall right after the beginning of a second is reported", () => {
  stall();
  expect(meter.maxMs).toBeGreaterThan(TOLD_MS_MIN);
  vi.advanceTimersByTime(1_000);
  expect(meter.maxMs).toBeGreaterThan(TOLD_MS_MIN);
});

test("a stall is reported for ten seconds after its own, and then no more", () => {
  vi.advanceTimersByTime(2_000);
  stall();
  vi.advanceTimersByTime(10_000);
  expect(meter.maxMs).toBeGreaterThan(TOLD_MS_MIN);
  vi.advanceTimersByTime(1_000);
  expect(meter.maxMs).toBeLessThan(TOLD_MS_MIN);
});
