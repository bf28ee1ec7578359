/**
 * A circle in a graph of waits that was reduced: who waits for whom, for ever, back to where it began.
 * It is named as short as can be: one who stands in the middle of a queue waits for nobody for whom
 * those behind do not wait as well, and is left out.
 */
import type { Place } from "../records/place.js";
import { isBlocked, type OwnerNode, type Pool, type Wait } from "./wait-for.js";

/** `from` waits for somebody; `ahead` is the place in the queue because of which it does. */
interface Step {
  readonly from: OwnerNode;
  readonly wait: Wait;
  readonly ahead: Place | undefined;
}

/**
 * The shortest circle of waits through `start` among those that wait for ever: each for the next,
 * the last for the first. `counts` says which waits may be part of it. `undefined`: there is none.
 */
export function circleOf(
  start: OwnerNode,
  counts: (wait: Wait) => boolean = () => true,
): readonly Wait[] | undefined {
  if (start.isFree) return undefined;
  const reachedBy = new Map<OwnerNode, Step>();
  const lookedThrough = new Set<Pool>();
  const line = [start];
  for (const from of line) {
    const before = reachedBy.get(from)?.ahead;
    for (const wait of from.waits ?? []) {
      const isLeftOut = before !== undefined && wait.place === before;
      if (!isBlocked(wait) || !(isLeftOut || counts(wait))) continue;
      for (const { node, ahead } of obstaclesOf(wait, lookedThrough)) {
        // Its own hold is in the way of others, not of an upgrade: whom it waits for has to be named.
        const step = { from, wait, ahead: wait.request.upgrades === undefined ? ahead : undefined };
        if (node === start) return namesOf(stepsTo(step, reachedBy, start));
        if (reachedBy.has(node)) continue;
        reachedBy.set(node, step);
        line.push(node);
      }
    }
  }
  return undefined;
}

/** Permits that somebody holds are not in the way where enough are left. */
function* obstaclesOf(
  { holders, ahead, pool, isShort }: Wait,
  lookedThrough: Set<Pool>,
): Generator<{ readonly node: OwnerNode; readonly ahead: Place | undefined }, void, void> {
  if (pool === undefined || (isShort && !lookedThrough.has(pool))) {
    for (const node of holders) if (!node.isFree) yield { node, ahead: undefined };
    if (pool !== undefined) lookedThrough.add(pool);
  }
  for (const { node, place } of ahead) if (!node.isFree) yield { node, ahead: place };
}

function stepsTo(
  last: Step,
  reachedBy: ReadonlyMap<OwnerNode, Step>,
  start: OwnerNode,
): readonly Step[] {
  const steps = [last];
  for (let node = last.from; node !== start; ) {
    const step = reachedBy.get(node);
    if (step === undefined) break;
    steps.push(step);
    node = step.from;
  }
  return steps.reverse();
}

/** Without those whose own place in the queue is all that they add. */
function namesOf(steps: readonly Step[]): Wait[] {
  const waits: Wait[] = [];
  let before: Place | undefined;
  for (const { wait, ahead } of steps) {
    if (before === undefined || wait.place !== before) waits.push(wait);
    before = ahead;
  }
  return waits;
}
