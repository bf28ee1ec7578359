/** Who waits, through others, for a session around it. */
import { expect, test } from "vitest";
import { detourTo } from "../../../bin/run/wait-detour.js";
import type { WaitGraphView } from "../../../src/index.js";

type Edge = readonly [from: number, to: number, key: string];

/** Tasks are named by their sessions, of which each has one. */
function graph(edges: readonly Edge[], mode: "exclusive" | "permits" = "exclusive") {
  const ids = [...new Set(edges.flat())];
  const owners = ids.map((id) => ({ id, session: id, sessionName: "", identity: "", owner: 1 }));
  const all = edges.map(([from, to, key]) => ({ from, to, key, mode, why: "holds" as const }));
  return { owners, edges: all, isTruncated: false, refused: [] } as unknown as WaitGraphView;
}

const OWN = { session: 12, around: new Set([2]) };

test("a wait for somebody who waits for a lock held around it leads back", () => {
  const waits: readonly Edge[] = [
    [12, 3, "b"],
    [3, 2, "a"],
  ];
  expect(detourTo(graph(waits), OWN, [])).toEqual({ from: "b", to: "a" });
  expect(detourTo(graph(waits.slice(0, 1)), OWN, [])).toBeUndefined();
  expect(detourTo(graph(waits, "permits"), OWN, [])).toBeUndefined();
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
