/**
 * Who is sent an entry at once. A majority commits it, so as many voters get it at once as that
 * takes, the *fronts*; the others, the *spares*, get entries in batches, which costs them and the
 * leader a fraction ("thrifty": Moraru, Andersen, Kaminsky, "There Is More Consensus in Egalitarian
 * Parliaments", 2013). A front that is late with an answer is one no longer, and the next one gets
 * everything in the same turn: a slow voter costs its own patience and no more (hedged requests:
 * Dean, Barroso, "The Tail at Scale", 2013). While this leader's own disk is late, a majority takes
 * one more.
 *
 * Nothing here is needed for safety, and nothing is kept back for longer than `spareDelayMs`. Who
 * lets clients wait for commits, whoever is no voter, and everybody in a time of change (members,
 * leadership) is sent everything at once.
 */
import { isVoter } from "./configuration/configuration.js";
import { quorumSize } from "./configuration/quorum.js";
import type { Progress } from "./progress/progress.js";
import type { Leadership, State } from "./state.js";

const NEVER = Number.POSITIVE_INFINITY;
/** Beyond so many entries a batch does not get cheaper. */
const BATCH_ENTRIES_MAX = 64;
/** Another front must be quicker by so much: two that are alike do not take turns. */
const BETTER_FACTOR = 1.5;
const BETTER_MS = 0.5;

/** At the beginning of a turn's replication: decides who is a front and who is a spare. */
export function chooseFronts(state: State, leadership: Leadership): void {
  leadership.thriftDeadlineMs = NEVER;
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
      // Too few to do without any of the others.
      for (const peer of leadership.peers) peer.isSpare = false;
      break;
    }
    front.isSpare = false;
  }
  for (const peer of leadership.peers) peer.wasFront = !peer.isSpare;
}

/** Whether what the peer lacks is kept back in this turn. */
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
  leadership.thriftDeadlineMs = Math.min(leadership.thriftDeadlineMs, dueMs);
  return true;
}

/** After everything was sent: if something is kept back, it matters who will be late. */
export function watchFronts(state: State, leadership: Leadership): void {
  if (leadership.thriftDeadlineMs === NEVER) return;
  dueBy(state, leadership, ownLateAtMs(state, leadership));
  for (const peer of leadership.peers) {
    if (!peer.isSpare) dueBy(state, leadership, lateAtMs(peer));
  }
}

/** Who is late already was taken into account. */
function dueBy({ nowMs }: State, leadership: Leadership, lateMs: number): void {
  if (lateMs <= nowMs) return;
  leadership.thriftDeadlineMs = Math.min(leadership.thriftDeadlineMs, lateMs);
}

/** What was not handed over to the disk yet will be in this turn. */
function ownLateAtMs({ durability, log, nowMs }: State, { ownDisk }: Leadership): number {
  if (durability.durableIndex >= log.lastIndex) return NEVER;
  return Math.min(durability.oldestPendingMs, nowMs) + ownDisk.patienceMs;
}

/** How many other voters a majority takes; 0 where everybody is to have everything. */
function wantedFronts(
  { config, configuration }: State,
  leadership: Leadership,
  isOwnLate: boolean,
): number {
  const isChanging = leadership.isChangeOpen || leadership.transfer !== undefined;
  if (config.spareDelayMs === 0 || isChanging) return 0;
  return quorumSize(configuration.voters.length) - (isOwnLate ? 0 : 1);
}

/** The quickest voter that is a spare so far and can be counted on. */
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

/** When the oldest append without an answer is late. */
function lateAtMs({ inflight, roundTrip }: Progress): number {
  return inflight.messages === 0 ? NEVER : inflight.oldestSentMs + roundTrip.patienceMs;
}
