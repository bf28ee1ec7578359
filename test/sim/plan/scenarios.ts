/**
 * What a plan must have so that a seeded bug can have an effect in it. Seeds whose plans lack that are not
 * tried while a seed is looked for; fresh ones, which measure, are taken as they come.
 */
import type { DoorOwnerPlan, ScriptForm } from "./doors-plan.js";
import type { Fault, FaultKind } from "./fault.js";
import type { SimPlan } from "./plan.js";

type Reaches = (plan: SimPlan) => boolean;

/** A change of the leader so often that reads at followers are asked in one term and answered in another. */
const HAND_OVERS_MIN = 20;
/** Fewer slots have hardly ever several gaps. */
const WIDE_MIN = 10;

function faultsOf({ faults, restore }: SimPlan): readonly Fault[] {
  return [...faults, ...(restore?.faults ?? [])];
}

function has(...kinds: readonly Fault["kind"][]): Reaches {
  return (plan) => faultsOf(plan).some(({ kind }) => kinds.includes(kind));
}

function sdk({ clients }: SimPlan): boolean {
  return clients.some(({ speaks }) => speaks === "sdk");
}

function hasUpgrades({ clients }: SimPlan): boolean {
  return clients.some(({ locks }) => locks.upgrade > 0);
}

function isCutOff(plan: SimPlan): boolean {
  return sdk(plan) && has("reconnectClient", "cutAtAttach", "cutAtAsking", "partition")(plan);
}

function owns(speaks: DoorOwnerPlan["speaks"]): Reaches {
  return ({ doors }) => doors?.owners.some((owner) => owner.speaks === speaks) === true;
}

function locksBy(form: ScriptForm): Reaches {
  return ({ doors }) => doors?.owners.some(({ forms }) => forms.includes(form)) === true;
}

function isDeparture(fault: Fault): boolean {
  return fault.kind === "restartClient" && fault.how !== "kill";
}

const DAMAGE: readonly FaultKind[] = ["flipBits", "loseSegment", "loseRecords", "loseKeys", "rot"];

export const SCENARIOS = {
  "any plan": () => true,
  "several nodes": ({ nodeCount, spareCount }) => nodeCount + spareCount > 1,
  snapshots: ({ tuning, restore }) => {
    return tuning.snapshotLogBytes !== undefined || restore !== undefined;
  },
  "changing members": ({ spareCount }) => spareCount > 0,
  batches: ({ tuning, isTimed }) => isTimed || (tuning.spareDelayMs ?? 0) > 0,
  "frames out of order": has("disorder"),
  "damaged disks": has(...DAMAGE),
  "full disks": has("fullDisk"),
  "lost directories": has("wipeDisk", "recover", "oldCopy"),
  "another version": has("otherVersion"),
  "deaths in writes that count": has("crashAtMoment"),
  "late turns": has("lateTurns"),
  "leaders that change every moment": (plan) => {
    return faultsOf(plan).filter(({ kind }) => kind === "transfer").length >= HAND_OVERS_MIN;
  },
  "little room": (plan) => {
    return plan.tuning.uncommittedBytesMax !== undefined || has("scarceMemory")(plan);
  },
  semaphores: ({ clients, owners = [] }) => {
    return (
      clients.some(({ locks }) => locks.permits > 0) || owners.some(({ mix }) => mix.permits > 0)
    );
  },
  "wide semaphores": ({ semaphores }) => semaphores.some(({ limit }) => limit >= WIDE_MIN),
  upgrades: hasUpgrades,
  "tasks with several claims": ({ clients }) => {
    return clients.some(({ speaks, locks }) => speaks === "protocol" && locks.nested > 0);
  },
  "holds that are ended twice": ({ clients }) => clients.some(({ locks }) => locks.endAgain > 0),
  "holds handed over": ({ clients }) => clients.some(({ locks }) => locks.handOver > 0),
  "restored clusters": ({ restore }) => restore !== undefined,
  "limited access": ({ access }) => access !== undefined,
  "leases of owners": ({ owners = [] }) => owners.length > 0,
  "doors of HTTP": owns("http"),
  "doors of Redis": owns("redis"),
  "fair doors of Redis": (plan) => plan.doors?.isFair === true && owns("redis")(plan),
  "scripts at doors": owns("scripts"),
  "scripts that count holders": (plan) => locksBy("count")(plan) || locksBy("gate")(plan),
  "scripts that lock two keys": locksBy("pair"),
  applications: sdk,
  "applications with upgrades": (plan) => sdk(plan) && hasUpgrades(plan),
  "applications that are cut off": isCutOff,
  "upgrades of applications that are cut off": (plan) => isCutOff(plan) && hasUpgrades(plan),
  "applications that hand everything over": (plan) => {
    return sdk(plan) && faultsOf(plan).some(isDeparture);
  },
  "two heirs and little room": (plan) => {
    const isNarrow = plan.tuning.uncommittedBytesMax !== undefined || has("scarceMemory")(plan);
    return isNarrow && faultsOf(plan).some((f) => f.kind === "restartClient" && f.how === "twins");
  },
  "upgrades with late answers": (plan) => {
    return (
      sdk(plan) && hasUpgrades(plan) && has("holdAnswers")(plan) && faultsOf(plan).some(isDeparture)
    );
  },
  "one trouble after the other": ({ isTimed }) => isTimed,
  "machines that sleep": has("suspendClient"),
  "silent nodes": ({ silence }) => silence !== undefined,
} as const satisfies Record<string, Reaches>;

export type ScenarioName = keyof typeof SCENARIOS;

export function reaches(scenario: ScenarioName, plan: SimPlan): boolean {
  const reached: Reaches = SCENARIOS[scenario];
  return reached(plan);
}
