/** Who waits, through others, for a session around it. */
import { expect, test } from "vitest";
import { detourTo } from "../../../bin/run/wait-detour.js";
import type { KeyView, WaitGraphView } from "../../../src/index.js";

type Edge = readonly [from: number, to: number, key: string];

/** Tasks are named by their sessions, of which each has one. */
function graph(edges: readonly Edge[], mode: "exclusive" | "permits" = "exclusive") {
  const ids = [...new Set(edges.flat())];
  const tasks = ids.map((id) => ({ id, session: id, sessionName: "", identity: "", task: 1 }));
  const all = edges.map(([from, to, key]) => ({ from, to, key, mode, why: "holds" as const }));
  return { tasks, edges: all, isTruncated: false, refused: [] } as unknown as WaitGraphView;
}

const OWN = { session: 12, around: new Set([2]) };

test("a wait for somebody who waits for a lock held around it leads back", () => {
  const waits: readonly Edge[] = [
    [12, 3, "b"],
    [3, 2, "a"],
  ];
  expect(detourTo(graph(waits), OWN, [])).toEqual({ from: "b", to: "a" });
  expect(detourTo(graph(waits.slice(0, 1)), OWN, [])).toBeUndefined();
});

/** A semaphore, with the permits of sessions that hold some, and of those that wait for some. */
function semaphore(key: string, limit: number, held: object, wanted: object): KeyView {
  const linesOf = (permits: object) =>
    Object.entries(permits).map(([session, count]) => {
      return { session: Number(session), task: 1, permits: count as number };
    });
  const lines = { holds: linesOf(held), waiters: linesOf(wanted), cooldowns: [] };
  return { key, kind: "semaphore", limit, ...lines } as unknown as KeyView;
}

test("a wait for permits leads back if too few of them would come from elsewhere", () => {
  const waits: readonly Edge[] = [
    [12, 3, "b"],
    [12, 5, "b"],
    [3, 2, "a"],
  ];
  const found = (wanted: object) => {
    const views = [semaphore("b", 4, { 3: 2, 5: 2 }, wanted)];
    return detourTo(graph(waits, "permits"), OWN, [], views);
  };
  expect(found({ 12: 2 })).toBeUndefined();
  expect(found({ 12: 3 })).toEqual({ from: "b", to: "a" });
  expect(found({ 8: 3, 12: 1 })).toEqual({ from: "b", to: "a" });
  expect(found({ 12: 1, 20: 3 })).toBeUndefined();
});

test("two nested waits lead back to each other, which the cluster alone cannot see", () => {
  const waits: readonly Edge[] = [
    [12, 3, "b"],
    [13, 2, "a"],
  ];
  const other = { session: 13, around: new Set([3]) };
  expect(detourTo(graph(waits), OWN, [])).toBeUndefined();
  expect(detourTo(graph(waits), OWN, [other])).toEqual({ from: "b", to: "a" });
  const stranger = { session: 13, around: new Set([4]) };
  expect(detourTo(graph(waits), OWN, [stranger])).toBeUndefined();
});
