/**
 * Whether a process waits, through others, for a session in whose command it runs. To the cluster, a
 * session whose command waits is idle; this adds that it waits for the processes in that command.
 * Tasks that could go on are taken out, again and again; those that are left wait for each other.
 * Pure.
 */
import type { KeyView, WaitGraphView } from "../../src/index.js";

/** Where a request waits, and in which key others wait for a session around it. */
export interface Detour {
  readonly from: string;
  readonly to: string;
}

export interface Nesting {
  readonly session: number;
  /** The sessions within which it runs. */
  readonly around: ReadonlySet<number>;
}

/** A task waits in a key. Tasks are named by their numbers in the graph. */
interface Wait {
  readonly from: number;
  readonly key: string;
  readonly holders: number[];
  readonly ahead: number[];
}

/**
 * `others`: nested sessions that wait. `semaphores`: the keys in which permits are waited for; without
 * them every holder of permits counts, although others may give back enough.
 */
export function detourTo(
  graph: WaitGraphView,
  own: Nesting,
  others: readonly Nesting[],
  semaphores: readonly KeyView[] = [],
): Detour | undefined {
  return new NestedWaits(graph, [own, ...others], semaphores).detourOf(own);
}

class NestedWaits {
  readonly #graph: WaitGraphView;
  readonly #waits: readonly Wait[];
  /** By task: the tasks that run within its session. */
  readonly #inside: ReadonlyMap<number, readonly number[]>;
  readonly #semaphores: ReadonlyMap<string, KeyView>;
  /** Tasks that wait forever, if nobody gives up. */
  #stuck: ReadonlySet<number>;

  constructor(graph: WaitGraphView, nested: readonly Nesting[], semaphores: readonly KeyView[]) {
    this.#graph = graph;
    this.#waits = waitsIn(graph);
    this.#inside = insideIn(graph, nested);
    this.#semaphores = new Map(semaphores.map((view) => [view.key, view]));
    this.#stuck = new Set(graph.tasks.map(({ id }) => id));
    for (let before = -1; before !== this.#stuck.size; ) {
      before = this.#stuck.size;
      const waits = this.#waits.filter((wait) => this.#isBlocked(wait));
      const blocked = new Set(waits.map(({ from }) => from));
      const isStuck = (id: number): boolean => blocked.has(id) || this.#insideOf(id).length > 0;
      this.#stuck = new Set([...this.#stuck].filter(isStuck));
    }
  }

  detourOf({ session, around }: Nesting): Detour | undefined {
    const sessionOf = new Map(this.#graph.tasks.map((task) => [task.id, task.session]));
    const line = [...this.#stuck]
      .filter((id) => sessionOf.get(id) === session)
      .map((at) => ({ at, first: "" }));
    const reached = new Set(line.map(({ at }) => at));
    for (const { at, first } of line) {
      for (const wait of this.#waits) {
        if (wait.from !== at || !this.#isBlocked(wait)) continue;
        const from = first === "" ? wait.key : first;
        for (const to of [...wait.holders, ...wait.ahead]) {
          if (!this.#stuck.has(to)) continue;
          if (around.has(sessionOf.get(to) ?? 0)) return { from, to: wait.key };
          for (const next of [to, ...this.#insideOf(to)]) {
            if (!reached.has(next)) line.push({ at: next, first: from });
            reached.add(next);
          }
        }
      }
    }
    return undefined;
  }

  #insideOf(id: number): readonly number[] {
    return (this.#inside.get(id) ?? []).filter((one) => this.#stuck.has(one));
  }

  #isBlocked({ from, key, holders, ahead }: Wait): boolean {
    if (ahead.some((id) => this.#stuck.has(id))) return true;
    const view = this.#semaphores.get(key);
    if (view === undefined) return holders.some((id) => this.#stuck.has(id));
    const { tasks } = this.#graph;
    const asked = tasks.find(({ id }) => id === from);
    const place = view.waiters.findIndex((waiter) => isSameTask(waiter, asked));
    // Those ahead must be served first.
    const need = Math.max(0, ...view.waiters.slice(0, place + 1).map(({ permits }) => permits));
    const kept = view.holds.filter((hold) => {
      return tasks.some((task) => this.#stuck.has(task.id) && isSameTask(hold, task));
    });
    return kept.reduce((sum, { permits }) => sum + permits, need) > view.limit;
  }
}

interface Task {
  readonly session: number;
  readonly task: number;
}

function isSameTask({ session, task }: Task, other: Task | undefined): boolean {
  return session === other?.session && task === other.task;
}

function waitsIn({ edges }: WaitGraphView): Wait[] {
  const waits = new Map<string, Wait>();
  for (const { from, to, key, why } of edges) {
    const id = `${from} ${key}`;
    const wait = waits.get(id) ?? { from, key, holders: [], ahead: [] };
    waits.set(id, wait);
    (why === "holds" ? wait.holders : wait.ahead).push(to);
  }
  return [...waits.values()];
}

function insideIn(
  { tasks }: WaitGraphView,
  nested: readonly Nesting[],
): ReadonlyMap<number, readonly number[]> {
  const idsOf = new Map<number, number[]>();
  for (const { id, session } of tasks) idsOf.set(session, [...(idsOf.get(session) ?? []), id]);
  const inside = new Map<number, number[]>();
  for (const { session, around } of nested) {
    for (const outer of [...around].flatMap((one) => idsOf.get(one) ?? [])) {
      inside.set(outer, [...(inside.get(outer) ?? []), ...(idsOf.get(session) ?? [])]);
    }
  }
  return inside;
}
