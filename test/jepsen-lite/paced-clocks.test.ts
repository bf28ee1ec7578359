/** Clocks of a process that a fault gives another rate. */
import { expect, test } from "vitest";

const PRELOAD = new URL("../../jepsen-lite/clocks/preload.js", import.meta.url).href;

interface Preload {
  pacedClock(now: () => number): { show: () => number; setRate: (rate: number) => void };
}

test("a clock of another rate goes on from where it is, and back to the true rate", async () => {
  const { pacedClock } = (await import(PRELOAD)) as Preload;
  let trueNow = 1_000;
  const { show, setRate } = pacedClock(() => trueNow);
  expect(show()).toBe(1_000);
  setRate(0.9);
  expect(show()).toBe(1_000);
  trueNow += 1_000;
  expect(show()).toBeCloseTo(1_900);
  setRate(1.1);
  expect(show()).toBeCloseTo(1_900);
  trueNow += 1_000;
  expect(show()).toBeCloseTo(3_000);
  setRate(1);
  trueNow += 500;
  expect(show()).toBeCloseTo(3_500);
});
