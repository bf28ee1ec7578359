/**
 * Possible deadlocks (semantics.md, 7.7): cycles of waits that are not deadlocks by the tasks that
 * the table knows. Each acquire that names no task is one of its own, so the table cannot know
 * whether what waits is also what holds the lock for which another waits. These cycles are shown,
 * and never refused. Only reads, and every look counts against a limit.
 */
import type { Place } from "../records/key.js";
import type { Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { OutOfSteps, StepLimit } from "../records/step-limit.js";
import { type PossibleCycle, PossibleWaits } from "./possible-waits.js";
import { WaitEdges } from "./wait-edges.js";

/** Cycles, each of a request that is in none of those before it; `requests` are tried in their order. */
export function possibleDeadlocks(
  state: TableState,
  requests: Iterable<Request>,
  { stepsMax, cyclesMax }: { readonly stepsMax: number; readonly cyclesMax: number },
): PossibleCycle[] {
  const edges = new WaitEdges(state, new StepLimit(stepsMax), undefined);
  const waits = new PossibleWaits(state, edges);
  const found: PossibleCycle[] = [];
  const named = new Set<Place["claimant"]>();
  try {
    for (const request of requests) {
      if (found.length === cyclesMax) break;
      edges.step();
      if (named.has(request) || edges.isAbsent(request)) continue;
      const cycle = waits.cycleThrough(request);
      if (cycle === undefined) continue;
      found.push(cycle);
      for (const { claimant } of cycle) named.add(claimant);
    }
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
  }
  return found;
}
