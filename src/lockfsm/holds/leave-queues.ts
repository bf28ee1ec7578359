/** How a request leaves its queues; what that lets in is up to the caller. */
import type { Result } from "../../protocol/index.js";
import { upgradedBy } from "../records/hold.js";
import { NO_DEADLINE, type Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { leave } from "./tasks.js";

/** Ends a wait without granting other requests. */
export function withdraw(state: TableState, request: Request, result: Result): void {
  const { session, sequence, slot } = request;
  leaveQueues(state, request, result.status);
  if (slot !== undefined) session.replies.settle(slot, state.stamp, result);
  state.pushOutcome(session, sequence, result);
}

/** Removes a request from everything except the stored replies. `status`: why, for the listener. */
export function leaveQueues(state: TableState, request: Request, status: number): void {
  forgetRequest(state, request);
  state.noteLeft(request, status);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.dequeue(place);
  }
}

/** Removes a request from everything except its queues, in which it must still be. */
export function forgetRequest(state: TableState, request: Request): void {
  const { session, lease } = request;
  if (lease !== undefined) state.leases.remove(request, lease);
  state.otherBytes -= session.removeRequest(request);
  leave(state, request);
  if (request.dueAt !== NO_DEADLINE) state.due.remove(request);
  // The other waits of its task must be examined instead.
  if (request.isQueuedForSearch) state.suspects.push({ session, task: request.task });
  state.requestCount -= 1;
  const upgraded = upgradedBy(request);
  if (upgraded?.extras !== undefined) upgraded.extras.upgrade = undefined;
}
