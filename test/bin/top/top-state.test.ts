/** Where the user of `holdfast top` is, key by key, while what is shown changes underneath. */
import { describe, expect, test } from "vitest";
import { shownLocks, type TopEvent } from "../../../bin/top/top-state.js";
import { AT_MS, keyView, type LockOf, locksSeen, next, stateAfter } from "./top-world.js";

const SIZE = { columns: 80, rows: 10 };
const ROWS = 4;
const names = (count: number): LockOf[] =>
  Array.from({ length: count }, (_, at) => ({ key: `k${String(at).padStart(3, "0")}` }));
const seen = (locks: readonly LockOf[], more = {}): TopEvent => {
  return { type: "locks", seen: locksSeen(locks, more) };
};
const press = (key: string, times: number): string[] => Array<string>(times).fill(key);

describe("the cursor", () => {
  const state = stateAfter(SIZE, seen(names(10)));

  test("moves by lines, pages and to the ends, and the table scrolls just enough to show it", () => {
    const shown = (...keys: string[]) => {
      const later = next(state, ...keys);
      return [later.selected, ...shownLocks(later).map(({ key }) => key)];
    };
    expect(shown()).toEqual(["k000", "k000", "k001", "k002", "k003"]);
    expect(shown(...press("down", 3))).toEqual(["k003", "k000", "k001", "k002", "k003"]);
    expect(shown(...press("down", 4))).toEqual(["k004", "k001", "k002", "k003", "k004"]);
    expect(shown("end")).toEqual(["k009", "k006", "k007", "k008", "k009"]);
    expect(shown("end", "pageUp")).toEqual(["k005", "k005", "k006", "k007", "k008"]);
    expect(shown("end", "home")[0]).toBe("k000");
    expect(shown(...press("up", 2))[0]).toBe("k000");
    expect(shown(...press("pageDown", 9))[0]).toBe("k009");
  });

  test("stays on its lock when lines change places, and near it when the lock is gone", () => {
    const on = next(state, "down", "down");
    expect(on.selected).toBe("k002");
    const turned = next(on, seen([...names(10)].reverse()));
    expect(turned.selected).toBe("k002");
    expect(shownLocks(turned).some(({ key }) => key === "k002")).toBe(true);
    const without = names(10).filter(({ key }) => key !== "k002");
    expect(next(on, seen(without)).selected).toBe("k003");
    expect(next(on, seen([])).selected).toBeUndefined();
    expect(next(on, seen([]), seen(names(3))).selected).toBe("k000");
  });

  test("stays in sight when the terminal becomes smaller", () => {
    const later = next(state, "end", { type: "resized", size: { columns: 80, rows: 7 } });
    expect(shownLocks(later).map(({ key }) => key)).toEqual(["k009"]);
  });

  test("has as many lines as the screen shows", () => {
    expect(shownLocks(state)).toHaveLength(ROWS);
  });
});

describe("a prefix", () => {
  const state = stateAfter(SIZE, seen(names(3)));

  test("is typed with letters that are keys elsewhere, and counts from Enter on", () => {
    const typing = next(state, "/", ..."qs/".split(""));
    expect(typing).toMatchObject({ typed: "qs/", prefix: "", wish: "none", sort: "waiters" });
    const filtered = next(typing, "enter");
    expect(filtered).toMatchObject({ typed: undefined, prefix: "qs/", locks: undefined });
  });

  test("can be corrected, erased and left alone", () => {
    expect(next(state, "/", "a", "e\u0301".slice(1), "backspace").typed).toBe("");
    expect(next(state, "/", "a", "b", "backspace").typed).toBe("a");
    expect(next(state, "/", "a", "b", "eraseLine").typed).toBe("");
    expect(next(state, "/", "a", "up", "escape")).toMatchObject({ typed: undefined, prefix: "" });
  });

  test("is never longer than a key may be", () => {
    const keys = Array<string>(600).fill("é");
    expect(Buffer.byteLength(next(state, "/", ...keys).typed ?? "")).toBe(512);
  });
});

test("an answer to another prefix or order than the current one is not shown", () => {
  const sorted = next(stateAfter(SIZE, seen(names(3))), "s");
  expect(sorted).toMatchObject({ sort: "held", locks: undefined });
  expect(next(sorted, seen(names(3))).locks).toBeUndefined();
  expect(next(sorted, seen(names(3), { sort: "held" })).locks?.rows).toHaveLength(3);
  expect(next(sorted, "s", "s")).toMatchObject({ sort: "waiters" });
});

test("Enter shows the lock under the cursor, answers about others are dropped, Escape leads back", () => {
  const state = next(stateAfter(SIZE, seen(names(3))), "down", "enter");
  expect(state).toMatchObject({ view: "lock", lockKey: "k001", lock: undefined });
  const why = { key: "k", request: null, keys: [], possibleDeadlock: [] };
  const about = (key: string): TopEvent => {
    return { type: "lock", seen: { view: keyView({ key }), why, wallMs: AT_MS } };
  };
  expect(next(state, about("k002")).lock).toBeUndefined();
  expect(next(state, about("k001")).lock?.view.key).toBe("k001");
  expect(next(state, "escape")).toMatchObject({ view: "locks", selected: "k001" });
});

test("views are left for those they came from, and Enter without a lock does nothing", () => {
  const state = stateAfter(SIZE);
  expect(next(state, "enter").view).toBe("locks");
  expect(next(state, "c").view).toBe("cluster");
  expect(next(state, "c", "?").view).toBe("help");
  expect(next(state, "c", "?", "?").view).toBe("cluster");
  expect(next(state, "c", "?", "escape").view).toBe("cluster");
  expect(next(state, "c", "l").view).toBe("locks");
});

test("q quits, Ctrl-C interrupts and Ctrl-Z suspends, the last two while a prefix is typed too", () => {
  const state = stateAfter(SIZE);
  expect(next(state, "q").wish).toBe("quit");
  expect(next(state, "/", "q").wish).toBe("none");
  expect(next(state, "/", "interrupt").wish).toBe("interrupt");
  expect(next(state, "suspend").wish).toBe("suspend");
});
