/**
 * A whole cluster in one thread on one clock that only moves when told to: real drivers, cores and
 * tables behind second implementations of their ports. One seed gives one run. Nothing here waits
 * in real time; a test says how far the time is to go or what it waits for.
 */

import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { seededRandom } from "../../../lab/random-stream.js";
import { ProcessLife } from "../../../lab/simulated/process-life.js";
import { promisesSettled, Timeline } from "../../../lab/simulated/timeline.js";
import { LockTable } from "../../../src/lockfsm/index.js";
import { type Configuration, decodeConfiguration } from "../../../src/raft/index.js";
import {
  type AssembledDriver,
  assembleDriver,
  NODE_TUNING_DEFAULTS,
  type NodeLogger,
  type NodeTuning,
  resolveTuning,
} from "../../../src/server/index.js";
import { LimitCounts } from "../../../src/server/limits/limit-counts.js";
import { NO_LIMITS } from "../../../src/server/limits/usage.js";
import { restoreAtBoot } from "../../../src/server/snapshots/restore-at-boot.js";
import {
  AuditStore,
  type OrderedStore,
  openSnapshotStore,
  type SnapshotManifest,
  type SnapshotStore,
} from "../../../src/storage/index.js";
import { MemoryDisk, MemoryLog } from "./memory-disk.js";
import { MemoryGateway } from "./memory-gateway.js";
import { MemoryNetwork } from "./memory-network.js";
import { TestClient } from "./test-client.js";
import { WorldScheduler } from "./world-scheduler.js";
import type { WorldOptions, WorldTime } from "./world-time.js";

const DEFAULTS: WorldOptions = {
  seed: 1,
  nodeCount: 3,
  joinerCount: 0,
  latencyMs: 1,
  diskMs: 1,
  tuning: {},
  auditKeepMs: undefined,
  metricsPrefixes: [],
  limits: undefined,
  trace: undefined,
};
const NOBODY: Configuration = { voters: [], outgoing: [], learners: [], addresses: [] };

export class World extends Timeline implements WorldTime {
  readonly options: WorldOptions;
  readonly tuning: NodeTuning;
  readonly network: MemoryNetwork;
  readonly nodes: readonly WorldNode[];
  readonly random: () => number;
  /** What any node logged, oldest first. */
  readonly story: string[] = [];
  #hasMicrotasks = false;
  /** What the ordered stores are asked for runs on in promises at any time. */
  readonly #usesStores: boolean;

  constructor(options: Partial<WorldOptions> = {}) {
    super();
    this.options = { ...DEFAULTS, ...options };
    this.tuning = resolveTuning({ ...NODE_TUNING_DEFAULTS, ...this.options.tuning });
    this.random = seededRandom(this.options.seed);
    this.#usesStores =
      this.tuning.snapshotLogBytes < NODE_TUNING_DEFAULTS.snapshotLogBytes ||
      this.options.auditKeepMs !== undefined;
    const { nodeCount, joinerCount } = this.options;
    const ids = Array.from({ length: nodeCount + joinerCount }, (_, i) => i + 1);
    const founding = foundingOf(ids.slice(0, nodeCount));
    this.network = new MemoryNetwork(this, ids);
    this.nodes = ids.map((id) => new WorldNode(this, id, id <= nodeCount ? founding : NOBODY));
  }

  /** Settles a promise that production code waits for. */
  settle(resolve: () => void): void {
    this.#hasMicrotasks = true;
    resolve();
  }

  node(id: number): WorldNode {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  lifeOf(id: number): ProcessLife {
    return this.node(id).life;
  }

  /** Starts the founders. */
  startAll(): void {
    for (const node of this.nodes.slice(0, this.options.nodeCount)) node.start();
  }

  client(): TestClient {
    return new TestClient(this);
  }

  /** The node that leads the highest term, if it runs. */
  get leader(): WorldNode | undefined {
    let found: WorldNode | undefined;
    for (const node of this.nodes) {
      if (!node.isRunning || node.raft.role !== "leader") continue;
      if (found === undefined || node.raft.term > found.raft.term) found = node;
    }
    return found;
  }

  async run(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await this.#runWhile(untilMs, () => true);
    this.nowMs = untilMs;
  }

  /** Runs until `isReached`; fails after `limitMs` of this world's time, with the story so far. */
  async until(what: string, isReached: () => boolean, limitMs = 20_000): Promise<void> {
    const untilMs = this.nowMs + limitMs;
    await this.#runWhile(untilMs, () => !isReached());
    if (isReached()) return;
    const story = this.story.slice(-40).join("\n");
    throw new Error(`seed ${this.options.seed}: not within ${limitMs} ms: ${what}\n${story}`);
  }

  /** Waits for a leader that everybody who runs follows. */
  async untilLeader(): Promise<WorldNode> {
    await this.until("one leader for all", () => {
      const { leader } = this;
      if (leader === undefined || leader.raft.commitIndex < leader.raft.lastIndex) return false;
      return this.nodes.every((node) => !node.isRunning || node.raft.leader === leader.id);
    });
    const { leader } = this;
    if (leader === undefined) throw new Error("no leader");
    return leader;
  }

  async #runWhile(untilMs: number, goOn: () => boolean): Promise<void> {
    while (goOn()) {
      const next = this.take(untilMs);
      if (next === undefined) return;
      next.run();
      if (this.#hasMicrotasks || this.#usesStores) {
        this.#hasMicrotasks = false;
        await promisesSettled();
      }
    }
  }
}

function foundingOf(ids: readonly number[]): Configuration {
  const addresses = ids.map((id) => ({ id, address: `node-${id}:1` }));
  return { voters: ids, outgoing: [], learners: [], addresses };
}

/** What the log of a node stands on, and the table as of there. */
interface Standing {
  readonly snapshot: { readonly manifest: SnapshotManifest; readonly table: LockTable } | undefined;
  readonly store: OrderedStore;
  readonly audit: AuditStore;
}

/** One node: its disk outlives its process. */
export class WorldNode {
  readonly id: number;
  readonly disk = new MemoryDisk();
  readonly store: MemoryStoreDisk;
  readonly failures: Error[] = [];
  isMemoryScarce = false;
  /** What its directory says of access when it starts. */
  access = { isRequired: false, wasClosed: false };
  /** What each call of the store of snapshots takes. */
  storeMs: number;
  readonly #world: World;
  readonly #founding: Configuration;
  /** The life of the process that runs now, or that ran last. */
  life: ProcessLife;
  #process: Process | undefined;
  #startCount = 0;
  /** Nothing else happens meanwhile, so that it takes no time. */
  #isBooting = false;

  constructor(world: World, id: number, founding: Configuration) {
    this.#world = world;
    this.id = id;
    this.#founding = founding;
    this.life = new ProcessLife(world);
    this.life.end();
    this.storeMs = world.options.diskMs;
    this.store = new MemoryStoreDisk({ intercept: () => this.#useStore() });
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  get raft(): AssembledDriver["raft"] {
    return this.#present.assembled.raft;
  }

  get table(): AssembledDriver["table"] {
    return this.#present.assembled.table;
  }

  get driver(): AssembledDriver["driver"] {
    return this.#present.assembled.driver;
  }

  get log(): MemoryLog {
    return this.#present.log;
  }

  get gateway(): MemoryGateway {
    return this.#present.gateway;
  }

  get #present(): Process {
    if (this.#process === undefined) throw new Error(`node ${this.id} does not run`);
    return this.#process;
  }

  /** Restores the table from the snapshot that the log stands on, if it does, and starts. */
  async restart(): Promise<void> {
    this.#isBooting = true;
    const store = this.store.open();
    const audit = new AuditStore(store);
    await audit.load();
    const snapshot = await this.#restore(openSnapshotStore(store));
    this.#isBooting = false;
    this.start({ snapshot, store, audit });
  }

  async #restore(snapshots: SnapshotStore): Promise<Standing["snapshot"]> {
    const named = this.disk.boot().snapshot;
    if (named === undefined) return undefined;
    const stored = await snapshots.list();
    const manifest = stored.find(({ checksum }) => checksum === named.checksum);
    if (manifest === undefined) throw new Error(`node ${this.id}: no snapshot ${named.index}`);
    const table = new LockTable();
    await restoreAtBoot(snapshots, manifest, table);
    return { manifest, table };
  }

  start(standing?: Standing): void {
    if (this.#process !== undefined) throw new Error(`node ${this.id} runs already`);
    if (standing?.snapshot === undefined && this.disk.boot().snapshot !== undefined) {
      throw new Error(`node ${this.id} stands on a snapshot: it must be restarted`);
    }
    this.#startCount += 1;
    this.life = new ProcessLife(this.#world);
    this.#process = startProcess(this.#world, this, this.#founding, this.#startCount, standing);
    const { driver } = this.#process.assembled;
    this.#world.network.join(this.id, driver.peerEvents, `ws://node-${this.id}`);
    driver.start();
  }

  /** The process is gone at once: nothing of its own runs any more, a write may be half way. */
  crash(): void {
    const { gateway, log, end } = this.#present;
    end();
    this.life.end();
    this.#process = undefined;
    log.crash();
    this.store.crash();
    this.#world.network.leave(this.id);
    gateway.crash();
  }

  #useStore(): Promise<void> | undefined {
    if (this.#isBooting) return undefined;
    return new Promise((resolve) => {
      this.#world.after(this.storeMs, () => this.#world.settle(resolve));
    });
  }

  get isPaused(): boolean {
    return this.life.isPaused;
  }

  /** Stops the process for a while, as SIGSTOP does. What arrives waits in its sockets. */
  pause(ms: number): void {
    const { life } = this;
    life.pause();
    this.#world.after(ms, () => life.resume());
  }
}

interface Process {
  readonly assembled: AssembledDriver;
  readonly gateway: MemoryGateway;
  readonly log: MemoryLog;
  end(): void;
}

function startProcess(
  world: World,
  node: WorldNode,
  founding: Configuration,
  incarnation: number,
  standing: Standing | undefined,
): Process {
  const { life } = node;
  const log = new MemoryLog(world, node.disk, life);
  const gateway = new MemoryGateway(world, life);
  const scheduler = new WorldScheduler(life);
  const offsetMs = world.nowMs;
  const snapshot = standing?.snapshot;
  const store = standing?.store ?? node.store.open();
  const clock = {
    // Each process has its own zero, as monotonic clocks do.
    nowMs: () => world.nowMs - offsetMs + node.id * 1_000,
    wallMs: () => Math.floor(1_800_000_000_000 + world.nowMs),
  };
  const logger: NodeLogger = (level, event, fields) => {
    const time = world.nowMs.toFixed(2);
    world.story.push(`${time} node ${node.id} ${level} ${event} ${JSON.stringify(fields)}`);
  };
  const { limits } = world.options;
  const clientLimits = { ...NO_LIMITS, ...limits };
  const counts = new LimitCounts(true, clock, logger);
  const assembled = assembleDriver(
    {
      nodeId: node.id,
      clusterId: "c".repeat(32),
      group: 0,
      incarnation,
      knownPeers: new Map(),
      configuration: snapshot === undefined ? founding : configurationOf(snapshot.manifest),
      advertise: `ws://node-${node.id}`,
      access: node.access,
      tuning: world.tuning,
      metricsPrefixes: world.options.metricsPrefixes,
      limits: { identity: clientLimits, address: clientLimits, counts },
    },
    {
      log,
      snapshots: openSnapshotStore(store),
      named: snapshot?.manifest,
      audit: auditOf(world, standing?.audit ?? new AuditStore(store)),
      ...(snapshot === undefined ? {} : { table: snapshot.table }),
      trace: world.options.trace,
      onPeers: () => {},
      notePeer: () => {},
      peers: world.network.linksOf(node.id),
      gateway,
      clock,
      memory: {
        get isScarce() {
          return node.isMemoryScarce;
        },
      },
      scheduler,
      random: seededRandom(world.options.seed * 1_000 + node.id * 10 + incarnation),
      logger,
      onAccess: (wasClosed) => {
        node.access = { ...node.access, wasClosed };
      },
      onFailure: (error) => node.failures.push(error),
    },
  );
  scheduler.toWorldMs = (nowMs) => nowMs + offsetMs - node.id * 1_000;
  gateway.events = assembled.driver.clientEvents;
  return { assembled, gateway, log, end: () => assembled.driver.stop() };
}

function auditOf(world: World, store: AuditStore) {
  const { auditKeepMs: keepMs } = world.options;
  return keepMs === undefined ? undefined : { store, keepMs, bytesMax: 2 ** 32 };
}

function configurationOf({ index, configuration }: SnapshotManifest): Configuration {
  const decoded = decodeConfiguration(configuration);
  if (decoded === undefined) throw new Error(`the members in the snapshot of ${index}`);
  return decoded;
}
