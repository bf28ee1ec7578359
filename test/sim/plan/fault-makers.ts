/**
 * Makes the faults of a plan: one maker for each kind. Damage that a node cannot repair by
 * itself happens only to expendable nodes, fewer than half of all, so that every committed entry
 * always stays on a majority of sound disks.
 */
import type { RandomStream } from "../../../lab/random-stream.js";
import type { DiskMoment } from "../world/disk/node-disk.js";
import type { ClientPlan } from "./client-plan.js";
import { type Fault, type FaultKind, FOLLOWER, LEADER, type Question } from "./fault.js";

export interface FaultScene {
  readonly stormMs: number;
  readonly ids: readonly number[];
  /** May lose what is on their disks for good. */
  readonly expendable: readonly number[];
  readonly clients: readonly ClientPlan[];
  /** May be added to the cluster. */
  readonly spares: readonly number[];
}

/** `undefined` where the scene has nothing of the kind. */
type FaultMaker = (random: RandomStream, atMs: number, scene: FaultScene) => Fault | undefined;

const MOMENTS: readonly DiskMoment[] = [
  "snapshotNamed",
  "snapshotNamed",
  "record",
  "segmentNamed",
  "fileRemoved",
];

const QUESTIONS: readonly Question[] = ["resume", "adopt", "recall", "handOver"];

/** Now and then the leader, which is where most harm can be done. */
function victim(random: RandomStream, ids: readonly number[]): number {
  return random.chance(0.4) ? LEADER : random.pick(ids);
}

function twoOf(random: RandomStream, ids: readonly number[]): [number, number] | undefined {
  const [one, other] = random.shuffled(ids);
  return one === undefined || other === undefined ? undefined : [one, other];
}

export const FAULT_MAKERS: Readonly<Record<FaultKind, FaultMaker>> = {
  crash: (random, atMs, { ids }) => ({
    kind: "crash",
    atMs,
    node: victim(random, ids),
    crash: random.pick(["kill", "power"] as const),
    downMs: random.integer(1, 1_200),
    afterEffects: random.chance(0.5) ? random.integer(1, 40) : 0,
  }),
  crashAtMoment: (random, atMs, { ids }) => ({
    kind: "crashAtMoment",
    atMs,
    node: victim(random, ids),
    moment: random.pick(MOMENTS),
    crash: random.pick(["kill", "power", "power"] as const),
    downMs: random.integer(1, 200),
    afterEffects: random.integer(0, 3),
    againAfterEffects: random.integer(1, 40),
  }),
  aloneAtInstall: (random, atMs, { ids }) => {
    if (ids.length < 3) return undefined;
    const [awayMs, hangMs] = [random.integer(100, 400), random.integer(10, 90)];
    const downMs = random.integer(50, 400);
    return { kind: "aloneAtInstall", atMs, node: FOLLOWER, awayMs, hangMs, downMs };
  },
  lateTurns: (random, atMs, { ids }) => ({
    kind: "lateTurns",
    atMs,
    node: victim(random, ids),
    heartbeats: random.integer(1, 3),
    forMs: random.integer(500, 2_500),
  }),
  holdAnswers: (random, atMs, { clients }) => {
    const { host, ttlMs } = random.pick(clients);
    const byMs = random.integer(Math.floor(ttlMs / 4), Math.floor(ttlMs / 3));
    const pauseMs = random.chance(0.4) ? random.integer(byMs, ttlMs + 500) : 0;
    const forMs = random.integer(5, 200);
    return { kind: "holdAnswers", atMs, client: host, byMs, forMs, pauseMs };
  },
  cutAtAsking: (random, atMs, { clients }) => {
    const client = random.pickOrNone(clients.filter(({ speaks }) => speaks === "sdk"));
    if (client === undefined) return undefined;
    const forMs = random.integer(10, client.ttlMs);
    const afterMs = random.pick([0, 0, 1, random.integer(1, 20)]);
    const question = random.pick(QUESTIONS);
    return { kind: "cutAtAsking", atMs, client: client.host, question, afterMs, forMs };
  },
  crashAll: (random, atMs) => ({
    kind: "crashAll",
    atMs,
    crash: random.pick(["kill", "power"] as const),
    downMs: random.integer(1, 500),
  }),
  pause: (random, atMs, { ids }) => ({
    kind: "pause",
    atMs,
    node: victim(random, ids),
    forMs: random.integer(10, 1_500),
  }),
  pauseClient: (random, atMs, { clients }) => {
    const { host, ttlMs } = random.pick(clients);
    const forMs = random.integer(100, 4_000);
    // A holder that stood still for less would learn nothing that it did not know.
    const whenGranted = random.chance(0.5);
    const shortMs = whenGranted ? ttlMs : 0;
    return { kind: "pauseClient", atMs, client: host, forMs: shortMs + forMs, whenGranted };
  },
  reconnectClient: (random, atMs, { clients }) => ({
    kind: "reconnectClient",
    atMs,
    client: random.pick(clients).host,
  }),
  cutAtAttach: (random, atMs, { clients }) => {
    const client = random.pickOrNone(clients.filter(({ speaks }) => speaks === "sdk"));
    if (client === undefined) return undefined;
    // Most sessions outlive that, and their clients ask once more what they missed.
    const forMs = random.integer(10, 300);
    return { kind: "cutAtAttach", atMs, client: client.host, forMs };
  },
  restartClient: (random, atMs, { clients }) => {
    const client = random.pickOrNone(clients.filter(({ speaks }) => speaks === "sdk"));
    if (client === undefined) return undefined;
    const how = random.pick(["kill", "handOver", "handOver", "twins"] as const);
    // Longer than a lease, and than most bearers have what they have.
    const downMs = random.integer(1, random.chance(0.2) ? client.ttlMs + 1_000 : 600);
    return { kind: "restartClient", atMs, client: client.host, how, downMs };
  },
  partition: (random, atMs, { ids, clients }) => {
    if (ids.length === 1) return undefined;
    const all = [...ids, ...clients.map(({ host }) => host)];
    const share = random.pick([0.2, 0.4]);
    const some = all.filter(() => random.chance(share));
    const side = random.chance(0.5) ? [LEADER, ...some] : some;
    return { kind: "partition", atMs, side, forMs: random.integer(20, 2_000) };
  },
  bridge: (random, atMs, { ids }) => {
    if (ids.length < 3) return undefined;
    return { kind: "bridge", atMs, node: random.pick(ids), forMs: random.integer(100, 2_000) };
  },
  cut: (random, atMs, { ids, clients }) => {
    const hosts = random.chance(0.7) ? ids : [...ids, ...clients.map(({ host }) => host)];
    const ends = twoOf(random, hosts);
    if (ends === undefined) return undefined;
    const [from, to] = ends;
    return { kind: "cut", atMs, from, to, forMs: random.integer(10, 2_000) };
  },
  reset: (random, atMs, { ids }) => {
    const ends = twoOf(random, ids);
    if (ends === undefined) return undefined;
    const [from, to] = ends;
    return { kind: "reset", atMs, from, to };
  },
  slow: (random, atMs, { ids, clients }) => {
    const ends = twoOf(random, [...ids, ...clients.map(({ host }) => host)]);
    if (ends === undefined) return undefined;
    const [from, to] = ends;
    const forMs = random.integer(100, 2_000);
    return { kind: "slow", atMs, from, to, byMs: random.integer(5, 120), forMs };
  },
  disorder: (random, atMs, { ids }) => {
    if (ids.length === 1) return undefined;
    const share = random.pick([0.02, 0.1, 0.4]);
    return { kind: "disorder", atMs, share, forMs: random.integer(500, 4_000) };
  },
  hangDisk: (random, atMs, { ids }) => ({
    kind: "hangDisk",
    atMs,
    node: victim(random, ids),
    forMs: random.integer(50, 1_000),
  }),
  slowDisk: (random, atMs, { ids }) => ({
    kind: "slowDisk",
    atMs,
    node: victim(random, ids),
    factor: random.integer(5, 40),
    forMs: random.integer(100, 1_500),
  }),
  fullDisk: (random, atMs, { ids }) => ({
    kind: "fullDisk",
    atMs,
    node: random.pick(ids),
    forMs: random.integer(100, 2_000),
  }),
  scarceMemory: (random, atMs, { ids }) => ({
    kind: "scarceMemory",
    atMs,
    node: victim(random, ids),
    forMs: random.integer(10, 800),
  }),
  failWrite: (random, atMs, { ids }) => ({
    kind: "failWrite",
    atMs,
    node: victim(random, ids),
    afterOperations: random.integer(0, 20),
  }),
  failRead: (random, atMs, { ids }) => ({
    kind: "failRead",
    atMs,
    node: random.pick(ids),
    afterOperations: random.integer(0, 12),
    downMs: random.integer(1, 300),
  }),
  flipBits: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    const bits = random.integer(1, 3);
    return { kind: "flipBits", atMs, node, bits, downMs: random.integer(1, 500) };
  },
  loseSegment: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined || random.chance(0.5)) return undefined;
    return { kind: "loseSegment", atMs, node, downMs: random.integer(1, 500) };
  },
  loseRecords: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    const isTail = random.chance(0.5);
    return { kind: "loseRecords", atMs, node, isTail, downMs: random.integer(1, 500) };
  },
  loseKeys: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    const keys = random.integer(1, 3);
    return { kind: "loseKeys", atMs, node, keys, downMs: random.integer(1, 500) };
  },
  rot: (random, atMs, { ids, expendable }) => {
    const node = random.pickOrNone(expendable);
    const away = random.pickOrNone(ids.filter((id) => id !== node));
    if (node === undefined || away === undefined) return undefined;
    const harm = { bits: random.integer(0, 3), keys: random.integer(1, 3) };
    return { kind: "rot", atMs, node, ...harm, away, forMs: random.integer(200, 1_500) };
  },
  wipeDisk: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    return { kind: "wipeDisk", atMs, node, downMs: random.integer(1, 500) };
  },
  recover: (random, atMs, { expendable }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    return { kind: "recover", atMs, node, isLost: random.chance(0.5) };
  },
  oldCopy: (random, atMs, { expendable, stormMs }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    const times = { starts: random.integer(2, 4), everyMs: random.integer(200, 500) };
    return { kind: "oldCopy", atMs: atMs % (stormMs / 2), node, ...times, downMs: 50 };
  },
  otherVersion: (random, _atMs, { expendable, stormMs }) => {
    const node = random.pickOrNone(expendable);
    if (node === undefined) return undefined;
    const forMs = random.integer(500, stormMs);
    // From the beginning: nobody has seen it with other data.
    return { kind: "otherVersion", atMs: 0, node, by: random.pick([-1, 1] as const), forMs };
  },
  transfer: (random, atMs, { ids }) => {
    const node = random.chance(0.5) ? 0 : random.pick(ids);
    return { kind: "transfer", atMs, node };
  },
  crashLeaders: (random, atMs, { ids }) => {
    if (ids.length === 1) return undefined;
    return {
      kind: "crashLeaders",
      atMs,
      times: random.integer(2, 6),
      everyMs: random.integer(100, 400),
      crash: random.pick(["kill", "power"] as const),
      downMs: random.integer(20, 600),
      afterEffects: random.integer(1, 12),
    };
  },
  strand: (random, atMs, { ids, spares }) => {
    if (ids.length === 1) return undefined;
    const member = random.pickOrNone(spares);
    return {
      kind: "strand",
      atMs,
      node: random.chance(0.9) ? LEADER : random.pick(ids),
      byMs: random.integer(20, 250),
      forMs: random.integer(500, 1_500),
      act: random.pick(["cut", "transfer", member === undefined ? "cut" : "cutAndChange"] as const),
      member: member ?? 0,
    };
  },
  changeMember: (random, atMs, { ids, spares }) => {
    const spare = random.pickOrNone(spares);
    if (spare === undefined) return undefined;
    const action = random.pick(["add", "add", "promote", "promote", "demote", "remove"] as const);
    const isAboutSpare = action === "add" || action === "promote" || random.chance(0.3);
    const node = isAboutSpare ? spare : random.pick(ids);
    const crashAfterMs = random.chance(0.5) ? random.integer(1, 20) : 0;
    return { kind: "changeMember", atMs, action, node, crashAfterMs, downMs: 400 };
  },
  learnersOnly: (random, atMs, { ids, spares }) => {
    const member = random.pickOrNone(spares);
    if (member === undefined || ids.length === 1) return undefined;
    return { kind: "learnersOnly", atMs, member, forMs: random.integer(100, 800) };
  },
  jumpWall: (random, atMs, { ids }) => ({
    kind: "jumpWall",
    atMs,
    node: random.pick(ids),
    byMs: random.integer(-100_000, 100_000),
  }),
};
