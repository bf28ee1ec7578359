import { performance } from "node:perf_hooks";
import { describe, expect, test } from "vitest";
import { LoopScheduler } from "../../../src/server/node/loop-scheduler.js";

const nowMs = (): number => performance.now();

function armed(scheduler: LoopScheduler, atMs: number): Promise<number> {
  return new Promise((resolve) => scheduler.arm(atMs, () => resolve(nowMs())));
}

describe("the scheduler on the event loop", () => {
  test("runs the armed task once, not before its time", async () => {
    const scheduler = new LoopScheduler(nowMs);
    let runs = 0;
    const atMs = nowMs() + 5;
    scheduler.arm(atMs, () => {
      runs += 1;
    });
    await armed(new LoopScheduler(nowMs), atMs + 20);
    expect(runs).toBe(1);
    const laterMs = nowMs() + 5;
    expect(await armed(scheduler, laterMs)).toBeGreaterThanOrEqual(laterMs);
  });

  test("keeps only the last deadline, be it earlier or later than the one before", async () => {
    const scheduler = new LoopScheduler(nowMs);
    const ran: string[] = [];
    const startMs = nowMs();
    scheduler.arm(startMs + 3, () => ran.push("replaced by a later one"));
    const later = armed(scheduler, startMs + 30);
    expect(await later).toBeGreaterThanOrEqual(startMs + 30);
    scheduler.arm(nowMs() + 60_000, () => ran.push("replaced by an earlier one"));
    await armed(scheduler, nowMs());
    expect(ran).toEqual([]);
  });

  test("runs a due task after what lies ready to be read", async () => {
    const order: string[] = [];
    const scheduler = new LoopScheduler(nowMs);
    const done = new Promise<void>((resolve) => {
      scheduler.arm(nowMs() + 1, () => {
        order.push("task");
        resolve();
      });
    });
    // The loop is blocked past the deadline; timers of its next turn come before the check phase.
    const untilMs = nowMs() + 20;
    setTimeout(() => order.push("plain timer"), 1);
    setImmediate(() => order.push("ready input"));
    while (nowMs() < untilMs);
    await done;
    expect(order.at(-1)).toBe("task");
    expect(order).toHaveLength(3);
  });

  test("runs nothing that was disarmed", async () => {
    const scheduler = new LoopScheduler(nowMs);
    let runs = 0;
    scheduler.arm(nowMs(), () => {
      runs += 1;
    });
    scheduler.disarm();
    await armed(new LoopScheduler(nowMs), nowMs() + 10);
    expect(runs).toBe(0);
  });
});
