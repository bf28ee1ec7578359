/** Simulated time: everything in its order, and never backwards. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Timeline } from "../../../lab/simulated/timeline.js";

test("events come by their time, and at the same time in the order in which they were planned", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 })), (times) => {
      const timeline = new Timeline();
      const came: (readonly [number, number])[] = [];
      for (const [at, atMs] of times.entries()) {
        timeline.at(atMs, () => came.push([timeline.nowMs, at]));
      }
      for (let next = timeline.take(20); next !== undefined; next = timeline.take(20)) next.run();
      const planned = times.map((atMs, at) => [atMs, at] as const);
      expect(came).toEqual(planned.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
    }),
  );
});

test("what is not due stays, and time does not move for it", () => {
  const timeline = new Timeline();
  timeline.after(5, () => undefined);
  expect([timeline.take(4), timeline.nowMs, timeline.nextMs]).toEqual([undefined, 0, 5]);
});

test("what is planned for a time that has passed comes at once", () => {
  const timeline = new Timeline();
  timeline.at(3, () => undefined);
  timeline.nowMs = 7;
  timeline.at(6, () => undefined);
  expect(timeline.take(7)?.atMs).toBe(3);
  expect(timeline.take(7)?.atMs).toBe(7);
  expect(timeline.nowMs).toBe(7);
});

test("what plans itself again and again without time is an error", () => {
  const timeline = new Timeline();
  const again = (): void => timeline.after(0, again);
  again();
  const spin = (): void => {
    for (let next = timeline.take(1); next !== undefined; next = timeline.take(1)) next.run();
  };
  expect(spin).toThrow("something spins at 0 ms");
});
