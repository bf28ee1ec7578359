import { expect, test } from "vitest";
import { LocalTurns, Wakeups } from "../../bench/peers/wake-ups.js";

test("turns of one key come one after the other, in order; other keys do not wait", async () => {
  const turns = new LocalTurns();
  const order: string[] = [];
  await turns.take("a");
  const waiting = ["first", "second"].map((name) => turns.take("a").then(() => order.push(name)));
  await turns.take("b");
  expect(order).toEqual([]);
  turns.pass("a");
  await waiting[0];
  expect(order).toEqual(["first"]);
  turns.pass("a");
  await waiting[1];
  turns.pass("a");
  await turns.take("a");
  expect(order).toEqual(["first", "second"]);
});

test("a release that is announced during the attempt is not slept through", async () => {
  const wakeups = new Wakeups();
  const before = wakeups.countOf("a");
  wakeups.announce("a");
  expect(await wakeups.after("a", before)).toBe(true);
});

test("a sleeper is woken by its own key alone, and by itself after a while", async () => {
  const wakeups = new Wakeups();
  const woken = wakeups.after("a", wakeups.countOf("a"));
  wakeups.announce("b");
  wakeups.announce("a");
  expect(await woken).toBe(true);
  const missed = wakeups.after("a", wakeups.countOf("a"));
  wakeups.announce("b");
  expect(await missed).toBe(false);
});
