/**
 * Plans with owners of leases: a share of the seeds, drawn from streams of their own, so that all others
 * give the runs that they always gave. Owners have no session. They ask clients that speak the protocol,
 * as thin clients ask the doors of nodes.
 */
import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { ClientPlan } from "./client-plan.js";

/** The share of such plans among those that are not timed. */
const OWNERS_SHARE = 0.2;
/**
 * The share of plans with owners in which the longest lease is set, and leases without end are
 * allowed.
 */
const SETTINGS_SHARE = 0.4;
const OWNERS_MAX = 4;

/** Shares of what an owner does, each 0 … 1. */
export interface OwnerMix {
  /** Shares of the takes: how they ask. */
  readonly several: number;
  readonly shared: number;
  readonly permits: number;
  readonly split: number;
  readonly tries: number;
  readonly priority: number;
  readonly maxHold: number;
  readonly minHold: number;
  readonly lockDelay: number;
  readonly endless: number;
  /** Shares of the moments while it has a lease. */
  readonly extend: number;
  readonly repeat: number;
  /** Takes by another request what it has already, as two processes of one name do. */
  readonly conflict: number;
  readonly giveBack: number;
  /** The share of errands at whose end the lease is left to its time. */
  readonly forget: number;
  /** Shares of the extensions. */
  readonly exactly: number;
  readonly add: number;
  /** The share of what is said and answered that is lost on its way. */
  readonly lost: number;
  /**
   * The share of unanswered requests that are made again at another door; the others are given up.
   */
  readonly persist: number;
  /** The share of requests at a door that may speak for somebody else. */
  readonly foreign: number;
  /** The share of moments in which it stands still for a while. */
  readonly pause: number;
  /** The share of moments in which it changes what leases may be. */
  readonly setting: number;
  /** Uses what a lease guards, or did. */
  readonly write: number;
  /**
   * The share of repeats with another time to live, or the items in another order; of takes of
   * permits of several semaphores; and of parts that are given back and followed by a copy of the
   * take.
   */
  readonly variety?: number;
}

export interface OwnerPlan {
  /** Behind everybody; also the number in its names. */
  readonly host: number;
  readonly startMs: number;
  readonly actions: number;
  readonly thinkMs: number;
  readonly ttlMs: number;
  /** Before its first take it makes this the longest lease that there may be; 0: it need not. */
  readonly longestMs: number;
  /** Without an answer for so long it gives a request up. */
  readonly patienceMs: number;
  readonly mix: OwnerMix;
}

/** Behind all clients, and all that have a host of their own. */
const FIRST_HOST = 2_000;

export interface OwnerScene {
  readonly stormMs: number;
  readonly clients: readonly ClientPlan[];
}

/** `variety`: of a focus, whose plans have owners. */
export function ownersOf(streams: RandomStreams, scene: OwnerScene, variety?: number): OwnerPlan[] {
  const random = streams.of("owners");
  const hasDoor = scene.clients.some(({ speaks }) => speaks === "protocol");
  const hasOwners = random.chance(OWNERS_SHARE) || variety !== undefined;
  if (!hasOwners || !hasDoor) return [];
  const thinkMs = random.pick([10, 20, 40]);
  const usualMix = mixOf(random);
  const mix = variety === undefined ? usualMix : { ...usualMix, variety };
  return Array.from({ length: random.integer(2, OWNERS_MAX) }, (_, at) => ({
    host: FIRST_HOST + at,
    startMs: random.integer(0, 500),
    actions: Math.ceil(scene.stormMs / thinkMs),
    thinkMs,
    ttlMs: random.pick([400, 800, 1_500, 3_000]),
    longestMs: 0,
    patienceMs: random.integer(60, 500),
    mix,
  }));
}

function mixOf(random: RandomStream): OwnerMix {
  const share = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  const hasSettings = random.chance(SETTINGS_SHARE);
  return {
    several: share(0.6),
    shared: share(0.6),
    permits: share(0.6),
    split: share(0.5),
    tries: share(0.6),
    priority: share(0.4),
    maxHold: share(0.3),
    minHold: share(0.3),
    lockDelay: share(0.3),
    endless: hasSettings ? random.next() * 0.3 : 0,
    extend: random.between(0.1, 0.5),
    repeat: share(0.4),
    conflict: share(0.1),
    giveBack: random.between(0.02, 0.2),
    forget: share(0.5),
    exactly: share(0.4),
    add: share(0.4),
    lost: share(0.2),
    persist: random.between(0.3, 0.9),
    foreign: random.between(0, 0.4),
    pause: share(0.01),
    setting: hasSettings ? 0.02 : 0,
    write: random.between(0.1, 0.4),
  };
}

/**
 * The owners for a cluster that is restored: the longest lease is a setting, by which the operator
 * decides for how long nobody has a session.
 */
export function ownersToRestore(owners: readonly OwnerPlan[]): OwnerPlan[] {
  const longestMs = Math.max(...owners.map(({ ttlMs }) => ttlMs));
  return owners.map((owner) => ({
    ...owner,
    longestMs,
    mix: { ...owner.mix, endless: 0, add: 0, setting: 0 },
  }));
}

/**
 * Where not everybody may do everything a lease is of the identity by whose door it was taken, and one
 * without end may be left where its owner finds no way to it.
 */
export function ownersWithoutRights(owners: readonly OwnerPlan[]): OwnerPlan[] {
  return owners.map((owner) => ({ ...owner, mix: { ...owner.mix, endless: 0, setting: 0 } }));
}
