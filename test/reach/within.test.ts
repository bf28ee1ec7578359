/** The time limit of one task, also while nobody but the task knows of it. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { isLate, within } from "../../src/reach/within.js";

/** Rejects with the reason when the signal is aborted. */
function waiting(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

test("a task that is done in time leaves no timer behind", async () => {
  vi.useFakeTimers();
  const done = await within(60_000, new AbortController().signal, async () => "done");
  expect([done, vi.getTimerCount()]).toEqual(["done", 0]);
  vi.useRealTimers();
});

test("a task that is late fails as such, whatever was collected meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const late = within(50, undefined, (signal) => waiting(signal));
  late.catch(() => undefined);
  for (let round = 0; round < 5; round += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(late).rejects.toMatchObject({ name: "TimeoutError" });
});

test("the signal of the caller ends it at once, also when it was aborted before", async () => {
  const controller = new AbortController();
  const ended = within(60_000, controller.signal, waiting);
  controller.abort(new Error("enough"));
  await expect(ended).rejects.toThrow("enough");
  await expect(within(60_000, controller.signal, waiting)).rejects.toThrow("enough");
});

test("only the end of its own time makes a task late", async () => {
  const controller = new AbortController();
  controller.abort(new DOMException("the caller's time is over", "TimeoutError"));
  const seen: boolean[] = [];
  const look = async (signal: AbortSignal) => {
    await waiting(signal).catch(() => seen.push(isLate(signal)));
  };
  await within(1, undefined, look);
  await within(60_000, controller.signal, look);
  expect(seen).toEqual([true, false]);
});
