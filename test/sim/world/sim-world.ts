/**
 * Everything in one run: time, paths, nodes and clients, and the supervisor of the nodes, which
 * restarts a node that ended by itself and leaves down one that is held down.
 */
import { RandomStreams } from "../../../lab/random-stream.js";
import type { Configuration, Raft } from "../../../src/raft/index.js";
import { NODE_TUNING_DEFAULTS, type NodeTuning, resolveTuning } from "../../../src/server/index.js";
import type { ViewedConnection } from "../checks/access/viewed-connection.js";
import type { DoorLaws } from "../checks/locks/door-laws.js";
import { Administrator } from "../clients/access/administrator.js";
import { Keyring } from "../clients/access/keyring.js";
import { Stranger } from "../clients/access/stranger.js";
import type { ClientWatch } from "../clients/client-watch.js";
import type { DoorOwner } from "../clients/doors/door-owner.js";
import { HttpOwner } from "../clients/doors/http-owner.js";
import { RedisOwner } from "../clients/doors/redis-owner.js";
import { ScriptOwner } from "../clients/doors/script-owner.js";
import { HandOverBoard } from "../clients/hand-over-board.js";
import type { LeaseDoor } from "../clients/leases/lease-door.js";
import { LeaseOwner } from "../clients/leases/lease-owner.js";
import { Operator } from "../clients/operator.js";
import { SdkClient } from "../clients/sdk/sdk-client.js";
import { SdkEars } from "../clients/sdk/sdk-ear.js";
import { SteadyClient, type SteadySurroundings } from "../clients/sdk/steady-client.js";
import { SimClient } from "../clients/sim-client.js";
import type { WorldClient } from "../clients/world-client.js";
import type { Simulation } from "../engine/simulation.js";
import { DRAIN_MS_MAX } from "../plan/doors-plan.js";
import { FOLLOWER, LEADER } from "../plan/fault.js";
import type { SimPlan } from "../plan/plan.js";
import type { CrashKind } from "./disk/node-disk.js";
import { type NodeCluster, newCluster } from "./founders.js";
import { ClientNetwork } from "./network/client-network.js";
import { Paths } from "./network/paths.js";
import { PeerNetwork, type PeerNetworkHooks } from "./network/peer-network.js";
import { type NodeWatch, SimNode } from "./node/sim-node.js";
import { type RestoreCommand, RestoreRun, type RestoreRunEvents } from "./restore-command.js";
import { type SaverSurroundings, SnapshotSaver } from "./snapshot-saver.js";

/** A link that was silent for this many election timeouts is given up, as in production. */
const SILENCE_TIMEOUTS = 5;
const RESTART_MS = 150;
/** Behind all clients. */
const OPERATOR_HOST = 1_000;
const SAVER_HOST = 1_001;
const ADMINISTRATOR_HOST = 1_002;
const STRANGER_HOST = 1_003;
/** Behind it the doors of each node. */
const DOORS_HOST = 3_000;
/** And behind it, by their leases. */
const STEADY_HOST = 2_000;
/** Until a client comes again that was handed another token. */
const HANDED_MS = { least: 1, most: 80 } as const;

export type WorldWatch = NodeWatch &
  ClientWatch &
  PeerNetworkHooks & {
    /** The laws of the cluster that there is now. */
    readonly doorLaws: DoorLaws;
  };

export class SimWorld {
  readonly simulation: Simulation;
  readonly paths: Paths;
  readonly peers: PeerNetwork;
  readonly nodes: readonly SimNode[];
  readonly clients: readonly WorldClient[];
  /** The owners of leases. */
  readonly owners: readonly LeaseOwner[];
  /** The owners of leases at the doors of nodes. */
  readonly doorOwners: readonly DoorOwner[];
  readonly operator: Operator;
  readonly keyring: Keyring | undefined;
  /** Where not everybody may do everything. */
  readonly administrator: Administrator | undefined;
  readonly stranger: Stranger | undefined;
  readonly tuning: NodeTuning;
  readonly #streams: RandomStreams;
  readonly #network: ClientNetwork;
  readonly #watch: ClientWatch;
  #cluster: NodeCluster;
  /** How many faults hold a node down. */
  readonly #held = new Map<number, number>();

  constructor(plan: SimPlan, simulation: Simulation, watch: WorldWatch) {
    const streams = new RandomStreams(plan.seed);
    const count = plan.nodeCount + plan.spareCount;
    const ids = Array.from({ length: count }, (_, at) => at + 1);
    this.simulation = simulation;
    this.#streams = streams;
    this.#watch = watch;
    this.tuning = resolveTuning({ ...NODE_TUNING_DEFAULTS, ...plan.tuning });
    this.paths = new Paths(streams, plan.pathTimes);
    const silenceMs = SILENCE_TIMEOUTS * this.tuning.electionTimeoutMs;
    this.peers = new PeerNetwork(simulation, streams, this.paths, ids, silenceMs, watch);
    const network = new ClientNetwork(simulation, this.paths);
    this.#network = network;
    const { tuning, peers } = this;
    const cluster = newCluster(plan.nodeCount);
    const currentMembers = (): Configuration => this.members;
    const isSecure = plan.access !== undefined;
    const shared = { simulation, streams, currentMembers, tuning, peers, watch, isSecure };
    const { diskTimes, pace, doors } = plan;
    const earsOf = ({ id, clock }: SimNode): SdkEars => {
      return new SdkEars({ host: DOORS_HOST + id }, watch, { answeredCount: 0 }, clock);
    };
    const ofNodes = { ...shared, diskTimes, pace, clients: network, doors, earsOf };
    this.nodes = ids.map((id) => new SimNode(id, cluster, ofNodes));
    this.#cluster = cluster;
    for (const id of ids) if (id > plan.nodeCount) this.hold(id);
    this.operator = new Operator({
      simulation,
      random: streams.of("operator"),
      network,
      nodes: ids,
      host: OPERATOR_HOST,
      token: () => this.keyring?.root,
      waitsForHello: isSecure,
      onAnswered: (op, status) => watch.onExecuted(op, status),
      onNote: (text) => watch.onOperatorNote(text),
    });
    const { keys, semaphores } = plan;
    const board = new HandOverBoard();
    const keyring = plan.access && new Keyring(plan.access);
    this.keyring = keyring;
    const hosts = { simulation, streams, network, watch, nodes: ids };
    const around = { ...hosts, keys, semaphores, board, keyring };
    this.clients = plan.clients.map((client) => {
      return client.speaks === "sdk"
        ? new SdkClient(client, around)
        : new SimClient(client, around);
    });
    const leaseDoors = this.#doors(plan);
    const owners = leaseDoors.length === 0 ? [] : (plan.owners ?? []);
    const forOwners = { ...hosts, keys, semaphores, board, doors: leaseDoors };
    this.owners = owners.map((owner) => new LeaseOwner(owner, forOwners));
    const isFair = doors?.isFair === true;
    const atDoors = { ...hosts, keys, isFair, laws: () => watch.doorLaws };
    this.doorOwners = (doors?.owners ?? []).map((owner) => {
      if (owner.speaks === "http") return new HttpOwner(owner, atDoors);
      return owner.speaks === "redis"
        ? new RedisOwner(owner, atDoors)
        : new ScriptOwner(owner, atDoors);
    });
    for (const { atMs, node } of doors?.drains ?? []) {
      simulation.at(atMs, () => this.#stopInPeace(node));
    }
    if (plan.access === undefined || keyring === undefined) return;
    const lines = { simulation, network, nodes: ids, keyring, waitsForHello: true };
    const view = (node: number): ViewedConnection | undefined => watch.viewOf(node);
    const forHands = streams.of("hands");
    const administrator = new Administrator(plan.access, {
      ...{ ...lines, view, host: ADMINISTRATOR_HOST, random: streams.of("administrator") },
      onHanded: (host) => {
        const delayMs = forHands.integer(HANDED_MS.least, HANDED_MS.most);
        simulation.after(delayMs, () => this.#clientOn(host)?.reconnect());
      },
      onNote: (text) => watch.onOperatorNote(text),
    });
    this.administrator = administrator;
    this.stranger = new Stranger({
      ...{ ...lines, view, host: STRANGER_HOST, random: streams.of("stranger") },
      keys: [...keys, ...semaphores.map(({ key }) => key)],
      orderCount: () => administrator.orderCount,
      isClosed: () => watch.isClosed,
    });
  }

  /** As the node that has come furthest knows them, or knew them in the life before. */
  get members(): Configuration {
    const best = furthest(this.nodes.map(({ raftOrNone, lastRaft }) => raftOrNone ?? lastRaft));
    return best?.configuration ?? this.#cluster.members;
  }

  /** Who leads the highest term; node 1 while nobody does. */
  get leaderId(): number {
    let best: Raft | undefined;
    for (const { raftOrNone: raft } of this.nodes) {
      if (raft?.role === "leader" && raft.term > (best?.term ?? 0)) best = raft;
    }
    return best?.id ?? 1;
  }

  node(id: number): SimNode {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  /** `place`: `LEADER`, `FOLLOWER` or a node's number. */
  idAt(place: number): number {
    const { leaderId, nodes } = this;
    if (place === FOLLOWER) return (leaderId % nodes.length) + 1;
    return place === LEADER ? leaderId : place;
  }

  startAll(): void {
    for (const { id } of this.nodes) this.ensure(id);
    for (const client of this.clients) client.start();
    for (const owner of [...this.owners, ...this.doorOwners]) owner.start();
    this.administrator?.begin();
    this.stranger?.begin();
  }

  /** Where owners of leases are served, by whom the doors speak for. */
  #doors({ access }: SimPlan): LeaseDoor[][] {
    const groups = new Map<string, LeaseDoor[]>();
    for (const client of this.clients) {
      if (!(client instanceof SimClient)) continue;
      const identity = access?.identities.find(({ hosts }) => hosts.includes(client.host));
      const name = identity?.name ?? "";
      groups.set(name, [...(groups.get(name) ?? []), client]);
    }
    return [...groups.values()];
  }

  #clientOn(wanted: number): WorldClient | undefined {
    return this.clients.find(({ host }) => host === wanted);
  }

  /** Everything is stopped, and nothing starts by itself: all of it is to be another cluster. */
  stopAll(kind: CrashKind): void {
    for (const node of this.nodes) {
      this.#held.set(node.id, 1);
      node.crash(kind);
    }
  }

  /** Its founders are to be let go, and the other machines are there to be added. */
  found(cluster: NodeCluster): void {
    this.#cluster = cluster;
    this.#network.mute();
    this.administrator?.end();
    this.operator.goOn();
  }

  /** Its machine is to be one of the current cluster's. */
  replace(node: SimNode): void {
    this.hold(node.id);
    node.crash("kill");
    node.vacate();
    node.joinCluster(this.#cluster);
  }

  /** Somebody who saves what the cluster knows. */
  saver(events: Pick<SaverSurroundings, "committedIndex" | "onSaved" | "onBroken">): SnapshotSaver {
    const nodes = this.nodes.map(({ id }) => id);
    const [simulation, streams, network] = [this.simulation, this.#streams, this.#network];
    const token = (): string | undefined => this.keyring?.root;
    const around = { simulation, streams, network, nodes, host: SAVER_HOST, token };
    return new SnapshotSaver({ ...around, ...events });
  }

  /** An application that does the same over and over, with a lease of `ttlMs`. */
  steadyClient(
    ttlMs: number,
    events: Pick<SteadySurroundings, "onCalled" | "onBroken">,
  ): SteadyClient {
    const nodes = this.nodes.map(({ id }) => id);
    const [simulation, streams, network] = [this.simulation, this.#streams, this.#network];
    const host = STEADY_HOST + ttlMs / 1_000;
    const around = { simulation, streams, network, nodes, watch: this.#watch };
    return new SteadyClient(host, ttlMs, { ...around, ...events });
  }

  restoring(
    id: number,
    mayBeCutShort: boolean,
    command: RestoreCommand,
    events: RestoreRunEvents,
  ): RestoreRun {
    return new RestoreRun(this.node(id), command, this.#streams, mayBeCutShort, events);
  }

  /** Its doors end, and then its process; a supervisor starts it again. */
  #stopInPeace(id: number): void {
    this.hold(id);
    this.node(id).leave(DRAIN_MS_MAX);
    this.simulation.after(DRAIN_MS_MAX, () => this.letGo(id));
  }

  hold(id: number): void {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
  }

  letGo(id: number): void {
    this.#held.set(id, Math.max(0, (this.#held.get(id) ?? 0) - 1));
    this.ensure(id);
  }

  ensure(id: number): void {
    if ((this.#held.get(id) ?? 0) === 0) this.node(id).start();
  }

  /** The process of `id` ended by itself. */
  ensureLater(id: number): void {
    this.simulation.after(RESTART_MS, () => this.ensure(id));
  }
}

function furthest(rafts: readonly (Raft | undefined)[]): Raft | undefined {
  let best: Raft | undefined;
  for (const raft of rafts) {
    if (raft === undefined || raft.configuration.voters.length === 0) continue;
    if (best === undefined || raft.commitIndex > best.commitIndex) best = raft;
  }
  return best;
}
