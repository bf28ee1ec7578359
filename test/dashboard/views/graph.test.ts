import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphLayout } from "../../../dashboard/views/graph/graph-layout.js";
import type { GraphEdge, GraphTask } from "../../../src/index.js";

function tasksOf(count: number): GraphTask[] {
  return Array.from({ length: count }, (_, id) => {
    return { id, session: id + 1, sessionName: `w${id}`, identity: "", task: 1 };
  });
}

function edge(from: number, to: number, why: "holds" | "ahead" = "holds", key = "k"): GraphEdge {
  return { from, to, key, mode: "exclusive", why };
}

describe("the drawing of who waits for whom", () => {
  it("puts a queue into one row of layers, with an arrow from each to the next", () => {
    const edges = [
      edge(1, 0),
      edge(2, 0),
      edge(3, 0),
      edge(2, 1, "ahead"),
      edge(3, 1, "ahead"),
      edge(3, 2, "ahead"),
    ];
    const layout = graphLayout(tasksOf(4), edges);
    const columns = new Map(layout.tasks.map(({ task, column }) => [task.id, column]));
    expect([0, 1, 2, 3].map((id) => columns.get(id))).toEqual([3, 2, 1, 0]);
    const arrows = layout.edges.map(({ from, to }) => `${from.task.id}${to.task.id}`);
    expect(arrows.sort()).toEqual(["10", "20", "21", "30", "32"]);
  });

  it("draws several keys between two tasks as one arrow", () => {
    const { edges } = graphLayout(tasksOf(2), [edge(1, 0, "holds", "a"), edge(1, 0, "holds", "b")]);
    expect(edges).toHaveLength(1);
    expect(edges[0]?.edges.map(({ key }) => key)).toEqual(["a", "b"]);
  });

  it("draws a cycle", () => {
    const layout = graphLayout(tasksOf(3), [edge(0, 1), edge(1, 2), edge(2, 0)]);
    expect(layout.edges).toHaveLength(3);
    expect(new Set(layout.tasks.map(({ column }) => column)).size).toBe(3);
  });

  it("has no place twice, hides nothing silently, and depends on the graph alone", () => {
    const graph = fc.integer({ min: 0, max: 90 }).chain((count) => {
      const id = fc.nat(Math.max(0, count - 1));
      const why = fc.constantFrom("holds" as const, "ahead" as const);
      const edges = fc.array(
        fc.tuple(id, id, why).map(([from, to, one]) => edge(from, to, one)),
        { maxLength: count === 0 ? 0 : 200 },
      );
      return fc.tuple(fc.constant(count), edges);
    });
    fc.assert(
      fc.property(graph, ([count, all]) => {
        const edges = all.filter(({ from, to }) => from !== to);
        const layout = graphLayout(tasksOf(count), edges);
        const places = layout.tasks.map(({ column, row }) => `${column}/${row}`);
        expect(new Set(places).size).toBe(places.length);
        expect(layout.tasks.length + layout.hidden).toBe(count);
        for (const { column, row } of layout.tasks) {
          expect(column).toBeLessThan(layout.columns);
          expect(row).toBeLessThan(layout.rows);
        }
        expect(graphLayout(tasksOf(count).reverse(), edges)).toEqual(layout);
      }),
    );
  });

  it("leads to the right where nothing waits in a circle", () => {
    const graph = fc.array(
      fc.tuple(fc.nat(30), fc.nat(30)).filter(([from, to]) => from > to),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(graph, (pairs) => {
        const layout = graphLayout(
          tasksOf(31),
          pairs.map(([from, to]) => edge(from, to)),
        );
        for (const { from, to } of layout.edges) expect(from.column).toBeLessThan(to.column);
      }),
    );
  });
});
