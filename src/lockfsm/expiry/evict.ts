/**
 * After the limit of a semaphore was lowered: refuses the requests that wait for more permits than
 * there are now, anywhere in the queue, and then searches for cycles among those that still wait. A
 * long queue takes several steps.
 */
import { suspectAll } from "../deadlock/detect.js";
import { endWait } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import type { Key } from "../records/key.js";
import { orderOf } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { INVALID_ARGUMENT } from "../results.js";

/** Returns true if the whole queue was examined; otherwise the key is queued for work. */
export function evictOversized(state: TableState, key: Key): boolean {
  const { semaphore } = key;
  if (semaphore?.evictFrom === undefined) return true;
  for (;;) {
    const place = semaphore.evictFrom && key.queue?.firstFrom(semaphore.evictFrom);
    if (place === undefined) {
      semaphore.evictFrom = undefined;
      advance(state, key);
      suspectAll(state, key);
      return true;
    }
    const request = orderOf(place);
    if (state.stepUnits === 0) {
      semaphore.evictFrom = { rank: request.rank, number: request.number };
      state.work.addKey(key);
      return false;
    }
    state.stepUnits -= 1;
    semaphore.evictFrom = { rank: request.rank, number: request.number + 1 };
    if (place.wanted > semaphore.limit) endWait(state, request, INVALID_ARGUMENT);
  }
}
