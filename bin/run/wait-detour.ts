/**
 * Whether a process waits, through others, for a session in whose command it runs. To the cluster, a
 * session whose command waits is idle; this adds that it waits for the processes in that command.
 * Pure.
 */
import type { WaitGraphView } from "../../src/index.js";

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

/** `others`: nested sessions that wait. Permits do not count: which holder returns some is open. */
export function detourTo(
  { owners, edges }: WaitGraphView,
  { session, around }: Nesting,
  others: readonly Nesting[],
): Detour | undefined {
  const sessionOf = new Map(owners.map((owner) => [owner.id, owner.session]));
  const reached = new Set<number>();
  const line = owners.flatMap((owner) => {
    return owner.session === session ? [{ at: owner.id, from: "" }] : [];
  });
  for (const { at, from } of line) {
    for (const { from: waiting, to, key, mode } of edges) {
      if (waiting !== at || mode === "permits" || reached.has(to)) continue;
      const first = from === "" ? key : from;
      const holder = sessionOf.get(to) ?? 0;
      if (around.has(holder)) return { from: first, to: key };
      reached.add(to);
      line.push({ at: to, from: first });
      const inside = others.filter((other) => other.around.has(holder));
      for (const { id, session: inner } of owners) {
        if (reached.has(id) || !inside.some((other) => other.session === inner)) continue;
        reached.add(id);
        line.push({ at: id, from: first });
      }
    }
  }
  return undefined;
}
