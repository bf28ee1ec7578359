/**
 * Which peers get an entry at once. A majority commits it, so as many voters as that takes get it
 * at once, the *fronts*; the others, the *spares*, get entries in batches, which costs them and the
 * leader only a fraction ("thrifty": Moraru, Andersen, Kaminsky, "There Is More Consensus in
 * Egalitarian Parliaments", 2013). A front whose answer is late stops being one, and the next one
 * gets everything in the same turn: a slow voter delays a commit only for as long as its answer is
 * not late (hedged requests: Dean, Barroso, "The Tail at Scale", 2013). While this leader's own
 * disk is late, one more front is needed.
 *
 * Safety does not depend on this, and no entry is delayed by more than `spareDelayMs`. Peers whose
 * clients wait for commits, peers that are not voters, and all peers during a change (of members or
 * leadership) get everything at once.
 */
import { isVoter } from "./configuration/configuration.js";
import { quorumSize } from "./configuration/quorum.js";
import type { Progress } from "./progress/progress.js";
import type { Leadership, State } from "./state.js";

const NEVER = Number.POSITIVE_INFINITY;
/** With more entries than this, a batch does not get cheaper. */
const BATCH_ENTRIES_MAX = 64;
/** Another front must be quicker by this much, so that two similar ones do not take turns. */
const BETTER_FACTOR = 1.5;
const BETTER_MS = 0.5;

/**
 * At the beginning of a turn's replication: decides which peers are fronts and which are spares.
 */
export function chooseFronts(state: State, leadership: Leadership): void {
  leadership.frontsDeadlineMs = NEVER;
  const isOwnLate = state.nowMs >= ownLateAtMs(state, leadership);
  const wanted = wantedFronts(state, leadership, isOwnLate);
  let count = 0;
  for (const peer of leadership.peers) {
    const isSure = wanted > 0 && peer.isCommitWanted && isPrompt(state, peer);
    if (isSure) count += 1;
    peer.isSpare = wanted > 0 && isVoter(state.configuration, peer.id) && !peer.isCommitWanted;
  }
  for (; count < wanted; count += 1) {
    const front = nextFront(state, leadership);
    if (front === undefined) {
      // There are too few prompt voters: all are needed.
      for (const peer of leadership.peers) peer.isSpare = false;
      break;
    }
    front.isSpare = false;
  }
  for (const peer of leadership.peers) peer.wasFront = !peer.isSpare;
}

/** Whether the entries that the peer lacks are kept back in this turn. */
export function keepsBack(state: State, leadership: Leadership, peer: Progress): boolean {
  const { nowMs, config, log } = state;
  const lacking = log.lastIndex + 1 - peer.next;
  if (!peer.isSpare || peer.mode !== "replicate" || lacking <= 0) {
    peer.keptBackSinceMs = NEVER;
    return false;
  }
  if (peer.keptBackSinceMs === NEVER) peer.keptBackSinceMs = nowMs;
  const dueMs = peer.keptBackSinceMs + config.spareDelayMs;
  if (nowMs >= dueMs || lacking >= BATCH_ENTRIES_MAX) {
    peer.keptBackSinceMs = NEVER;
    return false;
  }
  leadership.frontsDeadlineMs = Math.min(leadership.frontsDeadlineMs, dueMs);
  return true;
}

/** After everything was sent: if entries are kept back, a late front needs a turn. */
export function watchFronts(state: State, leadership: Leadership): void {
  if (leadership.frontsDeadlineMs === NEVER) return;
  dueBy(state, leadership, ownLateAtMs(state, leadership));
  for (const peer of leadership.peers) {
    if (!peer.isSpare) dueBy(state, leadership, lateAtMs(peer));
  }
}

/** What is late already was taken into account. */
function dueBy({ nowMs }: State, leadership: Leadership, lateMs: number): void {
  if (lateMs <= nowMs) return;
  leadership.frontsDeadlineMs = Math.min(leadership.frontsDeadlineMs, lateMs);
}

/** Entries that were not handed to the disk yet will be in this turn. */
function ownLateAtMs({ durability, log, nowMs }: State, { ownDisk }: Leadership): number {
  if (durability.durableIndex >= log.lastIndex) return NEVER;
  return Math.min(durability.oldestPendingMs, nowMs) + ownDisk.patienceMs;
}

/** The number of other voters in a majority; 0 if every peer gets everything. */
function wantedFronts(
  { config, configuration }: State,
  leadership: Leadership,
  isOwnLate: boolean,
): number {
  const isChanging = leadership.isChangeOpen || leadership.transfer !== undefined;
  if (config.spareDelayMs === 0 || isChanging) return 0;
  return quorumSize(configuration.voters.length) - (isOwnLate ? 0 : 1);
}

/** The quickest spare voter that can be relied on. */
function nextFront(state: State, { peers }: Leadership): Progress | undefined {
  let best: Progress | undefined;
  for (const peer of peers) {
    if (!peer.isSpare || !isPrompt(state, peer)) continue;
    if (best === undefined || handicapMs(peer) < handicapMs(best)) best = peer;
  }
  return best;
}

function handicapMs({ roundTrip, wasFront }: Progress): number {
  return wasFront ? roundTrip.ms : roundTrip.ms * BETTER_FACTOR + BETTER_MS;
}

function isPrompt({ nowMs, configuration }: State, peer: Progress): boolean {
  const isStreaming = peer.isConnected && peer.mode === "replicate";
  return isStreaming && isVoter(configuration, peer.id) && nowMs < lateAtMs(peer);
}

/** When the oldest unanswered append is late. */
function lateAtMs({ inflight, roundTrip }: Progress): number {
  return inflight.messages === 0 ? NEVER : inflight.oldestSentMs + roundTrip.patienceMs;
}
