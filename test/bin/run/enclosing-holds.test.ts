/** Which requests would wait for a hold around their own process. */
import { expect, test } from "vitest";
import {
  enclosingHolds,
  heldVariable,
  keyHeldAround,
  metadataWithin,
  sessionsAround,
} from "../../../bin/run/enclosing-holds.js";
import type { KeyView } from "../../../src/index.js";

const AROUND = [{ token: 7, session: 3, key: "k" }];

function lock(mode: "exclusive" | "shared", token = 7): KeyView {
  const holds = [{ token, mode, session: 3, permits: 0 }];
  const nothing = { waiters: [], closings: [], limit: 0 };
  return { key: "k", kind: "lock", ...nothing, holds } as unknown as KeyView;
}

const asks = (mode: "exclusive" | "shared") => [{ key: "k", mode }];

test("what a run holds is read as it was written, with what is held around it", () => {
  const items = [
    { key: "a b", mode: "shared", permits: 0, slots: [] },
    { key: "c", mode: "permits", permits: 2, slots: [0, 1] },
  ] as const;
  const outer = heldVariable({}, 3, { token: 7, items: items.slice(0, 1) });
  expect(outer).toEqual({ HOLDFAST_HELD: "7 3 shared a b" });
  const inner = heldVariable(outer, 4, { token: 9, items: items.slice(1) });
  expect(enclosingHolds(inner)).toEqual([
    { token: 7, session: 3, key: "a b" },
    { token: 9, session: 4, key: "c" },
  ]);
  expect(enclosingHolds({})).toEqual([]);
  expect(() => enclosingHolds({ HOLDFAST_HELD: "yes" })).toThrow(/HOLDFAST_HELD .*"yes"/);
});

test("a session says within which sessions it runs, and others read nothing else so", () => {
  const within = metadataWithin([...AROUND, { token: 8, session: 0, key: "l" }, ...AROUND]);
  expect(within).toBe("within 3");
  expect(sessionsAround(within ?? "")).toEqual([3]);
  expect(sessionsAround("within 3 12")).toEqual([3, 12]);
  expect([sessionsAround("within reach"), sessionsAround(""), metadataWithin([])]).toEqual([
    [],
    [],
    undefined,
  ]);
});

test("a lock that is held around a request is in its way, unless both are shared", () => {
  expect(keyHeldAround([lock("exclusive")], AROUND, asks("exclusive"))).toBe("k");
  expect(keyHeldAround([lock("exclusive")], AROUND, asks("shared"))).toBe("k");
  expect(keyHeldAround([lock("shared")], AROUND, asks("exclusive"))).toBe("k");
  expect(keyHeldAround([lock("shared")], AROUND, asks("shared"))).toBeUndefined();
  expect(keyHeldAround([lock("exclusive")], AROUND, [{ key: "k" }])).toBe("k");
});

test("a key with a separator of lines or paragraphs is one key", () => {
  const key = "a\u2028b\u2029c";
  const items = [{ key, mode: "exclusive", permits: 0, slots: [] }] as const;
  expect(enclosingHolds(heldVariable({}, 3, { token: 7, items }))).toEqual([
    { token: 7, session: 3, key },
  ]);
});

test("a hold that has ended is in nobody's way, no matter who has the lock now", () => {
  expect(keyHeldAround([lock("exclusive", 8)], AROUND, asks("exclusive"))).toBeUndefined();
});

test("permits around a request are in its way if too few others would ever be free", () => {
  const holds = [{ token: 7, mode: "permits", session: 3, permits: 2 }];
  const view = { ...lock("exclusive"), kind: "semaphore", limit: 4, holds } as unknown as KeyView;
  const found = [2, 3].map((permits) => keyHeldAround([view], AROUND, [{ key: "k", permits }]));
  expect(found).toEqual([undefined, "k"]);
});
