/** Who waits for whom, and the deadlocks that were refused. Pure. */
import type { CycleMember, GraphEdge, GraphTask } from "../protocol/index.js";
import type { Columns } from "./column.js";
import type { Phrase } from "./phrase.js";
import { taskPhrase } from "./who.js";

/** One task waits for another in a key. */
export interface WaitRow extends Pick<GraphEdge, "key" | "mode" | "why"> {
  /** `undefined`: not known. */
  readonly from: GraphTask | undefined;
  readonly to: GraphTask | undefined;
}

export function waitRows(
  tasks: readonly GraphTask[],
  edges: readonly GraphEdge[],
): readonly WaitRow[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  return edges.map(({ from, to, key, mode, why }) => {
    return { from: byId.get(from), to: byId.get(to), key, mode, why };
  });
}

export const WAIT_COLUMNS = {
  from: { id: "from", title: "Who waits", cell: ({ from }) => nodePhrase(from) },
  key: { id: "key", title: "Key", cell: ({ key }) => [{ key }] },
  mode: { id: "mode", title: "Mode", cell: ({ mode }) => mode },
  to: { id: "to", title: "For whom", cell: ({ to }) => nodePhrase(to) },
  why: {
    id: "why",
    title: "Which",
    cell: ({ why }) => (why === "holds" ? "holds it" : "is ahead"),
  },
} satisfies Columns<WaitRow>;

function nodePhrase(task: GraphTask | undefined): Phrase {
  return task === undefined ? ["somebody"] : taskPhrase(task);
}

/**
 * A deadlock that was refused, a sentence for each wait: "a (task 1) asked for k1 (exclusive), which
 * b (task 1) had before." Each waited for the next, and the last for the first.
 */
export function cyclePhrases(cycle: readonly CycleMember[]): readonly Phrase[] {
  const [first] = cycle;
  if (first === undefined) return [];
  const steps = cycle.map((member, index): Phrase => {
    const { key, mode } = member;
    const next = cycle[(index + 1) % cycle.length] ?? first;
    const verb = index === 0 ? " asked for " : " waited for ";
    const what: Phrase = key === "" ? ["another key"] : [{ key }, ` (${mode})`];
    return [
      ...memberPhrase(member),
      verb,
      ...what,
      ", which ",
      ...memberPhrase(next),
      " had before.",
    ];
  });
  return [...steps, ["So the request of ", ...memberPhrase(first), " was refused."]];
}

/** A cycle that is a deadlock if the tasks that wait in it are the tasks that hold, in clauses. */
export function possiblePhrases(cycle: readonly CycleMember[]): readonly Phrase[] {
  return cycle.map((member, index): Phrase => {
    const { key, mode } = member;
    const next = cycle[(index + 1) % cycle.length] ?? member;
    const what: Phrase = key === "" ? ["another key"] : [{ key }, ` (${mode})`];
    return [
      ...memberPhrase(member),
      " waits for ",
      ...what,
      ", which ",
      ...memberPhrase(next),
      " holds",
    ];
  });
}

/** Nothing is known of a member in a key that the viewer may not observe. */
function memberPhrase(member: CycleMember): Phrase {
  return member.key === "" ? ["somebody"] : taskPhrase(member);
}
