/** Clocks of a process in simulated time, and the timers that run by them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ProcessClock } from "../../../lab/simulated/process-clock.js";
import { ProcessLife } from "../../../lab/simulated/process-life.js";
import { Timeline } from "../../../lab/simulated/timeline.js";

const OPTIONS = { zeroMs: 500, rate: 1.001, wallMs: 1_000_000 };

function runUntil(timeline: Timeline, untilMs: number): void {
  for (let next = timeline.take(untilMs); next !== undefined; next = timeline.take(untilMs)) {
    next.run();
  }
  timeline.nowMs = untilMs;
}

test("a timer comes when the clock shows its time, not before and not a moment later", () => {
  const delays = fc.double({ min: 0, max: 1e5, noNaN: true });
  const rates = fc.double({ min: 0.99, max: 1.01, noNaN: true });
  fc.assert(
    fc.property(delays, delays, rates, (beganMs, delayMs, rate) => {
      const timeline = new Timeline();
      timeline.nowMs = beganMs;
      const clock = new ProcessClock(timeline, { ...OPTIONS, rate });
      const dueMs = clock.nowMs() + delayMs;
      let cameMs = Number.NaN;
      clock.timer(
        delayMs,
        (task) => task(),
        () => {
          cameMs = clock.nowMs();
        },
      );
      runUntil(timeline, 3e5);
      expect(cameMs).toBeGreaterThanOrEqual(dueMs - 1e-6);
      expect(cameMs).toBeLessThan(dueMs + 0.002);
    }),
  );
});

test("a machine that sleeps stops the monotonic clock and its timers, and no other clock", () => {
  const timeline = new Timeline();
  const clock = new ProcessClock(timeline, { zeroMs: 0, rate: 1, wallMs: 1_000 });
  const life = new ProcessLife(timeline);
  let cameMs = Number.NaN;
  clock.timer(
    10,
    (task) => life.deliver(task),
    () => {
      cameMs = timeline.nowMs;
    },
  );
  runUntil(timeline, 4);
  clock.sleep();
  life.pause();
  runUntil(timeline, 50);
  expect([clock.isAsleep, clock.nowMs(), clock.withSleepMs(), clock.wallMs()]).toEqual([
    true,
    4,
    50,
    1_050,
  ]);
  expect(cameMs).toBeNaN();
  clock.wake();
  life.resume();
  runUntil(timeline, 100);
  expect([clock.nowMs(), cameMs]).toEqual([54, 56]);
});

test("a timer that was called off does nothing, even when it is on its way", () => {
  const timeline = new Timeline();
  const clock = new ProcessClock(timeline, OPTIONS);
  const onItsWay: (() => void)[] = [];
  let came = 0;
  const cancel = clock.timer(
    10,
    (task) => onItsWay.push(task),
    () => {
      came += 1;
    },
  );
  runUntil(timeline, 20);
  cancel();
  for (const task of onItsWay) task();
  expect([onItsWay.length, came]).toEqual([1, 0]);
});
