import { describe, expect, it } from "vitest";
import {
  isWanted,
  LOCK_FILTERS,
  lockListPlace,
  lockListQuery,
  PAGE_KEYS,
  readLockPage,
  sortedRows,
} from "../../../dashboard/views/locks/lock-rows.js";
import type { HoldView, KeysView, KeyView, WaiterView } from "../../../src/index.js";
import { lockRow } from "../../../src/views/index.js";

const WAITER = { session: 9 } as WaiterView;

function hold(parts: Partial<HoldView> = {}): HoldView {
  return {
    token: 7,
    mode: "exclusive",
    session: 3,
    sessionName: "worker",
    identity: "anonymous",
    heldMs: 100,
    leaseMs: 900,
    permits: 1,
    ...parts,
  } as HoldView;
}

function key(name: string, parts: Partial<KeyView> = {}): KeyView {
  return {
    key: name,
    kind: "lock",
    limit: 0,
    holds: [hold()],
    waiters: [],
    cooldowns: [],
    ...parts,
  };
}

/** A cluster with those keys, which counts what it is asked. */
function cluster(keys: readonly KeyView[]) {
  const asked: number[] = [];
  const read = async (after: string | undefined, limit: number): Promise<KeysView> => {
    asked.push(limit);
    const from = after === undefined ? 0 : keys.findIndex((one) => one.key === after) + 1;
    const page = keys.slice(from, from + limit);
    const isEnd = from + limit >= keys.length;
    return { keys: page, next: isEnd ? null : (page.at(-1)?.key ?? null) };
  };
  return { read, asked };
}

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `k${String(i).padStart(5, "0")}`);

describe("a page of the list of locks", () => {
  it("is one question of a hundred without a filter", async () => {
    const { read, asked } = cluster(names(250).map((name) => key(name)));
    const first = await readLockPage(read, "all", undefined);
    expect(first.rows).toHaveLength(PAGE_KEYS);
    const second = await readLockPage(read, "all", first.next ?? undefined);
    expect(second.rows[0]?.key).toBe("k00100");
    const third = await readLockPage(read, "all", second.next ?? undefined);
    expect(third).toMatchObject({ next: null, scanned: 50 });
    expect(asked).toEqual([100, 100, 100]);
  });

  it("with a filter skips no key and shows none twice, over all pages", async () => {
    const all = names(3_000).map((name, i) => key(name, i % 7 === 0 ? { waiters: [WAITER] } : {}));
    const { read } = cluster(all);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await readLockPage(read, "contended", after);
      seen.push(...page.rows.map((row) => row.key));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(all.filter(({ waiters }) => waiters.length > 0).map((one) => one.key));
  });

  it("with a filter that fits nothing looks at two thousand keys and says so", async () => {
    const { read, asked } = cluster(names(100_000).map((name) => key(name)));
    const page = await readLockPage(read, "contended", undefined);
    expect(page).toMatchObject({ rows: [], scanned: 2_000, next: "k01999" });
    expect(asked).toHaveLength(10);
  });

  it("ends where the keys end, though it is just full", async () => {
    const all = names(PAGE_KEYS).map((name) => key(name, { waiters: [WAITER] }));
    expect((await readLockPage(cluster(all).read, "contended", undefined)).next).toBeNull();
  });
});

describe("sorting a page", () => {
  const rows = [
    lockRow(key("a", { holds: [hold({ heldMs: 5, sessionName: "z" })], waiters: [WAITER] })),
    lockRow(key("b", { holds: [] })),
    lockRow(key("c", { holds: [hold({ heldMs: 9, sessionName: "y" })] })),
    lockRow(key("d", { holds: [hold({ heldMs: 5, sessionName: "x" })] })),
  ];
  const order = (column: Parameters<typeof sortedRows>[1], isDescending = false): string =>
    sortedRows(rows, column, isDescending)
      .map((row) => row.key)
      .join("");

  it("goes by what the column shows, and by name where that is equal", () => {
    expect(order("key")).toBe("abcd");
    expect(order("key", true)).toBe("dcba");
    expect(order("since")).toBe("badc");
    expect(order("holder")).toBe("bdca");
    expect(order("waiters", true)[0]).toBe("a");
  });
});

describe("the address of the list", () => {
  it("says all of it, and what it does not know is the default", () => {
    const text = "prefix=a%2F&show=contended&sort=-waiters&after=x&after=y";
    const place = lockListPlace(new URLSearchParams(text));
    expect(place).toEqual({
      prefix: "a/",
      filter: "contended",
      sort: "waiters",
      isDescending: true,
      after: ["x", "y"],
    });
    expect(lockListQuery(place).toString()).toBe(text);
    const odd = lockListPlace(new URLSearchParams("sort=-colour&show=<b>"));
    expect(odd).toMatchObject({ filter: "all", sort: "key", after: [] });
    expect(lockListQuery(lockListPlace(new URLSearchParams())).toString()).toBe("");
  });

  it("has a filter for everything and one for nothing but the queue", () => {
    const row = lockRow(key("k"));
    expect(LOCK_FILTERS.filter((filter) => isWanted(row, filter))).toEqual(["all", "held"]);
  });
});
