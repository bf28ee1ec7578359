/**
 * Plans with owners at the doors of nodes: a share of the seeds, drawn from streams of their own, so that
 * all others give the runs that they always gave. These owners speak HTTP or Redis, at two nodes at once.
 */
import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";

/**
 * The share of such plans among those that are not timed, restored or closed, and have no other
 * owners of leases.
 */
const DOORS_SHARE = 0.14;
const OWNERS_MAX = 5;
/** The share of plans with scripts at doors, among those that could have doors and have none. */
const SCRIPTS_SHARE = 0.1;
/** Besides those that run scripts. */
const OTHERS_MAX = 2;
/** The share of plans with scripts in which these want the same form of locks all the time. */
const ONE_FORM_SHARE = 0.5;
/** Shares of the plans with doors. */
const FAIR_SHARE = 0.6;
const DRAIN_SHARE = 0.4;
const CONSTANT_SHARE = 0.5;
/** What is to be given back too late is not given back before. */
const PATIENT_PART = 0.3;
/** Shares of the owners. */
const HTTP_SHARE = 0.6;
const STORM_KEYS_SHARE = 0.3;
const CALM_MS = 5_000;
/** Who comes in it, and leaves without a word, must be gone before it ends. */
const LONG_CALM_MS = 8_000;
/** A node that stops in peace is back by then, before the storm is over. */
export const DRAIN_MS_MAX = 2_600;

/** Shares of what an owner at a door does, each 0 … 1. */
export interface DoorMix {
  /** Shares of the takes over HTTP: how they ask. */
  readonly waits: number;
  readonly several: number;
  readonly shared: number;
  /** The share of answers that come late, by a few hundred milliseconds. */
  readonly late: number;
  /**
   * Shares of the moments while an answer is waited for: the caller leaves, says that it will say
   * nothing more, or asks for the same again.
   */
  readonly leave: number;
  readonly halfClose: number;
  readonly again: number;
  /** Shares of the moments while it has a lease. */
  readonly repeat: number;
  readonly extend: number;
  readonly giveBack: number;
  /** The share of repeats with another time to live. */
  readonly otherTtl: number;
  /** The share of give-backs after which a copy of the take comes. */
  readonly copy: number;
  /** The share that is repeated of what was not answered, or is to be repeated. */
  readonly persist: number;
  /** The share of errands at whose end the lease is left to its time. */
  readonly forget: number;
  /** The share of requests at the other node. */
  readonly other: number;
  readonly pause: number;
  readonly write: number;
  /**
   * The share of moments in which it waits over HTTP and gives back what it was not granted yet.
   */
  readonly early: number;
  /** The share of moments with a lease in which it only looks. */
  readonly look: number;
  /** The share of moments of Redis with several commands at once, the next before the reply. */
  readonly atOnce: number;
  /** The share of moments of Redis in which it uses a value that it had before. */
  readonly stale: number;
  /** The share of locks of Redis that are given back after their time is over. */
  readonly behind: number;
}

/**
 * What scripts lock: two keys at once, of which one is changed for another; a hash with a count for its
 * holder; or a gate, which readers share in a hash as long as nobody holds the key of the writers.
 */
export type ScriptForm = "pair" | "count" | "gate";
const SCRIPT_FORMS: readonly ScriptForm[] = ["pair", "count", "gate"];

export interface DoorOwnerPlan {
  /** Behind everybody; also the number in its names. */
  readonly host: number;
  /** `scripts`: it speaks Redis, and does everything by scripts that read and change several keys. */
  readonly speaks: "http" | "redis" | "scripts";
  /** For scripts: the forms of locks that it takes. */
  readonly forms: readonly ScriptForm[];
  /** For Redis: the value that it shares with others like it; "": each take has its own. */
  readonly constant: string;
  /** The two nodes that it asks. */
  readonly nodes: readonly number[];
  readonly startMs: number;
  readonly actions: number;
  readonly thinkMs: number;
  readonly ttlMs: number;
  /** For HTTP: how long a request waits in all, and one poll of it. */
  readonly waitMs: number;
  readonly pollMs: number;
  /** How many keys it takes its own from. */
  readonly keyCount: number;
  /** Also wants what clients lock that have sessions. */
  readonly meetsClients: boolean;
  readonly mix: DoorMix;
}

/** Which options the doors of all nodes have. */
export interface DoorSettings {
  /** Polling clients of Redis are granted locks in the order in which they came. */
  readonly isFair: boolean;
}

export interface DoorsPlan extends DoorSettings {
  readonly owners: readonly DoorOwnerPlan[];
  /** Nodes that stop in peace. */
  readonly drains: readonly { readonly atMs: number; readonly node: number }[];
  /** How long owners go on when no fault is left. */
  readonly calmMs: number;
}

const FIRST_HOST = 4_000;

export interface DoorsScene {
  readonly stormMs: number;
  readonly nodes: readonly number[];
}

/**
 * What a focus leads owners at doors to: they look, come too early and too late, and say several things at
 * once; or all of them poll by Redis for one key at an even pace; or they wait over HTTP, leave without a word,
 * and keep what they get for so long that those who left would still be waiting.
 */
export type DoorsLead = "anything" | "queue" | "desertion";

/** `lead`: of a focus, whose plans have doors. */
export function doorsPlanOf(
  streams: RandomStreams,
  scene: DoorsScene,
  lead?: DoorsLead,
): DoorsPlan | undefined {
  const random = streams.of("doors");
  const hasDoors = random.chance(DOORS_SHARE);
  if (!hasDoors && lead === undefined) return scriptsPlanOf(streams.of("locks of scripts"), scene);
  const common = { thinkMs: random.pick([20, 40, 80]), mix: mixOf(random) };
  const constant = random.chance(CONSTANT_SHARE) ? "worker" : "";
  const owners = Array.from({ length: random.integer(3, OWNERS_MAX) }, (_, at) => {
    return ownerOf(random, scene, { ...common, host: FIRST_HOST + at, constant });
  });
  const plan = { ...settingsOf(random, scene), owners };
  return lead === undefined ? plan : ledTo(lead, streams.of("doors of a focus"), plan);
}

/** Most owners run scripts, on keys of which others have some, too. */
function scriptsPlanOf(random: RandomStream, scene: DoorsScene): DoorsPlan | undefined {
  if (!random.chance(SCRIPTS_SHARE)) return undefined;
  const share = (most: number): number => (random.chance(0.7) ? random.next() * most : 0);
  const more = { look: random.between(0.1, 0.4), atOnce: share(0.3), stale: share(0.2) };
  const again = { repeat: random.between(0.1, 0.5), behind: share(0.5) };
  const common = {
    thinkMs: random.pick([20, 40, 80]),
    mix: { ...mixOf(random), ...more, ...again },
  };
  const forms = random.chance(ONE_FORM_SHARE) ? [random.pick(SCRIPT_FORMS)] : SCRIPT_FORMS;
  const ttlMs = random.pick([400, 800, 1_500, 4_000]);
  const count = random.integer(2, OWNERS_MAX - 1);
  const owners = Array.from({ length: count + random.integer(0, OTHERS_MAX) }, (_, at) => {
    const terms = { ...common, host: FIRST_HOST + at, constant: "" };
    const owner = ownerOf(random, scene, terms);
    return at < count ? { ...owner, speaks: "scripts" as const, forms, ttlMs } : owner;
  });
  return { ...settingsOf(random, scene), owners };
}

function ownerOf(
  random: RandomStream,
  { stormMs, nodes }: DoorsScene,
  { constant, ...common }: Pick<DoorOwnerPlan, "host" | "thinkMs" | "mix" | "constant">,
): DoorOwnerPlan {
  const speaks = random.chance(HTTP_SHARE) ? "http" : "redis";
  return {
    ...{ ...common, speaks, forms: [] },
    constant: speaks === "redis" ? constant : "",
    nodes: random.sample(nodes, 2),
    startMs: random.integer(0, 500),
    actions: Math.ceil(stormMs / common.thinkMs),
    // What an owner of Redis was never told of ends by time alone.
    ttlMs: random.pick(
      speaks === "http" ? [400, 800, 1_500, 4_000, 20_000] : [400, 800, 1_500, 4_000],
    ),
    waitMs: random.pick([1_500, 4_000, 30_000]),
    pollMs: random.integer(1_000, 2_500),
    keyCount: 2,
    meetsClients: random.chance(STORM_KEYS_SHARE),
  };
}

function settingsOf(
  random: RandomStream,
  { stormMs, nodes }: DoorsScene,
): Omit<DoorsPlan, "owners"> {
  const latestMs = stormMs - DRAIN_MS_MAX;
  const drains = random.chance(DRAIN_SHARE)
    ? [{ atMs: random.integer(300, Math.max(300, latestMs)), node: random.pick(nodes) }]
    : [];
  return { drains, isFair: random.chance(FAIR_SHARE), calmMs: CALM_MS };
}

function mixOf(random: RandomStream): DoorMix {
  const share = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  return {
    waits: random.between(0.4, 1),
    several: share(0.4),
    shared: share(0.5),
    late: share(0.5),
    leave: share(0.08),
    halfClose: share(0.03),
    again: share(0.08),
    repeat: share(0.4),
    extend: random.between(0, 0.3),
    giveBack: random.between(0.05, 0.3),
    otherTtl: share(0.6),
    copy: share(0.6),
    persist: random.between(0.4, 0.95),
    forget: share(0.3),
    other: random.between(0.2, 0.6),
    pause: share(0.01),
    write: random.between(0.1, 0.4),
    ...NOTHING_MORE,
  };
}

const NOTHING_MORE = { early: 0, look: 0, atOnce: 0, stale: 0, behind: 0 } as const;

function ledTo(lead: DoorsLead, random: RandomStream, plan: DoorsPlan): DoorsPlan {
  if (lead === "queue") return { ...plan, isFair: true, owners: plan.owners.map(inQueue) };
  if (lead === "desertion") {
    return { ...plan, owners: plan.owners.map(deserting), calmMs: LONG_CALM_MS };
  }
  const share = (most: number): number => (random.chance(0.7) ? random.next() * most : 0);
  const more = {
    ...{ early: share(0.1), look: share(0.3), atOnce: share(0.7), stale: share(0.5) },
    behind: share(1),
  };
  const part = more.behind > 0 ? PATIENT_PART : 1;
  const owners = plan.owners.map((owner) => {
    const { giveBack, extend } = owner.mix;
    const patient = { giveBack: giveBack * part, extend: extend * part };
    return { ...owner, mix: { ...owner.mix, ...more, ...patient } };
  });
  return { ...plan, owners };
}

/** It comes again in time, and leaves others time to be overtaken in. */
function inQueue(owner: DoorOwnerPlan): DoorOwnerPlan {
  const mix = { ...owner.mix, late: 0, leave: 0, repeat: 0, forget: 0, giveBack: 0.03 };
  return { ...owner, mix, speaks: "redis", constant: "", ttlMs: 1_500, keyCount: 1 };
}

function deserting(owner: DoorOwnerPlan): DoorOwnerPlan {
  const taking = { waits: 1, several: 0, shared: 0, late: 0, leave: 0.05, persist: 0.3 };
  const holding = { repeat: 0, extend: 0.1, giveBack: 0.01, forget: 0 };
  const mix = { ...owner.mix, ...taking, ...holding };
  const times = { ttlMs: 4_000, waitMs: 30_000 };
  return { ...owner, ...times, mix, speaks: "http", constant: "", meetsClients: false };
}
