/**
 * One node: a disk that outlives its processes, and the process that runs on it now, if any. A life
 * is: open the directory, boot, drive; all of it the code of production, all of it in simulated time.
 */

import type { RandomStreams } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import type { PeerEvents, PeerIdentity, PeerMessage } from "../../../../src/net/index.js";
import { KnownPeers } from "../../../../src/net/peers/known-peers.js";
import {
  type Configuration,
  type MemberAddress,
  membersOf,
  type Raft,
} from "../../../../src/raft/index.js";
import { type AssembledDriver, bootDriver, type NodeTuning } from "../../../../src/server/index.js";
import type { LogLevel } from "../../../../src/server/ports.js";
import {
  type DataDirectory,
  damageOf,
  type NodeIdentity,
  openDataDirectory,
  setDataAside,
} from "../../../../src/storage/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { DoorSettings } from "../../plan/doors-plan.js";
import type { Pace } from "../../plan/plan.js";
import type { DiskTimes } from "../disk/disk-weather.js";
import { type CrashKind, type DiskCopy, NodeDisk } from "../disk/node-disk.js";
import { type LogWatch, WatchedLog } from "../disk/watched-log.js";
import { watchSnapshots } from "../disk/watched-snapshots.js";
import { SimulatedDoors } from "../doors/simulated-doors.js";
import type { NodeCluster } from "../founders.js";
import type { ClientNetwork } from "../network/client-network.js";
import type { PeerNetwork } from "../network/peer-network.js";
import { SimulatedGateway } from "../network/simulated-gateway.js";
import { driftingClock } from "./drifting-clock.js";
import { NodeScheduler } from "./node-scheduler.js";
import { PeerMemory } from "./peer-memory.js";
import { type Ear, endpointOf } from "./sdk-platform.js";
import { type CoreWatch, watchCore } from "./watched-core.js";

/** `quarantined`: its files are damaged. `removed`: it belongs to the cluster no more. */
export type NodeState = "down" | "starting" | "running" | "quarantined" | "removed";

export interface NodeSurroundings {
  readonly simulation: Simulation;
  readonly streams: RandomStreams;
  /** What a node that is to join learns from the nodes that it asks. */
  readonly currentMembers: () => Configuration;
  readonly tuning: NodeTuning;
  readonly diskTimes: DiskTimes;
  readonly pace: Pace;
  readonly peers: PeerNetwork;
  readonly clients: ClientNetwork;
  readonly watch: NodeWatch;
  /** Clients may send tokens to it. */
  readonly isSecure: boolean;
  /** What else than its own clients its nodes serve; `undefined`: nothing. */
  readonly doors: DoorSettings | undefined;
  /** Who hears what the doors of a process and its node say to each other. */
  readonly earsOf: (node: SimNode) => { listen(node: number): Ear };
}

/** What a node reports to those who watch it. */
export interface NodeWatch {
  /** The directory is open, nothing runs on it yet. */
  onBoot(node: SimNode, directory: DataDirectory): void;
  onStarted(node: SimNode): void;
  /** Asked before its driver starts. */
  coreOf(node: SimNode, raft: Raft): CoreWatch;
  /** `isRefused`: its files are damaged for good. */
  onStartFailed(node: SimNode, error: unknown, isRefused: boolean): void;
  onCrash(node: SimNode, kind: CrashKind): void;
  /** It is down, and what it promised is not on its disk any more. */
  onWiped(node: SimNode): void;
  /** Behind `onWiped`: its disk is as it was at some time before. */
  onPutBack(node: SimNode): void;
  /** Behind `onWiped`: its directory is a fresh one, which waits to receive everything. */
  onRecovered(node: SimNode): void;
  /** Nothing is lost by it: it may be repeated. */
  onRecoveryFailed(node: SimNode, error: unknown): void;
  /** It lets in, or is let in by, a node that says this of itself. */
  onMet(node: SimNode, identity: PeerIdentity): void;
  /** Its log says that it has noted that durably. */
  onNoted(node: SimNode, identity: PeerIdentity): void;
  /** Its driver cannot go on. `isRemoved`: because the cluster has other members now. */
  onFailed(node: SimNode, error: Error, isRemoved: boolean): void;
  /** A message of another node reached it. */
  onReceive(node: SimNode, message: PeerMessage): void;
  /** A turn of its loop ended. */
  afterTurn(node: SimNode): void;
  /** A request to one of its doors failed by something that nobody expects. */
  onDoorFailed(node: SimNode, what: string): void;
  onLogged(node: SimNode, level: LogLevel, event: string, fields?: Record<string, unknown>): void;
  logOf(node: SimNode): LogWatch;
  /** It wrote a snapshot of everything up to `index`, with these members, encoded. */
  onSnapshot(node: SimNode, index: number, configuration: Uint8Array): void;
}

export class SimNode {
  readonly id: number;
  readonly disk: NodeDisk;
  readonly clock: ProcessClock;
  readonly memory = { isScarce: false };
  /** By how much each of its turns ends late at the moment. */
  lateMs = 0;
  readonly #world: NodeSurroundings;
  #state: NodeState = "down";
  #life: ProcessLife | undefined;
  #assembled: AssembledDriver | undefined;
  #doors: SimulatedDoors | undefined;
  #gateway: SimulatedGateway | undefined;
  #lastRaft: AssembledDriver["raft"] | undefined;
  #startCount = 0;
  #startsLeft = Number.POSITIVE_INFINITY;
  /** Damage was done to the disk since it was last opened without complaint. */
  #isDamaged = false;
  /** Damage was done to the disk at some time, and may be found at any later one. */
  mayBeDamaged = false;
  /**
   * Its directory was emptied, or is an old copy, and it was started on it again: the others know
   * better, and never let it in. Until it is recovered.
   */
  isForgetful = false;
  /** On which directory it runs, or ran last. */
  #identity: NodeIdentity | undefined;
  /** What it has noted of the others. */
  readonly noted = new PeerMemory();
  /**
   * The version of the model that runs on it, counted from the version of the sources. Its data are
   * of the same version.
   */
  versionOffset = 0;
  /** The index behind which its table was last looked at. */
  comparedIndex = 0;

  /** For which its directory is made when it has none. */
  #cluster: NodeCluster;

  constructor(id: number, cluster: NodeCluster, world: NodeSurroundings) {
    const { simulation, streams, diskTimes } = world;
    this.id = id;
    this.#cluster = cluster;
    this.#world = world;
    this.disk = new NodeDisk(simulation, streams.of(`disk ${id}`), diskTimes);
    this.clock = driftingClock(simulation, streams.of(`clock ${id}`));
  }

  get clusterId(): string {
    return this.#cluster.id;
  }

  get state(): NodeState {
    return this.#state;
  }

  get simulation(): Simulation {
    return this.#world.simulation;
  }

  get tuning(): NodeTuning {
    return this.#world.tuning;
  }

  /** What runs on the node. Needs a node that runs. */
  get assembled(): AssembledDriver {
    if (this.#assembled === undefined) throw new Error(`node ${this.id} does not run`);
    return this.#assembled;
  }

  get raftOrNone(): AssembledDriver["raft"] | undefined {
    return this.#assembled?.raft;
  }

  /** The connections of clients with its process, and of its doors. */
  get openConnections(): readonly { readonly isOpen: boolean }[] {
    return this.#gateway?.open ?? [];
  }

  /** The core of the life before the current one. */
  get lastRaft(): AssembledDriver["raft"] | undefined {
    return this.#lastRaft;
  }

  /** Its process has not died, not even within the current turn. */
  get isAlive(): boolean {
    return this.#life?.isAlive === true;
  }

  get isPaused(): boolean {
    return this.#life?.isPaused === true;
  }

  start(): void {
    if (this.#state !== "down" || this.#startsLeft === 0) return;
    this.#state = "starting";
    this.#startCount += 1;
    this.#startsLeft -= 1;
    const life = new ProcessLife(this.#world.simulation);
    this.#life = life;
    this.#boot(life).catch((error: unknown) => {
      if (this.#life === life) this.#onStartFailed(error);
    });
  }

  crash(kind: CrashKind): void {
    const life = this.#life;
    if (life === undefined) return;
    life.end();
    this.#life = undefined;
    this.#assembled?.driver.stop().catch(() => {});
    this.#lastRaft = this.#assembled?.raft ?? this.#lastRaft;
    this.#assembled = undefined;
    this.#doors = undefined;
    this.#state = "down";
    this.disk.crash(kind);
    this.#world.peers.leave(this.id, kind);
    this.#world.clients.leave(this.id, kind);
    this.#world.watch.onCrash(this, kind);
  }

  /** Dies in the middle of a turn: `effects` more reach the world, the next does not. */
  crashAfterEffects(effects: number, kind: CrashKind): void {
    const life = this.#life;
    life?.dieAfterEffects(effects, () => {
      if (this.#life === life) this.crash(kind);
    });
  }

  /** Needs a node that is down. */
  wipe(): void {
    this.disk.wipe();
    this.#forget();
    this.#onMadeAnew();
  }

  #onMadeAnew(): void {
    this.#startsLeft = Number.POSITIVE_INFINITY;
    this.#isDamaged = false;
    this.mayBeDamaged = false;
    this.noted.forget();
  }

  /** On which start of its directory it is, or was last. */
  get incarnation(): number {
    return this.#identity?.incarnation ?? 0;
  }

  /** It can be started on the copy this many times. Needs a node that is down. */
  putBack(copy: DiskCopy, starts: number): void {
    this.disk.putBack(copy);
    this.#startsLeft = starts;
    this.#forget();
    this.#world.watch.onPutBack(this);
  }

  /**
   * Does what `holdfast recover` does on its machine; `isForgetful` says whether it got that far. To be
   * repeated when it was cut short. Needs a node that is down.
   */
  recover(incarnationMin: number): void {
    this.#forget();
    const random = this.#world.streams.of(`node ${this.id} recovery ${this.#startCount}`);
    const node = { nodeId: this.id, clusterId: this.clusterId, incarnationMin };
    const work = (life: ProcessLife): Promise<unknown> => {
      return setDataAside({ path: "/data", ...node, ...this.disk.meansFor(life, random) });
    };
    this.runCommand(work, "kill", {
      done: () => {
        this.isForgetful = false;
        this.#onMadeAnew();
        this.#world.watch.onRecovered(this);
      },
      failed: (error) => this.#world.watch.onRecoveryFailed(this, error),
    });
  }

  /**
   * On its machine somebody runs a command, which ends with `ending` for the disk. When it is cut
   * short the node is down, and neither callback is called. Needs a node that is down.
   */
  runCommand<T>(
    work: (life: ProcessLife) => Promise<T>,
    ending: CrashKind,
    then: { done(result: T): void; failed(error: unknown): void },
  ): void {
    const life = new ProcessLife(this.#world.simulation);
    this.#life = life;
    this.#state = "starting";
    const end = (): boolean => {
      if (this.#life !== life) return false;
      this.crash(ending);
      return true;
    };
    work(life).then(
      (result) => {
        if (end()) then.done(result);
      },
      (error: unknown) => {
        if (end()) then.failed(error);
      },
    );
  }

  /** Somebody sets its data aside by hand, in whatever state they are. Needs one without a process. */
  vacate(): void {
    this.#state = "down";
    this.disk.wipe();
    this.#onMadeAnew();
    this.isForgetful = false;
    this.versionOffset = 0;
    this.#lastRaft = undefined;
    this.#identity = undefined;
  }

  /** What is made on its machine from now on is of that cluster. */
  joinCluster(cluster: NodeCluster): void {
    this.#cluster = cluster;
  }

  /**
   * It begins on an empty directory, by an executable of this version. Nodes that it never
   * connected to count on nothing that it had. Needs a node that is down.
   */
  begin(versionOffset: number): void {
    this.wipe();
    this.isForgetful = false;
    this.versionOffset = versionOffset;
  }

  /** What was promised on this disk is forgotten on it. */
  #forget(): void {
    this.isForgetful = true;
    this.#world.watch.onWiped(this);
  }

  /** Its disk is not what was written on it. */
  onDamaged(): void {
    this.#isDamaged = true;
    this.mayBeDamaged = true;
  }

  /** Whether `error` may be what its disk has made it say. */
  isExcusable(error: unknown): boolean {
    return this.disk.weather.hasFailed || (this.mayBeDamaged && damageOf(error) !== undefined);
  }

  /** Its machine is left alone: a process that was there only to be seen is ended. */
  takeDown(): void {
    if (this.#state === "quarantined") this.#state = "down";
    this.crash("power");
  }

  /** Whether it has noted, durably, on which directory the other one came. */
  remembers(other: SimNode): boolean {
    const birth = other.#identity?.birth;
    return birth !== undefined && this.noted.birthOf(other.id) === birth;
  }

  pause(): void {
    this.#life?.pause();
    this.#world.peers.onPaused(this.id);
  }

  resume(): void {
    this.#life?.resume();
  }

  /** Its process has its hands full for this long, from the end of the current turn on. */
  beBusy(forMs: number): void {
    this.#life?.beBusy(forMs);
  }

  async #boot(life: ProcessLife): Promise<void> {
    const { watch, tuning, streams } = this.#world;
    const random = streams.of(`node ${this.id} life ${this.#startCount}`);
    const directory = await openDataDirectory({
      path: "/data",
      nodeId: this.id,
      clusterId: this.clusterId,
      origin: this.#founds ? "initial" : "joined",
      segmentBytes: tuning.segmentBytes,
      fileSystem: this.disk.filesFor(life),
      openStore: (_path, mustExist) => this.disk.openStoreFor(life, mustExist),
      ports: {
        timer: (delayMs, task) => life.timer(delayMs, task),
        nowMs: () => this.clock.nowMs(),
        randomBytes: (count) => Uint8Array.from({ length: count }, () => random.below(256)),
      },
    });
    this.#identity = directory.identity;
    watch.onBoot(this, directory);
    const known = new KnownPeers(directory.knownPeers());
    const gateway = new SimulatedGateway(life);
    const assembled = await this.#assemble(life, directory, gateway, random.next);
    gateway.events = assembled.driver.clientEvents;
    this.#gateway = gateway;
    watchCore(assembled.raft, watch.coreOf(this, assembled.raft));
    this.#assembled = assembled;
    this.#state = "running";
    this.#isDamaged = false;
    this.comparedIndex = 0;
    this.#join(life, directory, known, assembled);
    this.#world.clients.listen(this.id, gateway);
    assembled.driver.start();
    this.#openDoors(life, gateway, assembled);
    watch.onStarted(this);
  }

  #openDoors(life: ProcessLife, gateway: SimulatedGateway, assembled: AssembledDriver): void {
    const { doors: settings, watch, tuning, streams, clients: network } = this.#world;
    if (settings === undefined) return;
    const { id, clock } = this;
    const ears = this.#world.earsOf(this);
    const doors = new SimulatedDoors({
      ...{ id, life, clock, gateway, assembled, tuning, settings, network },
      random: streams.of(`doors ${id} life ${this.#startCount}`),
      listen: (node) => ears.listen(node),
      log: (level, event, fields) => {
        watch.onLogged(this, level, event, fields);
        if (level === "error") watch.onDoorFailed(this, `${event} ${JSON.stringify(fields)}`);
      },
    });
    gateway.doors = doors;
    this.#doors = doors;
    doors.serve();
  }

  /** It stops in peace: its doors end first, and then its process, which is killed after `limitMs`. */
  leave(limitMs: number): void {
    const life = this.#life;
    const doors = this.#doors;
    if (life === undefined || doors === undefined) return;
    const end = (): void => {
      if (this.#life === life) this.crash("kill");
    };
    void doors.drain().then(end);
    this.#world.simulation.after(limitMs, end);
  }

  #assemble(
    life: ProcessLife,
    directory: DataDirectory,
    gateway: SimulatedGateway,
    random: () => number,
  ): Promise<AssembledDriver> {
    const { watch, tuning, peers, isSecure } = this.#world;
    const log = new WatchedLog(directory.log, life, this.#logWatch());
    watchSnapshots(directory.snapshots, (...snapshot) => watch.onSnapshot(this, ...snapshot));
    const options = { group: 0, founders: this.#founds ? this.#cluster.told : undefined, tuning };
    return bootDriver(
      { ...options, advertise: endpointOf(this.id, isSecure) },
      {
        peers: peers.linksOf(this.id, life),
        gateway,
        clock: this.clock,
        memory: this.memory,
        scheduler: this.#schedulerOf(life),
        random,
        logger: (...line) => watch.onLogged(this, ...line),
        onPeers: (members) => peers.setPeers(this.id, life, this.#peersAmong(members)),
        // What a process still says of its death reaches nobody.
        onFailure: (error) => {
          if (life.isAlive) this.#onFailed(life, error);
        },
      },
      { ...directory, log },
    );
  }

  #schedulerOf(life: ProcessLife): NodeScheduler {
    const { watch, pace, streams } = this.#world;
    const random = streams.of(`pace ${this.id} life ${this.#startCount}`);
    const afterTask = (): void => watch.afterTurn(this);
    return new NodeScheduler(life, this.clock, pace, () => this.lateMs, random, afterTask);
  }

  #logWatch(): LogWatch {
    const watch = this.#world.watch.logOf(this);
    return {
      onAppend: (write) => {
        watch.onAppend(write);
        if (write.snapshot !== undefined) this.disk.onSnapshotNamed(write.snapshot.isReset);
      },
      onDurable: (seq) => watch.onDurable(seq),
    };
  }

  #join(
    life: ProcessLife,
    directory: DataDirectory,
    known: KnownPeers,
    { driver, raft }: AssembledDriver,
  ): void {
    const { peerEvents } = driver;
    const events: PeerEvents = {
      onUp: (peer, epoch) => peerEvents.onUp(peer, epoch),
      onDown: (peer, epoch, closed) => peerEvents.onDown(peer, epoch, closed),
      onMessage: (peer, group, message) => {
        this.#world.watch.onReceive(this, message);
        peerEvents.onMessage(peer, group, message);
      },
      onRefused: (reason) => peerEvents.onRefused(reason),
      onPeerIdentity: (identity) => {
        this.#world.watch.onMet(this, identity);
        peerEvents.onPeerIdentity(identity);
        const remember = (): void => {
          // Its disk may be another one's by now.
          if (!life.isAlive) return;
          this.noted.note(identity);
          this.#world.watch.onNoted(this, identity);
        };
        // A mark that cannot be synced has been reported to the log.
        directory.log.syncMark().then(remember, () => {});
      },
    };
    this.#world.peers.join({
      life,
      events,
      versionOffset: this.versionOffset,
      identity: { ...directory.identity, advertise: endpointOf(this.id, this.#world.isSecure) },
      known,
      peers: this.#peersAmong(raft.configuration.addresses),
    });
  }

  /** A node that was never told who its cluster is knows those it was told to join. */
  #peersAmong(members: readonly MemberAddress[]): Set<number> {
    const known = members.length > 0 ? members : this.#world.currentMembers().addresses;
    return new Set(known.map(({ id }) => id).filter((id) => id !== this.id));
  }

  get #founds(): boolean {
    return this.#cluster.told.voters.includes(this.id);
  }

  #onStartFailed(error: unknown): void {
    // A read that failed is damage to the node, but the next process may find all as it was.
    const isKnown = this.#isDamaged && error instanceof HoldfastError;
    const isRefused = (isKnown || this.isExcusable(error)) && !this.disk.weather.hasFailed;
    this.#world.watch.onStartFailed(this, error, isRefused);
    this.crash("kill");
    if (isRefused) this.#state = "quarantined";
  }

  /** The driver gives up; its process ends with the event. */
  #onFailed(life: ProcessLife, error: Error): void {
    const members = this.raftOrNone?.configuration;
    const isRemoved = members !== undefined && !membersOf(members).includes(this.id);
    this.#world.watch.onFailed(this, error, isRemoved);
    this.#world.simulation.after(0, () => {
      if (this.#life !== life) return;
      this.crash("kill");
      if (isRemoved) this.#state = "removed";
    });
  }
}
