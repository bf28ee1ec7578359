/**
 * Plans in which the cluster is lost and restored from a snapshot: a share of the seeds, drawn
 * from streams of their own. During the first storm an operator saves a snapshot. When the storm
 * is over, everything is stopped for good, another cluster is restored on the same machines, and
 * a second storm hits that one.
 */
import type { RandomStreams } from "../../../lab/random-stream.js";
import type { CrashKind } from "../world/disk/node-disk.js";
import type { ClientPlan } from "./client-plan.js";
import type { Fault } from "./fault.js";
import type { FaultScene } from "./fault-makers.js";
import type { OwnerPlan } from "./owner-plan.js";

const RESTORE_SHARE = 0.1;
/** By then something was granted. */
const SAVE_FROM_MS = 800;
/** How far clocks of good machines lie apart, and more. */
const OLD_LEASES_FACTOR = 1.01;
/**
 * The share of restores in which a node is started on the directory that it had, and is found out
 * later.
 */
const FORGOTTEN_SHARE = 0.4;
const OLD_LEASES_SHARE = 0.3;
const FLOOR_SHARE = 0.2;
const COOLDOWNS_SHARE = 0.5;
const TOKEN_FLOOR = 2 ** 52;

export interface RestorePlan {
  readonly saveAtMs: number;
  /** One node is asked for what it has, without the others. */
  readonly isStale: boolean;
  /** How everything is stopped. */
  readonly stop: CrashKind;
  /** From then until the first node of the new cluster is started. */
  readonly stoppedMs: number;
  /** As the operator says it; `undefined`: the old leases are over. */
  readonly quietMs: number | undefined;
  readonly tokenFloor: number;
  /** Founders of the new cluster: nodes 1 … `nodeCount`. */
  readonly nodeCount: number;
  /** A founder on whose machine nobody restores anything at first; 0: none. */
  readonly forgotten: number;
  readonly forgottenMs: number;
  readonly stormMs: number;
  /** Their times count from the beginning of the second storm. */
  readonly faults: readonly Fault[];
  /** As in `SimPlan`. */
  readonly healthy: readonly number[];
}

/** What an operator does to one node lasts longer than the storm. */
const LASTING: readonly string[] = ["wipeDisk", "recover", "oldCopy", "otherVersion"];
/** Damage to disks is the business of plans that have one cluster. */
const DAMAGE: readonly string[] = [
  ...["flipBits", "loseSegment", "loseRecords", "loseKeys", "rot", "failRead"],
  ...LASTING,
];

export interface RestoreScene {
  readonly nodeCount: number;
  readonly spareCount: number;
  readonly clients: readonly ClientPlan[];
  readonly owners: readonly OwnerPlan[];
}

export function restorePlanOf(
  streams: RandomStreams,
  { nodeCount, spareCount, clients, owners }: RestoreScene,
  stormMs: number,
  faultsOf: (scene: FaultScene) => readonly Fault[],
): RestorePlan | undefined {
  const random = streams.of("restore");
  if (!random.chance(RESTORE_SHARE)) return undefined;
  const leaseMs = Math.max(...[...clients, ...owners].map(({ ttlMs }) => ttlMs));
  const isOver = random.chance(OLD_LEASES_SHARE);
  const gapMs = random.integer(0, 500);
  const newCount = random.pick(countsUpTo(nodeCount + spareCount));
  const second = (isOver ? 0 : leaseMs) + random.integer(1_500, 3_000);
  const ids = Array.from({ length: newCount }, (_, at) => at + 1);
  const spares = Array.from({ length: nodeCount + spareCount - newCount }, (_, at) => {
    return newCount + 1 + at;
  });
  const order = random.shuffled(ids);
  const healthyCount = spares.length > 0 ? newCount : Math.floor(newCount / 2) + 1;
  const healthy = order.slice(0, healthyCount).sort((a, b) => a - b);
  const scene = { stormMs: second, ids, expendable: order.slice(healthyCount), clients, spares };
  // Alone it cannot lead anybody, neither in the old cluster nor against the new one.
  const canForget = spareCount === 0 && nodeCount >= 3 && newCount >= 3;
  return {
    saveAtMs: random.integer(SAVE_FROM_MS, stormMs - 500),
    isStale: random.chance(0.25),
    stop: random.pick(["kill", "power"] as const),
    stoppedMs: isOver ? Math.ceil(leaseMs * OLD_LEASES_FACTOR) + gapMs : gapMs,
    quietMs: isOver ? undefined : leaseMs + random.integer(0, 300),
    tokenFloor: random.chance(FLOOR_SHARE) ? TOKEN_FLOOR : 0,
    nodeCount: newCount,
    forgotten: canForget && random.chance(FORGOTTEN_SHARE) ? random.pick(ids) : 0,
    forgottenMs: random.integer(100, 1_500),
    stormMs: second,
    faults: faultsOf(scene).filter(({ kind }) => !DAMAGE.includes(kind)),
    healthy,
  };
}

/**
 * In half of them nearly all that ends keeps its keys closed for a while, since a cooldown is gone within
 * a second and what is saved is of one moment.
 */
export function clientsToRestore(
  streams: RandomStreams,
  clients: readonly ClientPlan[],
): readonly ClientPlan[] {
  // The name decides what each seed draws: another one would make other runs of the known seeds.
  if (!streams.of("restored closings").chance(COOLDOWNS_SHARE)) return clients;
  const cooldown = { minHold: 0.7, lockDelay: 0.7 };
  return clients.map((client) => ({ ...client, locks: { ...client.locks, ...cooldown } }));
}

/** The faults of the first storm that are over with it. */
export function beforeRestore(faults: readonly Fault[]): Fault[] {
  return faults.filter(({ kind }) => !LASTING.includes(kind));
}

/** Mostly an odd number of them. */
function countsUpTo(count: number): number[] {
  return [1, 2, 3, 3, 3, 4, 5].filter((one) => one <= count);
}
