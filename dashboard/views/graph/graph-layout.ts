/**
 * Places the tasks of a wait-for graph for drawing: in layers, so that an arrow leads from a task
 * that waits in one layer to what it waits for in a layer further right. The same graph always gives
 * the same drawing, and a cycle, which is possible while detection is off, is drawn too. Pure.
 */
import type { GraphEdge, GraphTask } from "../../../src/index.js";

/** More tasks cannot be read in a drawing; the table has all. */
const DRAWN_TASKS_MAX = 60;
/** Passes that put tasks next to what they wait for. */
const SWEEPS = 4;

export interface PlacedTask {
  readonly task: GraphTask;
  /** From the left, from 0. Tasks that wait for nothing are rightmost. */
  readonly column: number;
  /** From the top, from 0. */
  readonly row: number;
}

export interface DrawnEdge {
  readonly from: PlacedTask;
  readonly to: PlacedTask;
  /** All between the same two tasks. */
  readonly edges: readonly GraphEdge[];
}

export interface GraphLayout {
  readonly tasks: readonly PlacedTask[];
  readonly edges: readonly DrawnEdge[];
  readonly columns: number;
  readonly rows: number;
  /** Tasks for which the drawing has no room. */
  readonly hidden: number;
}

export function graphLayout(
  all: readonly GraphTask[],
  allEdges: readonly GraphEdge[],
): GraphLayout {
  const tasks = mostInvolved(all, allEdges);
  const ids = new Set(tasks.map(({ id }) => id));
  const inside = allEdges.filter(({ from, to }) => ids.has(from) && ids.has(to));
  const edges = withoutDetours(inside);
  const targets = new Map<number, number[]>(tasks.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    const known = targets.get(from);
    if (known !== undefined && !known.includes(to)) known.push(to);
  }
  const depths = depthsOf(tasks, targets);
  const deepest = Math.max(0, ...depths.values());
  const layers = layersOf(tasks, depths, deepest);
  order(layers, targets);
  const placed = new Map<number, PlacedTask>();
  for (const [column, layer] of layers.entries()) {
    for (const [row, task] of layer.entries()) placed.set(task.id, { task, column, row });
  }
  return {
    tasks: [...placed.values()],
    edges: drawnEdges(edges, placed),
    columns: layers.length,
    rows: Math.max(0, ...layers.map((layer) => layer.length)),
    hidden: all.length - tasks.length,
  };
}

/** Those with the most arrows; ties by number. In the order of the numbers. */
function mostInvolved(
  tasks: readonly GraphTask[],
  edges: readonly GraphEdge[],
): readonly GraphTask[] {
  const inOrder = [...tasks].sort((left, right) => left.id - right.id);
  if (inOrder.length <= DRAWN_TASKS_MAX) return inOrder;
  const counts = new Map<number, number>();
  for (const { from, to } of edges) {
    counts.set(from, (counts.get(from) ?? 0) + 1);
    counts.set(to, (counts.get(to) ?? 0) + 1);
  }
  inOrder.sort((left, right) => (counts.get(right.id) ?? 0) - (counts.get(left.id) ?? 0));
  return inOrder.slice(0, DRAWN_TASKS_MAX).sort((left, right) => left.id - right.id);
}

/**
 * In a queue, each request waits for all ahead of it. The arrow to the next one says enough: leaves
 * out an arrow over which two others of the same key lead.
 */
function withoutDetours(edges: readonly GraphEdge[]): readonly GraphEdge[] {
  const ahead = new Map<string, Set<number>>();
  const nameOf = ({ key, from }: GraphEdge): string => `${from} ${key}`;
  for (const edge of edges) {
    if (edge.why !== "ahead") continue;
    const known = ahead.get(nameOf(edge));
    if (known === undefined) ahead.set(nameOf(edge), new Set([edge.to]));
    else known.add(edge.to);
  }
  return edges.filter((edge) => {
    if (edge.why !== "ahead") return true;
    for (const between of ahead.get(nameOf(edge)) ?? []) {
      if (between === edge.to) continue;
      if (ahead.get(`${between} ${edge.key}`)?.has(edge.to) === true) return false;
    }
    return true;
  });
}

/** How many arrows lead on from each task at most, without those that close a cycle. */
function depthsOf(
  tasks: readonly GraphTask[],
  targets: ReadonlyMap<number, readonly number[]>,
): ReadonlyMap<number, number> {
  const depths = new Map<number, number>();
  const open = new Set<number>();
  const depthOf = (id: number): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    open.add(id);
    let depth = 0;
    for (const target of targets.get(id) ?? []) {
      if (!open.has(target)) depth = Math.max(depth, depthOf(target) + 1);
    }
    open.delete(id);
    depths.set(id, depth);
    return depth;
  };
  for (const { id } of tasks) depthOf(id);
  return depths;
}

function layersOf(
  tasks: readonly GraphTask[],
  depths: ReadonlyMap<number, number>,
  deepest: number,
): GraphTask[][] {
  const layers: GraphTask[][] = Array.from(
    { length: tasks.length === 0 ? 0 : deepest + 1 },
    () => [],
  );
  for (const task of tasks) layers[deepest - (depths.get(task.id) ?? 0)]?.push(task);
  return layers;
}

/** Orders each layer by the mean place of the neighbours, from right to left and back. */
function order(layers: GraphTask[][], targets: ReadonlyMap<number, readonly number[]>): void {
  const sources = new Map<number, number[]>();
  for (const [from, all] of targets) {
    for (const to of all) sources.set(to, [...(sources.get(to) ?? []), from]);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isToLeft = sweep % 2 === 0;
    const neighbours = isToLeft ? targets : sources;
    const inTurn = isToLeft ? layers.toReversed() : layers;
    const places = placesOf(layers);
    for (const layer of inTurn) {
      const means = new Map(
        layer.map(({ id }) => [id, meanOf(neighbours.get(id) ?? [], places, id)]),
      );
      layer.sort((left, right) => {
        return (means.get(left.id) ?? 0) - (means.get(right.id) ?? 0) || left.id - right.id;
      });
      for (const [row, { id }] of layer.entries()) places.set(id, row);
    }
  }
}

function placesOf(layers: readonly (readonly GraphTask[])[]): Map<number, number> {
  return new Map(layers.flatMap((layer) => layer.map(({ id }, row) => [id, row] as const)));
}

function meanOf(ids: readonly number[], places: ReadonlyMap<number, number>, own: number): number {
  if (ids.length === 0) return places.get(own) ?? 0;
  return ids.reduce((sum, id) => sum + (places.get(id) ?? 0), 0) / ids.length;
}

function drawnEdges(
  edges: readonly GraphEdge[],
  placed: ReadonlyMap<number, PlacedTask>,
): readonly DrawnEdge[] {
  const byPair = new Map<string, { from: PlacedTask; to: PlacedTask; edges: GraphEdge[] }>();
  for (const edge of edges) {
    const name = `${edge.from} ${edge.to}`;
    const [from, to] = [placed.get(edge.from), placed.get(edge.to)];
    if (from === undefined || to === undefined) continue;
    const known = byPair.get(name);
    if (known === undefined) byPair.set(name, { from, to, edges: [edge] });
    else known.edges.push(edge);
  }
  return [...byPair.values()];
}
