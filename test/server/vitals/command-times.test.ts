import { describe, expect, test } from "vitest";
import { OP } from "../../../src/protocol/index.js";
import { CommandTimes } from "../../../src/server/vitals/command-times.js";
import type { Histogram } from "../../../src/server/vitals/histogram.js";

function begin(startMs = 1_000) {
  const clock = { ms: startMs, reads: 0 };
  const nowMs = (): number => {
    clock.reads += 1;
    return clock.ms;
  };
  return { clock, times: new CommandTimes({ nowMs }) };
}

const countOf = (histogram: Histogram, row: number): number =>
  histogram.countsOf(row).reduce((sum, count) => sum + count, 0);

describe("the times of commands", () => {
  test("go from the arrival to the turn that answers, by kind", () => {
    const { clock, times } = begin();
    const { arrivalUs } = times;
    clock.ms += 3;
    times.beginTurn();
    clock.ms += 4;
    times.beginAnswers(0);
    times.answered(OP.acquire, arrivalUs);
    times.answered(OP.end, arrivalUs);
    times.answered(OP.setGrant, arrivalUs);
    const { commands } = times;
    for (const kind of ["acquire", "release", "order"]) {
      const row = commands.rowOf(`kind="${kind}"`);
      expect(countOf(commands, row)).toBe(1);
      expect(commands.sumOf(row)).toBeCloseTo(0.007, 5);
    }
    expect(countOf(commands, commands.rowOf('kind="session"'))).toBe(0);
  });

  test("cost one reading of the clock for all that arrive between two turns", () => {
    const { clock, times } = begin();
    const first = times.arrivalUs;
    for (let i = 0; i < 1_000; i += 1) expect(times.arrivalUs).toBe(first);
    expect(clock.reads).toBe(1);
    times.beginTurn();
    clock.ms += 1;
    expect(times.arrivalUs).not.toBe(first);
    expect(clock.reads).toBe(2);
  });

  test("are right while the microseconds wrap, and beyond all bounds after half an hour", () => {
    const wrapMs = 2 ** 32 / 1_000;
    const { clock, times } = begin(wrapMs - 1);
    const { arrivalUs } = times;
    clock.ms = wrapMs + 1;
    times.beginAnswers(0);
    times.answered(OP.keepalive, arrivalUs);
    const row = times.commands.rowOf('kind="keepalive"');
    expect(times.commands.sumOf(row)).toBeCloseTo(0.002, 5);
    clock.ms += 40 * 60_000;
    times.beginAnswers(0);
    times.answered(OP.keepalive, arrivalUs);
    expect(times.commands.countsOf(row).at(-1)).toBe(1);
  });
});

describe("the times of commits", () => {
  test("go from the proposal to the commit, of each entry once", () => {
    const { clock, times } = begin();
    times.proposed(7, 1_000);
    times.proposed(8, 1_001);
    clock.ms = 1_010;
    times.beginAnswers(7);
    expect(countOf(times.commits, 0)).toBe(1);
    expect(times.commits.sumOf(0)).toBeCloseTo(0.01, 6);
    times.beginAnswers(8);
    times.beginAnswers(9);
    expect(countOf(times.commits, 0)).toBe(2);
    expect(times.commits.sumOf(0)).toBeCloseTo(0.019, 6);
  });

  test("are not of entries of a leader that was deposed, nor of more than it keeps", () => {
    const { times } = begin();
    times.proposed(1, 1_000);
    times.forgetProposed();
    times.beginAnswers(1);
    expect(countOf(times.commits, 0)).toBe(0);
    for (let index = 2; index < 1_000; index += 1) times.proposed(index, 1_000);
    times.beginAnswers(1_000);
    const measured = countOf(times.commits, 0);
    expect(measured).toBeGreaterThan(0);
    expect(measured).toBeLessThan(998);
    times.proposed(1_001, 1_000);
    times.beginAnswers(1_001);
    expect(countOf(times.commits, 0)).toBe(measured + 1);
  });
});
