/**
 * Answers "why am I waiting": what stands between a request and its grant, and which task waits
 * for which. Only reads, in a bounded number of looks.
 */
import {
  ACCESS_LEVEL,
  type CooldownView,
  CYCLE_MEMBERS_MAX,
  type CycleMember,
  type ExplainedKey,
  type ExplainView,
  type GraphEdge,
  type GraphTask,
  POSSIBLE_DEADLOCKS_MAX,
  type RefusedDeadlock,
  type WaitGraphView,
} from "../../protocol/index.js";
import { memberOf, redactedCycle } from "../deadlock/detect.js";
import { possibleDeadlocks } from "../deadlock/possible-deadlocks.js";
import type { PossibleCycle } from "../deadlock/possible-waits.js";
import { WaitEdges } from "../deadlock/wait-edges.js";
import { type TaskNode, WaitForGraph } from "../deadlock/wait-for-graph.js";
import { blockersOf } from "../holds/blockers.js";
import { placeIn } from "../holds/grant.js";
import { lookAtKey } from "../holds/keys.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import type { Identity } from "../records/identity.js";
import type { Key, Place } from "../records/key.js";
import { shownTask } from "../records/lease.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { OutOfSteps, StepLimit } from "../records/step-limit.js";
import { cooldownViewOf, waiterViewOf } from "./views.js";

const COOLDOWNS_MAX = 16;
/** Looks for the possible deadlocks of one request, or of all. */
const POSSIBLE_STEPS_MAX = 10_000;

/**
 * How long a key was held before, on average, in milliseconds; `undefined` if that is not known.
 */
export type HoldTimes = (key: string) => number | undefined;

/**
 * Explains the request of that session and sequence if it waits in the key; otherwise, what a new
 * request for the key alone would find.
 */
export function explain(
  state: TableState,
  name: string,
  of: { readonly session: number; readonly sequence: number } | undefined,
  holdTimes: HoldTimes,
  viewer: Identity | undefined,
): ExplainView {
  const key = lookAtKey(state, name);
  const session = of === undefined ? undefined : state.sessions.find(of.session);
  const request = of === undefined ? undefined : session?.replies.find(of.sequence)?.request;
  const place = request === undefined ? undefined : placeIn(request, key);
  if (request === undefined || place === undefined) {
    const keys = [newcomer(state, name, key, holdTimes)];
    return { key: name, request: null, keys, possibleDeadlock: [] };
  }
  const places = [place];
  for (let at = request.firstPlace; at !== undefined; at = at.sibling) {
    if (at !== place && mayObserve(viewer, at.key.name)) places.push(at);
  }
  const keys = places.map((at) => explained(state, at, holdTimes));
  const [cycle] = possibleDeadlocks(state, [request], {
    stepsMax: POSSIBLE_STEPS_MAX,
    cyclesMax: 1,
  });
  const possibleDeadlock = cycle === undefined ? [] : membersOf(cycle, viewer);
  return { key: name, request: waiterViewOf(state, place), keys, possibleDeadlock };
}

/** Which task waits for which, in the order of sessions and requests, up to `edgesMax` edges. */
export function waitGraph(
  state: TableState,
  edgesMax: number,
  viewer: Identity | undefined,
): WaitGraphView {
  const graph = presentGraph(state, edgesMax, viewer);
  const possible = shownCycles(state)
    .filter((cycle) => cycle.some(({ key }) => mayObserve(viewer, key.name)))
    .map((cycle) => ({ waitingMs: waitingMs(state, cycle), cycle: membersOf(cycle, viewer) }));
  return { ...graph, refused: refusedFor(state, viewer), possible };
}

/** Possible deadlocks whose waits have all lasted so long. */
export function countPossibleDeadlocks(state: TableState, lastedMs: number): number {
  return shownCycles(state).filter((cycle) => waitingMs(state, cycle) >= lastedMs).length;
}

function shownCycles(state: TableState): PossibleCycle[] {
  const bounds = { stepsMax: POSSIBLE_STEPS_MAX, cyclesMax: POSSIBLE_DEADLOCKS_MAX };
  return possibleDeadlocks(state, waitingRequests(state), bounds);
}

function waitingMs({ stamp }: TableState, cycle: PossibleCycle): number {
  return stamp - Math.max(...cycle.map((place) => orderOf(place).enqueuedAt));
}

function membersOf(cycle: PossibleCycle, viewer: Identity | undefined): CycleMember[] {
  const members = cycle.slice(0, CYCLE_MEMBERS_MAX).map(memberOf);
  return viewer === undefined ? members : redactedCycle(members, viewer);
}

/** Those in whose cycle the viewer may observe a key, the newest first. */
function refusedFor({ refused }: TableState, viewer: Identity | undefined): RefusedDeadlock[] {
  const newestFirst = [...refused].reverse();
  if (viewer === undefined) return newestFirst;
  return newestFirst
    .filter(({ cycle }) => cycle.some(({ key }) => mayObserve(viewer, key)))
    .map(({ wallMs, cycle }) => ({ wallMs, cycle: redactedCycle(cycle, viewer) }));
}

function presentGraph(
  state: TableState,
  edgesMax: number,
  viewer: Identity | undefined,
): Omit<WaitGraphView, "refused" | "possible"> {
  const tasks: GraphTask[] = [];
  const edges: GraphEdge[] = [];
  const ids = new Map<TaskNode, number>();
  const idOf = (node: TaskNode): number => {
    const known = ids.get(node);
    if (known !== undefined) return known;
    const { session } = node;
    const id = tasks.length + 1;
    ids.set(node, id);
    // For a wait for a lease, its own name.
    const request = node.waits?.[0]?.request;
    const sessionName = request?.holderName ?? session.name;
    const identity = request?.identityName ?? session.identityName;
    const task = shownTask(node.task);
    tasks.push({ id, session: session.id, sessionName, identity, task });
    return id;
  };
  const wholeEdges = new WaitEdges(state, new StepLimit(edgesMax), undefined);
  const graph = new WaitForGraph(state, wholeEdges, holdsIn);
  try {
    for (const request of waitingRequests(state)) graph.explore(request);
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
  }
  for (const node of graph.nodes) {
    if (node.waits === undefined) return { tasks, edges, isTruncated: true };
    for (const { place, holders, ahead } of node.waits) {
      const { mode } = place;
      const key = place.key.name;
      if (!mayObserve(viewer, key)) continue;
      // The waiters of one semaphore share its holders, so there can be more edges than visits.
      if (edges.length + holders.length + ahead.length > edgesMax) {
        return { tasks, edges, isTruncated: true };
      }
      for (const holder of holders) {
        edges.push({ from: idOf(node), to: idOf(holder), key, mode, why: "holds" });
      }
      for (const { node: other } of ahead) {
        edges.push({ from: idOf(node), to: idOf(other), key, mode, why: "ahead" });
      }
    }
  }
  return { tasks, edges, isTruncated: false };
}

/** All holds of a key, including holds of tasks that wait for nothing. */
function* holdsIn({ firstHold }: Key): Generator<Place, void, void> {
  for (let place = firstHold; place !== undefined; place = place.next) yield place;
}

/** Requests that are not drawn from the generator cost nothing, however many there are. */
function* waitingRequests(state: TableState): Generator<Request, void, void> {
  const sessions: Session[] = [];
  if (state.requestCount === 0) return;
  state.sessions.forEach((session) => {
    if (session.firstRequest !== undefined) sessions.push(session);
  });
  sessions.sort((left, right) => left.id - right.id);
  for (const session of sessions) {
    for (let at = session.firstRequest; at !== undefined; at = at.next) yield at;
  }
}

function explained(state: TableState, place: Place, holdTimes: HoldTimes): ExplainedKey {
  const { key, mode, wanted } = place;
  let aheadCount = 0;
  for (let at = place.previous; at !== undefined; at = at.previous) aheadCount += 1;
  return {
    key: key.name,
    mode,
    isEligible: key.hasReached(place),
    aheadCount,
    blockers: blockersOf([{ key, mode, wanted, before: place }]).blockers,
    cooldowns: cooldownsOf(state, key),
    expectedWaitMs: expectedWaitMs(state, key, aheadCount, holdTimes),
  };
}

function newcomer(
  state: TableState,
  name: string,
  key: Key | undefined,
  holdTimes: HoldTimes,
): ExplainedKey {
  const mode = key?.semaphore === undefined ? "exclusive" : "permits";
  const wanted = mode === "permits" ? 1 : 0;
  return {
    key: name,
    mode,
    isEligible: key === undefined || key.admits(mode, wanted),
    aheadCount: key?.waiterCount ?? 0,
    blockers: blockersOf([{ key, mode, wanted }]).blockers,
    cooldowns: key === undefined ? [] : cooldownsOf(state, key),
    expectedWaitMs: key === undefined ? 0 : expectedWaitMs(state, key, key.waiterCount, holdTimes),
  };
}

function cooldownsOf(state: TableState, { firstHold }: Key): CooldownView[] {
  const cooldowns: CooldownView[] = [];
  for (let place = firstHold; place !== undefined; place = place.next) {
    if (cooldowns.length === COOLDOWNS_MAX) break;
    const { claimant } = place;
    if (claimant instanceof Cooldown) cooldowns.push(cooldownViewOf(state, place, claimant));
  }
  return cooldowns;
}

/**
 * The expected wait, as if each request ahead held the key for the usual time, one after the other.
 */
function expectedWaitMs(
  state: TableState,
  key: Key,
  aheadCount: number,
  holdTimes: HoldTimes,
): number | null {
  const usualMs = holdTimes(key.name);
  if (usualMs === undefined) return null;
  const hold = key.firstHold?.claimant;
  const heldMs = hold instanceof Hold ? state.stamp - hold.grantedAt : usualMs;
  return Math.round(aheadCount * usualMs + Math.max(0, usualMs - heldMs));
}

/** Whether the viewer may see what stands in the key; `undefined` may see all. */
function mayObserve(viewer: Identity | undefined, key: string): boolean {
  return viewer === undefined || viewer.levelOf(key) >= ACCESS_LEVEL.observe;
}
