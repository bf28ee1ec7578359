/** The order of histories, the plan of faults, lost updates: what the harness decides by itself. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { KeptSample } from "../../jepsen-lite/attack/kept-sample.js";
import { LostUpdateFinder } from "../../jepsen-lite/guarded/lost-updates.js";
import type { HistoryEvent } from "../../jepsen-lite/history/history-event.js";
import { HistoryMerger } from "../../jepsen-lite/history/history-merger.js";
import { planFaults } from "../../jepsen-lite/nemeses/schedule.js";

function eventAt(time: number, process = 0): HistoryEvent {
  return { process, type: "invoke", f: "read", time, workload: "register" };
}

test("what clients report in any interleaving is passed on in the order of time, nothing lost", () => {
  const streams = fc.array(fc.array(fc.nat(1_000), { maxLength: 20 }), { maxLength: 6 });
  fc.assert(
    fc.property(streams, fc.infiniteStream(fc.nat()), (times, choices) => {
      const told = times.map((each) => each.toSorted((a, b) => a - b));
      const passed: number[] = [];
      const merger = new HistoryMerger(({ time }) => passed.push(time));
      for (const source of told.keys()) merger.open(`${source}`, 0);
      const rest = told.map((each) => [...each]);
      for (let open = [...told.keys()]; open.length > 0; ) {
        const source = open[choices.next().value % open.length] as number;
        const time = rest[source]?.shift();
        if (time !== undefined) merger.tell(`${source}`, eventAt(time));
        else {
          merger.close(`${source}`);
          open = open.filter((each) => each !== source);
        }
      }
      expect(passed).toEqual(told.flat().toSorted((a, b) => a - b));
      expect(merger.waitingCount).toBe(0);
    }),
  );
});

test("an event waits for a client that is stopped, and passes when that goes on", () => {
  const passed: number[] = [];
  const merger = new HistoryMerger(({ time }) => passed.push(time));
  merger.open("running", 0);
  merger.open("stopped", 0);
  merger.mark("stopped", 5);
  for (const time of [3, 9]) merger.tell("running", eventAt(time));
  expect(passed).toEqual([3]);
  merger.tell("stopped", eventAt(7));
  expect(passed).toEqual([3, 7]);
  merger.mark("stopped", 20);
  expect(passed).toEqual([3, 7, 9]);
});

test("a plan of faults follows from the seed alone, and stays within the run", () => {
  const names = ["kill", "pause", "partition"];
  for (const schedule of ["each", "pairs", "all"] as const) {
    const plan = planFaults(schedule, names, 120_000, 7);
    expect(planFaults(schedule, names, 120_000, 7)).toEqual(plan);
    expect(planFaults(schedule, names, 120_000, 8)).not.toEqual(plan);
    expect(plan.length).toBeGreaterThan(5);
    for (const { startMs, endMs } of plan) expect(startMs).toBeLessThan(endMs);
    expect(Math.max(...plan.map(({ endMs }) => endMs))).toBeLessThan(120_000);
    expect(new Set(plan.map(({ nemesis }) => nemesis))).toEqual(new Set(names));
  }
});

test("alone means alone, pairs come in pairs, and all overlap at some time", () => {
  const most = (schedule: "each" | "pairs" | "all") => {
    const plan = planFaults(schedule, ["a", "b", "c", "d"], 300_000, 3);
    const at = (timeMs: number) =>
      plan.filter(({ startMs, endMs }) => startMs <= timeMs && timeMs < endMs).length;
    return Math.max(...plan.map(({ startMs }) => at(startMs)));
  };
  expect(most("each")).toBe(1);
  expect(most("pairs")).toBe(2);
  expect(most("all")).toBeGreaterThan(2);
});

test("two accepted writes over the same value are a lost update, with both their stories", () => {
  const finder = new LostUpdateFinder();
  const update = (process: number, time: number, from: number, to: number, isWritten = true) => {
    const line = { process, f: "update", key: "k", workload: "guarded-store" } as const;
    finder.event({ ...line, type: "invoke", time, value: { to, token: to } });
    const value = { from, to, token: to, isWritten };
    finder.event({ ...line, type: "ok", time: time + 1_000_000, value });
  };
  update(1, 1_000_000, 0, 10);
  update(2, 3_000_000, 10, 20);
  update(1, 5_000_000, 10, 11, false);
  expect(finder.result).toMatchObject({ accepted: 2, refused: 1, lost: 0, examples: [] });
  update(3, 7_000_000, 10, 30);
  const { lost, examples } = finder.result;
  expect(lost).toBe(1);
  expect(examples[0]).toMatchObject({
    key: "k",
    earlier: { process: 2, from: 10, to: 20, startMs: 3, endMs: 4 },
    later: { process: 3, from: 10, to: 30, startMs: 7, endMs: 8 },
  });
});

test("an update of unknown outcome is neither counted nor held against anybody", () => {
  const finder = new LostUpdateFinder();
  const line = { process: 1, f: "update", key: "k", time: 1, workload: "guarded-store" } as const;
  finder.event({ ...line, type: "invoke", value: { to: 5, token: 1 } });
  finder.event({ ...line, type: "info", error: "killed" });
  expect(finder.result).toMatchObject({ accepted: 0, lost: 0 });
});

test("a sample keeps what is most telling, within its bound", () => {
  const sample = new KeptSample<number>(100, (item) => item);
  for (let item = 0; item < 10_000; item += 1) sample.add((item * 7_919) % 10_000);
  expect(sample.offered).toBe(10_000);
  expect(sample.items.length).toBeLessThanOrEqual(100);
  expect(sample.items.length).toBeGreaterThanOrEqual(50);
  expect(Math.min(...sample.items)).toBeGreaterThanOrEqual(9_900);
});
