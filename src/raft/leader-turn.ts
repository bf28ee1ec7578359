/**
 * What a leader does at the end of every turn, in this order: end a change of members that can be
 * ended, send what the peers lack, hand over or step down where that is due. Nothing here waits:
 * what cannot be done yet is looked at again in the next turn.
 */
import type { Leadership } from "./leadership.js";
import { releaseLeaving, stepDownIfRemoved } from "./leaving.js";
import { completeMembership } from "./membership.js";
import { replicate } from "./replication.js";
import type { State } from "./state.js";
import { advanceTransfer } from "./transfer.js";

export function leadTurn(state: State, leadership: Leadership): void {
  if (leadership.isChangeOpen) completeMembership(state, leadership);
  replicate(state, leadership);
  if (leadership.transfer !== undefined) advanceTransfer(state, leadership);
  if (leadership.leavingCount > 0) releaseLeaving(state, leadership);
  if (leadership.isChangeOpen) stepDownIfRemoved(state, leadership);
}
