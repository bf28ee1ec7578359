/** Which requests would wait for a hold around their own process. */
import { expect, test } from "vitest";
import {
  enclosingHolds,
  heldVariable,
  holdsOfCluster,
  keyHeldAround,
  metadataWithin,
  sessionsAround,
} from "../../../bin/run/enclosing-holds.js";
import type { KeyView } from "../../../src/index.js";

const [HERE, ELSEWHERE] = ["0a".repeat(16), "0b".repeat(16)] as const;
const AROUND = [{ cluster: HERE, token: 7, session: 3, key: "k" }];

function lock(mode: "exclusive" | "shared", token = 7): KeyView {
  const holds = [{ token, mode, session: 3, permits: 0 }];
  const nothing = { waiters: [], cooldowns: [], limit: 0 };
  return { key: "k", kind: "lock", ...nothing, holds } as unknown as KeyView;
}

const asks = (mode: "exclusive" | "shared") => [{ key: "k", mode }];

test("what a run holds is read as it was written, with what is held around it", () => {
  const items = [
    { key: "a b", mode: "shared", permits: 0, slots: [] },
    { key: "c", mode: "permits", permits: 2, slots: [0, 1] },
  ] as const;
  const client = { clusterId: HERE, session: 3 };
  const outer = heldVariable({}, client, { token: 7, items: items.slice(0, 1) });
  expect(outer).toEqual({ HOLDFAST_HELD: `${HERE} 7 3 shared a b` });
  const other = { clusterId: ELSEWHERE, session: 4 };
  const inner = enclosingHolds(heldVariable(outer, other, { token: 9, items: items.slice(1) }));
  expect(inner).toEqual([
    { cluster: HERE, token: 7, session: 3, key: "a b" },
    { cluster: ELSEWHERE, token: 9, session: 4, key: "c" },
  ]);
  expect(enclosingHolds({})).toEqual([]);
  expect(() => enclosingHolds({ HOLDFAST_HELD: "yes" })).toThrow(/HOLDFAST_HELD .*"yes"/);
});

test("a hold of another cluster is not around a request, be its token and its key the same", () => {
  const lines = [`${HERE} 7 3 exclusive k`, `${ELSEWHERE} 7 3 exclusive k`, "- 8 0 exclusive l"];
  const all = enclosingHolds({ HOLDFAST_HELD: lines.join("\n") });
  const [here, elsewhere, unknown] = all;
  expect(holdsOfCluster(all, HERE)).toEqual([here, unknown]);
  expect(holdsOfCluster(all, ELSEWHERE)).toEqual([elsewhere, unknown]);
});

test("a session says within which sessions it runs, and others read nothing else so", () => {
  const [hold] = AROUND;
  const [unknown, other] = [{ cluster: "" }, { cluster: ELSEWHERE, session: 12 }];
  const lease = { ...unknown, token: 8, session: 0, key: "l" };
  const within = metadataWithin([...AROUND, lease, ...AROUND, { token: 9, key: "m", ...other }]);
  expect(within).toBe(`within ${HERE}/3 ${ELSEWHERE}/12`);
  expect(sessionsAround(within ?? "", HERE)).toEqual([hold?.session]);
  expect(sessionsAround(within ?? "", ELSEWHERE)).toEqual([12]);
  const nothing = ["within reach", "", `within ${HERE}/3 `].map((text) =>
    sessionsAround(text, HERE),
  );
  expect([...nothing, metadataWithin([lease])]).toEqual([[], [], [], undefined]);
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
  const client = { clusterId: HERE, session: 3 };
  expect(enclosingHolds(heldVariable({}, client, { token: 7, items }))).toEqual([
    { cluster: HERE, token: 7, session: 3, key },
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
