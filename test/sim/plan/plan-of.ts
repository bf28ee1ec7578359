/**
 * Makes a plan from a seed (a swarm of configurations): the seed decides the size of the
 * cluster, times, limits, clients and the kinds of faults, each with probability one half, so
 * that no two runs test the same thing.
 */

import { type RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { NodeTuning } from "../../../src/server/index.js";
import { accessPlanOf } from "./access-plan.js";
import type { ClientPlan } from "./client-plan.js";
import { doorsPlanOf } from "./doors-plan.js";
import type { Fault, FaultKind } from "./fault.js";
import { FAULT_MAKERS, type FaultScene } from "./fault-makers.js";
import { type Focus, focusClients, focusOf } from "./focus.js";
import { lockMixOf, operatorMixOf, semaphoresOf, wideSemaphoresOf } from "./lock-mix.js";
import { ownersOf, ownersToRestore, ownersWithoutRights } from "./owner-plan.js";
import { AT_ONCE, type SimPlan } from "./plan.js";
import { beforeRestore, clientsToRestore, restorePlanOf } from "./restore-plan.js";
import { isTimed, timedPlanOf } from "./timed-plan.js";
import { uncuredPlanOf } from "./uncured-plan.js";

/** The share of clients that hardly do anything but look. */
const READER_SHARE = 0.25;
const READER_INSPECT = 0.8;
/** The share of clients that take away from others and change limits. */
const OPERATOR_SHARE = 0.2;
/** The share of plans in which some clients are applications that use the SDK. */
const SDK_SHARE = 0.35;
/** The share of plans in which the members change. */
const SPARES_SHARE = 0.35;
const MEMBER_CHANGES_MAX = 12;
/** The share of plans without a storm, with one trouble after the other. */
const CALM_SHARE = 0.4;
/**
 * The share of plans in which entries leave in batches for voters that are not needed for a
 * majority.
 */
const THRIFT_SHARE = 0.3;
/** By then somebody leads. */
const CALM_FROM_MS = 500;
const CALM_FAULTS_MAX = 6;
const CALM_PATIENT_MAX = 3;

const RARE_KINDS = ["loseRecords", "wipeDisk", "disorder", "learnersOnly"] as const;
/** The share of plans with each of these. */
const RARE_SHARE = 0.2;
/** At most one of these is in a plan, so that most runs keep all their nodes. */
const LOSS_KINDS = ["loseKeys", "rot", "recover", "oldCopy", "otherVersion"] as const;
const LOSS_SHARE = 0.25;
/** Only plans of a focus have these. */
const FOCUSED_KINDS = [
  "aloneAtInstall",
  "crashAtMoment",
  "lateTurns",
  "holdAnswers",
  "cutAtAsking",
] as const;
const KINDS_ON_TOP: readonly string[] = [...RARE_KINDS, ...LOSS_KINDS, ...FOCUSED_KINDS];

/** The last ones are in plans of a focus only. */
const KEYS = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
const USUAL_KEYS_MAX = 4;

export function planOf(seed: number): SimPlan {
  const streams = new RandomStreams(seed);
  if (!isTimed(streams)) return stormPlanOf(seed, streams);
  return timedPlanOf(seed, streams, (hostsBefore, ms) => clientsOf(streams, hostsBefore, ms));
}

function stormPlanOf(seed: number, streams: RandomStreams): SimPlan {
  const random = streams.of("plan");
  const usualCount = random.pick([1, 3, 3, 3, 3, 5]);
  const stormMs = random.integer(3_000, 6_000);
  const focus = focusOf(streams);
  const forFocus = streams.of("focus on what");
  const usualSpares = random.chance(SPARES_SHARE) ? random.integer(1, 2) : 0;
  const spareCount = focus?.hasSpares === true ? Math.max(1, usualSpares) : usualSpares;
  // Only clusters that grow and shrink ever have an even number, of which half is not a majority.
  const founderCount =
    spareCount > 0 ? streams.of("founders").pick([1, 2, 3, 3, 4, 5]) : usualCount;
  const nodeCount = Math.max(founderCount, focus?.nodesMin ?? 1);
  const ids = Array.from({ length: nodeCount }, (_, at) => at + 1);
  const spares = Array.from({ length: spareCount }, (_, at) => nodeCount + 1 + at);
  const usualClients = clientsOf(streams, nodeCount + spareCount, stormMs);
  const clients = focus ? focusClients(forFocus, focus, usualClients) : usualClients;
  const order = random.shuffled(ids);
  // Where members change, it is not known beforehand who will be a majority.
  const healthyCount = spareCount > 0 ? nodeCount : Math.floor(nodeCount / 2) + 1;
  const healthy = order.slice(0, healthyCount).sort((a, b) => a - b);
  const scene = { stormMs, ids, expendable: order.slice(healthyCount), clients, spares };
  const faults = [...faultsOf(streams, scene), ...(focus?.faults?.(forFocus, scene) ?? [])];
  const isForDoors = focus?.doors !== undefined;
  const owners = isForDoors ? [] : ownersOf(streams, { stormMs, clients }, focus?.ownersVariety);
  const size = { nodeCount, spareCount, clients, owners };
  const secondFaults = (second: FaultScene): Fault[] => {
    return inOrder(faultsOf(streams, second, "second "));
  };
  const restore = isForDoors ? undefined : restorePlanOf(streams, size, stormMs, secondFaults);
  const plan: SimPlan = {
    seed,
    isTimed: false,
    focus: focus?.name ?? "",
    nodeCount,
    spareCount,
    stormMs,
    tuning: {
      ...tuningOf(streams.of("tuning")),
      ...thriftOf(streams.of("thrift")),
      ...chunksOf(streams.of("chunks")),
      ...focus?.tuning,
    },
    pathTimes: {
      latencyMs: random.pick([0.1, 0.5, 2]),
      jitterMs: random.pick([0.1, 1, 4]),
      stragglerFactor: 10,
    },
    diskTimes: {
      writeMs: random.pick([0.1, 0.5, 3]),
      jitterMs: random.pick([0.1, 1, 5]),
      stragglerFactor: 20,
    },
    pace: AT_ONCE,
    keys: keysFor(random.integer(1, USUAL_KEYS_MAX), focus),
    semaphores:
      focus?.isWide === true ? wideSemaphoresOf(forFocus) : semaphoresOf(streams.of("semaphores")),
    clients: restore === undefined ? clients : clientsToRestore(streams, clients),
    faults: restore === undefined ? inOrder(faults) : beforeRestore(inOrder(faults)),
    healthy,
    others: random.pick(["down", "cut", "deaf", "paused", "healthy"] as const),
    ...focus?.times,
    ...(restore === undefined ? {} : { restore }),
  };
  const accessScene = {
    ...{ stormMs, clients: plan.clients, isRestored: restore !== undefined },
    keys: [...plan.keys, ...plan.semaphores.map(({ key }) => key)],
  };
  const access = isForDoors ? undefined : accessPlanOf(streams, accessScene);
  const isPlain = access === undefined && restore === undefined && owners.length === 0;
  const doors = isPlain ? doorsPlanOf(streams, { stormMs, nodes: ids }, focus?.doors) : undefined;
  const withDoors = doors === undefined ? plan : { ...plan, doors };
  const withAccess = { ...withDoors, uncured: uncuredPlanOf(streams, plan), access };
  if (owners.length === 0) return withAccess;
  const kept = restore === undefined ? owners : ownersToRestore(owners);
  return { ...withAccess, owners: access === undefined ? kept : ownersWithoutRights(kept) };
}

function keysFor(usualCount: number, focus: Focus | undefined): readonly string[] {
  return KEYS.slice(0, focus?.keyCount ?? usualCount);
}

function tuningOf(random: RandomStream): Partial<NodeTuning> {
  const electionTimeoutMs = random.integer(60, 150);
  const isNarrow = random.chance(0.3);
  const segmentBytes = random.pick([4 << 10, 16 << 10, 64 << 10]);
  return {
    electionTimeoutMs,
    heartbeatIntervalMs: Math.max(10, Math.floor(electionTimeoutMs / random.integer(3, 5))),
    closedPeerDelayMs: random.integer(5, 40),
    segmentBytes,
    batchBytesMax: segmentBytes / 4,
    ...(random.chance(0.6) ? snapshotsOf(random) : {}),
    applySliceEntriesMax: random.pick([1, 4, 256]),
    // How many entries a leader may have that nobody else has.
    pipelineEntriesMax: random.pick([4, 4, 24]),
    ...(isNarrow
      ? {
          uncommittedBytesMax: random.pick([512, 2_048]),
          batchBytesMax: 256,
          pipelineEntriesMax: random.integer(1, 3),
          appendBytesMax: random.pick([128, 1_024]),
          inflightMessagesMax: random.integer(1, 4),
          inflightBytesMax: 2_048,
        }
      : {}),
  };
}

/** Off in most plans: entries that reach everybody at once are the harder case for some bugs. */
function thriftOf(random: RandomStream): Partial<NodeTuning> {
  return { spareDelayMs: random.chance(THRIFT_SHARE) ? random.pick([2, 10]) : 0 };
}

/** Tables are small here: of their snapshots most have many chunks all the same. */
function chunksOf(random: RandomStream): Partial<NodeTuning> {
  return { snapshotChunkBytes: random.pick([1, 100, 400, 256 << 10]) };
}

/** So often that a run sees many of them, with hardly any log kept for slow followers. */
function snapshotsOf(random: RandomStream): Partial<NodeTuning> {
  const snapshotLogBytes = random.pick([400, 1_000, 3_000, 20_000]);
  const trailingLogBytes = random.pick([1, 1, random.integer(1, snapshotLogBytes)]);
  return { snapshotLogBytes, trailingLogBytes };
}

function clientsOf(streams: RandomStreams, hostsBefore: number, stormMs: number): ClientPlan[] {
  const random = streams.of("clients");
  const speakers = streams.of("clients of the sdk");
  const hasSdk = speakers.chance(SDK_SHARE);
  const forLocks = streams.of("lock mix");
  const locks = lockMixOf(forLocks);
  const thinkMs = random.pick([10, 30, 80]);
  const share = (max: number): number => (random.chance(0.5) ? random.next() * max : 0);
  const mix = {
    reconnect: share(0.04),
    close: share(0.02),
    inspect: share(0.3),
    meddle: share(0.1),
    cancel: share(0.4),
    release: random.between(0.3, 0.9),
    several: share(0.5),
    shared: share(0.6),
  };
  return Array.from({ length: random.integer(1, 6) }, (_, at) => ({
    host: hostsBefore + 1 + at,
    speaks: hasSdk && (at === 0 || speakers.chance(0.5)) ? "sdk" : "protocol",
    startMs: random.integer(0, 500),
    actions: Math.ceil(stormMs / thinkMs),
    thinkMs,
    ttlMs: random.integer(1_000, 3_000),
    countsSleep: false,
    mix: random.chance(READER_SHARE) ? { ...mix, inspect: READER_INSPECT } : mix,
    locks: forLocks.chance(OPERATOR_SHARE) ? operatorMixOf(forLocks, locks) : locks,
  }));
}

/**
 * Each kind of trouble with probability one half, in any number and at any time, on top of others.
 * `which`: of several storms.
 */
function faultsOf(streams: RandomStreams, scene: FaultScene, which = ""): Fault[] {
  const faults: Fault[] = [];
  const all = streams.of(`${which}faults`);
  const countMax = all.pick([3, 3, 10]);
  for (const [name, make] of Object.entries(FAULT_MAKERS)) {
    if (KINDS_ON_TOP.includes(name)) continue;
    const random = streams.of(`${which}faults ${name}`);
    if (!random.chance(0.5)) continue;
    const count = random.integer(1, name === "changeMember" ? MEMBER_CHANGES_MAX : countMax);
    for (let left = count; left > 0; left -= 1) {
      const fault = make(random, random.integer(0, scene.stormMs), scene);
      if (fault !== undefined) faults.push(fault);
    }
  }
  const chosen = all.chance(CALM_SHARE) ? oneByOne(all, faults, scene.stormMs) : faults;
  return [...chosen, ...rareFaultsOf(streams, scene, which)];
}

/** As they come: those that a scene has nothing for are left out. */
function inOrder(faults: readonly (Fault | undefined)[]): Fault[] {
  return faults.filter((fault) => fault !== undefined).sort((a, b) => a.atMs - b.atMs);
}

/**
 * What takes a node out for the rest of the run, or nearly so, or is rare in itself, is in few plans,
 * and comes on top of whatever else there is.
 */
function rareFaultsOf(streams: RandomStreams, scene: FaultScene, which: string): Fault[] {
  const make = (kind: FaultKind, random: RandomStream): Fault[] => {
    const fault = FAULT_MAKERS[kind](random, random.integer(0, scene.stormMs), scene);
    return fault === undefined ? [] : [fault];
  };
  const rare = RARE_KINDS.flatMap((kind) => {
    const random = streams.of(`${which}faults ${kind}`);
    return random.chance(RARE_SHARE) ? make(kind, random) : [];
  });
  const losses = streams.of(`${which}faults of lost data`);
  return losses.chance(LOSS_SHARE) ? [...rare, ...make(losses.pick(LOSS_KINDS), losses)] : rare;
}

/**
 * A few of them, each over before the next begins. What takes several steps to go wrong, a leader
 * that is deposed without its knowing above all, hardly gets that far in a storm.
 */
function oneByOne(random: RandomStream, faults: readonly Fault[], stormMs: number): Fault[] {
  const shuffled = random.shuffled(faults);
  const isPatient = ({ kind }: Fault): boolean => kind === "strand" || kind === "changeMember";
  const patient = shuffled.filter(isPatient).slice(0, CALM_PATIENT_MAX);
  const others = shuffled.filter(
    (fault, at) =>
      !isPatient(fault) && shuffled.findIndex(({ kind }) => kind === fault.kind) === at,
  );
  const count = random.integer(patient.length, CALM_FAULTS_MAX);
  const few = random.shuffled([...patient, ...others].slice(0, count));
  const slotMs = Math.floor((stormMs - CALM_FROM_MS) / Math.max(1, few.length));
  return few.map((fault, at) => {
    const atMs = CALM_FROM_MS + at * slotMs + random.below(Math.ceil(slotMs / 10));
    const limited = { ...fault, atMs };
    if ("forMs" in limited) limited.forMs = Math.min(limited.forMs, slotMs);
    if ("downMs" in limited) limited.downMs = Math.min(limited.downMs, slotMs);
    return limited;
  });
}
