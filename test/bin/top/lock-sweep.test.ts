/** The look through a table of locks that is larger than one step. */
import { expect, test } from "vitest";
import { ROWS_MAX, type Sort } from "../../../bin/top/cluster-facts.js";
import { LockSweep } from "../../../bin/top/lock-sweep.js";
import type { KeyView } from "../../../src/index.js";
import { keyView } from "./top-world.js";

const { signal } = new AbortController();
const now = (): number => 1;
const nameOf = (at: number): string => `k${String(at).padStart(6, "0")}`;

/** A table whose contents the test changes, and how many of its keys were read. */
class Table {
  readonly views = new Map<string, KeyView>();
  readsTotal = 0;
  failure: Error | undefined;

  constructor(count: number, waitersOf: (at: number) => number = () => 0) {
    for (let at = 0; at < count; at += 1) this.set(nameOf(at), waitersOf(at));
  }

  set(key: string, waiters: number): void {
    this.views.set(key, keyView({ key, waiters }));
  }

  readonly query = async function* (this: Table, prefix: string): AsyncGenerator<KeyView> {
    for (const key of [...this.views.keys()].sort()) {
      if (this.failure !== undefined) throw this.failure;
      if (!key.startsWith(prefix)) continue;
      this.readsTotal += 1;
      yield this.views.get(key) ?? keyView({ key });
    }
  }.bind(this);

  sweep(sort: Sort, stepKeys: number): LockSweep {
    return new LockSweep(this.query, "", sort, stepKeys);
  }
}

test("each step reads no more than its number of keys, and the order is settled among all", async () => {
  const table = new Table(5_000, (at) => (at === 4_321 ? 9 : at % 2));
  const sweep = table.sweep("waiters", 1_000);
  const first = await sweep.step(signal, now);
  expect(table.readsTotal).toBe(1_000);
  expect([first.total, first.counted, first.rows[0]?.waiters]).toEqual([undefined, 1_000, 1]);
  for (let step = 0; step < 5; step += 1) await sweep.step(signal, now);
  expect(table.readsTotal).toBe(5_000);
  const all = sweep.seen(1);
  expect([all.total, all.rows.length, all.rows[0]?.key]).toEqual([5_000, ROWS_MAX, nameOf(4_321)]);
});

test("a second look replaces the first one lock by lock, and drops what is gone", async () => {
  const table = new Table(300, (at) => (at === 10 ? 5 : at === 200 ? 3 : 0));
  const sweep = table.sweep("waiters", 100);
  for (let step = 0; step < 4; step += 1) await sweep.step(signal, now);
  table.views.delete(nameOf(10));
  table.set(nameOf(20), 4);
  const seen = await sweep.step(signal, now);
  expect(seen.rows.slice(0, 2).map(({ key }) => key)).toEqual([nameOf(20), nameOf(200)]);
  expect(seen.total).toBe(300);
});

test("by name only the first lines are read, again in every step", async () => {
  const table = new Table(5_000);
  const sweep = table.sweep("key", 2_000);
  const seen = await sweep.step(signal, now);
  expect([seen.rows.length, seen.total, table.readsTotal]).toEqual([ROWS_MAX, undefined, 1_001]);
  table.set("a", 0);
  expect((await sweep.step(signal, now)).rows[0]?.key).toBe("a");
  expect((await sweep.whole(signal, now)).total).toBe(5_001);
});

test("views of the lines on the screen replace them between two steps", async () => {
  const table = new Table(300, (at) => (at === 10 ? 5 : 0));
  const sweep = table.sweep("waiters", 100);
  await sweep.step(signal, now);
  expect(sweep.isFresh).toBe(false);
  const free = { key: nameOf(11), kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };
  sweep.refresh([keyView({ key: nameOf(12), waiters: 7 }), free]);
  const keys = sweep.seen(1).rows.map(({ key }) => key);
  expect(keys.slice(0, 2)).toEqual([nameOf(12), nameOf(10)]);
  expect(keys).not.toContain(nameOf(11));
});

test("a look that fails begins again with the next step", async () => {
  const table = new Table(300);
  const sweep = table.sweep("waiters", 100);
  await sweep.step(signal, now);
  table.failure = new Error("gone");
  await expect(sweep.step(signal, now)).rejects.toThrow("gone");
  table.failure = undefined;
  expect((await sweep.whole(signal, now)).total).toBe(300);
});

test("a table that one step covers is fresh after each", async () => {
  const sweep = new Table(50).sweep("held", 100);
  expect((await sweep.step(signal, now)).total).toBe(50);
  expect(sweep.isFresh).toBe(true);
  expect((await sweep.step(signal, now)).total).toBe(50);
});
