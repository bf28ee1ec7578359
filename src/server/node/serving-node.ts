/**
 * A node that takes part in its cluster: it brings real sockets, files and clocks together with the
 * driver, shows on its pages what it knows of itself, and ends all of them. It can be closed at any
 * stage of its start.
 */
import { performance } from "node:perf_hooks";
import { optionValueText } from "../../errors/index.js";
import {
  createGateway,
  createPeerLinks,
  HealthPort,
  InputMeter,
  type Pages,
  type PeerAddress,
  type Traffic,
} from "../../net/index.js";
import type { NodeEndpoint } from "../../protocol/index.js";
import {
  type Configuration,
  type MemberAddress,
  membersOf,
  type NodeId,
} from "../../raft/index.js";
import type { AccessFile, openDataDirectory } from "../../storage/index.js";
import { type AssembledDriver, bootDriver } from "../driver/boot.js";
import { LimitCounts } from "../limits/limit-counts.js";
import type { RunningNode } from "../options.js";
import { accessFigures } from "../pages/access-figures.js";
import { createPages } from "../pages/http-pages.js";
import type { TlsTold } from "../pages/metrics.js";
import { originsOf, type PageFiles, pageFileAt, readPageFiles } from "../pages/page-files.js";
import type { Clock } from "../ports.js";
import { EventLoopMeter } from "../vitals/event-loop-meter.js";
import { HeapMeter } from "../vitals/heap-meter.js";
import { ProcessMeter } from "../vitals/process-meter.js";
import { endpointOf, foundingConfiguration, peersOf } from "./addresses.js";
import { askForMembers } from "./belonging.js";
import type { FoundCluster } from "./join-cluster.js";
import type { NodeLogLevels } from "./log-levels.js";
import { LoopScheduler } from "./loop-scheduler.js";
import { NodeDoors } from "./node-doors.js";
import { nodeLimits, portLimits } from "./node-limits.js";
import type { NodeTls } from "./node-tls.js";
import { RedisService } from "./redis-service.js";
import type { ResolvedOptions } from "./resolve-options.js";
import { openTrace, type Trace } from "./trace-file.js";

/** The first line about the port, since one name is two locks. */
const OPEN_TO_REDIS =
  "redis port open; locks of this port and of Holdfast's own clients do not exclude each other on " +
  "one name: here the key NAME is ~redis/0/NAME";
/** All groups share the links between nodes; this version has one. */
const GROUP = 0;
/** Election timeouts of silence after which a link is closed. */
const LINK_SILENCE_TIMEOUTS = 5;
/** Election timeouts for which a stop waits for another leader. */
const LEAVE_TIMEOUTS = 2;

const NO_TRAFFIC: Traffic = { framesSent: 0, bytesSent: 0, framesReceived: 0, bytesReceived: 0 };

export const CLOCK: Clock = { nowMs: () => performance.now(), wallMs: () => Date.now() };

type Gateway = ReturnType<typeof createGateway>;
type Links = ReturnType<typeof createPeerLinks>;
export type Directory = Awaited<ReturnType<typeof openDataDirectory>>;

/** The options with the log whose level can be changed. */
export type LeveledOptions = ResolvedOptions & { readonly logLevels: NodeLogLevels };

export class ServingNode implements RunningNode {
  readonly ended: Promise<Error | undefined>;
  readonly #options: LeveledOptions;
  readonly #directory: Directory;
  readonly #gateway: Gateway;
  readonly #doors: NodeDoors;
  readonly #limitCounts: LimitCounts;
  readonly #meter: InputMeter;
  readonly #health: HealthPort;
  readonly #redis: RedisService | undefined;
  readonly #tls: NodeTls | undefined;
  readonly #access: AccessFile;
  readonly #startedMs = CLOCK.nowMs();
  readonly #startedWallMs = CLOCK.wallMs();
  /** The members as far as they were known before the log was read. */
  #found: FoundCluster;
  readonly #loop = new EventLoopMeter();
  readonly #processMeter = new ProcessMeter();
  readonly #pages: Pages;
  /** The files of the dashboard; empty until they are read, and without the dashboard. */
  #pageFiles: PageFiles = new Map();
  #trace: Trace | undefined;
  #isDraining = false;
  #stopping: Promise<void> | undefined;
  #endpoint = "";
  #links: Links | undefined;
  #assembled: AssembledDriver | undefined;
  #closing: Promise<void> | undefined;
  #end: (error: Error | undefined) => void = () => {};

  constructor(
    options: LeveledOptions,
    directory: Directory,
    found: FoundCluster,
    tls: NodeTls | undefined,
    access: AccessFile,
  ) {
    this.#options = options;
    this.#directory = directory;
    this.#found = found;
    this.#tls = tls;
    this.#access = access;
    this.#pages = this.#createPages();
    const { listen, allowedHosts, allowedOrigins, log } = options;
    const onRefused = (reason: string): void => log("warn", "client refused", { reason });
    this.#limitCounts = new LimitCounts(options.limits === "enforce", CLOCK, log);
    this.#meter = new InputMeter({
      ...portLimits(options),
      limits: this.#limitCounts,
      isOpen: () => this.#isOpen,
      appliedTotal: () => this.#assembled?.driver.commandsAppliedTotal ?? 0,
    });
    this.#doors = new NodeDoors(
      options.id,
      (caller, events) => this.#gateway.connectInProcess(caller, events),
      log,
    );
    this.#gateway = createGateway({
      ...{ listen, allowedHosts, allowedOrigins, tls: tls?.transport, onRefused },
      ...portLimits(options),
      onFailed: this.#doors.onFailed,
      ...{ limits: this.#limitCounts, meter: this.#meter },
      door: this.#doors.http,
      pageOrigins: options.dashboard ? () => originsOf(this.#endpoints()) : undefined,
    });
    this.#health = new HealthPort(allowedHosts, this.#pages, onRefused, this.#meter);
    this.#redis = this.#createRedis();
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get id(): number {
    return this.#options.id;
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get clientPort(): number {
    return this.#gateway.port;
  }

  get peerPort(): number {
    return this.#links?.port ?? 0;
  }

  get redisPort(): number {
    return this.#redis?.port ?? 0;
  }

  get redisSentinelPort(): number {
    return this.#redis?.sentinelPort ?? 0;
  }

  /** Rejects if a port is not available after all; `close` then releases what was acquired. */
  async start(): Promise<void> {
    const { peerListen, healthListen, tuning, log, traceFile } = this.#options;
    const { identity, notices, log: store } = this.#directory;
    await this.#access.note({ isRequired: this.#options.isAccessRequired });
    await Promise.all([this.#readPage(), this.#doors.load()]);
    await this.#gateway.start(this.#pages, "starting");
    await this.#listenLocal();
    if (healthListen !== undefined) await this.#health.start(healthListen);
    await this.#redis?.start();
    this.#endpoint = endpointOf(this.#options, this.#gateway.port);
    const links = createPeerLinks({
      tls: this.#tls?.transport,
      identity: { ...identity, advertise: this.#endpoint, redisAddress: this.#redis?.addresses },
      listen: peerListen,
      peers: new Map(),
      knownPeers: this.#directory.knownPeers(),
      silenceTimeoutMs: LINK_SILENCE_TIMEOUTS * tuning.electionTimeoutMs,
    });
    this.#links = links;
    this.#trace = traceFile === undefined ? undefined : openTrace(traceFile, log);
    const assembled = await this.#boot(links);
    this.#assembled = assembled;
    this.#gateway.serve(assembled.driver.clientEvents);
    await this.#findMembers(assembled.raft.configuration);
    await links.start(assembled.driver.peerEvents);
    links.setPeers(this.#peersAmong(assembled.raft.configuration.addresses));
    assembled.driver.start();
    if (this.#access.facts.isClosed) assembled.driver.expectPages();
    this.#serveRedis();
    for (const notice of notices) log("warn", "data directory", { notice });
    log("info", "node started", {
      id: this.id,
      cluster: identity.clusterId,
      endpoint: this.#endpoint,
      connectionsMax: this.#gateway.load.connectionsMax,
      peerPort: links.port,
      lastIndex: store.boot.baseIndex + store.boot.entries.length,
    });
    const { quietMs } = assembled.table;
    if (quietMs > 0) log("warn", "restored: no session is opened for a while", { quietMs });
  }

  #serveRedis(): void {
    if (this.#redis === undefined) return;
    this.#redis.serve();
    this.#options.log("info", OPEN_TO_REDIS, { address: this.#redis.address });
  }

  async #readPage(): Promise<void> {
    if (!this.#options.dashboard) return;
    this.#pageFiles = await readPageFiles();
    if (this.#pageFiles.size > 0) return;
    this.#options.log("warn", "the dashboard is not served: it was not built", {});
  }

  /** A node serves without it, too. */
  async #listenLocal(): Promise<void> {
    const { dataDirectory, log } = this.#options;
    try {
      await this.#gateway.listenLocal(dataDirectory);
    } catch (error) {
      const { message } = error as Error;
      log("warn", "the socket in the data directory is not served", { dataDirectory, message });
    }
  }

  #boot(links: Links): Promise<AssembledDriver> {
    const { initialCluster, tuning, audit, isAccessRequired, metricsPrefixes, log } = this.#options;
    return bootDriver(
      {
        group: GROUP,
        founders: initialCluster && foundingConfiguration(initialCluster),
        advertise: this.#endpoint,
        access: { isRequired: isAccessRequired, wasClosed: this.#access.facts.isClosed },
        audit,
        metricsPrefixes,
        tuning,
        limits: nodeLimits(this.#options, this.#gateway.load, this.#limitCounts),
      },
      {
        peers: links,
        gateway: this.#gateway,
        clock: CLOCK,
        memory: new HeapMeter(CLOCK.nowMs, log),
        scheduler: new LoopScheduler(CLOCK.nowMs),
        random: Math.random,
        process: {
          startedWallMs: this.#startedWallMs,
          loopDelayMaxMs: () => this.#loop.maxMs,
          certificateEndsWallMs: () => this.#certificateEndsWallMs,
          isDraining: () => this.#isDraining || this.#closing !== undefined,
        },
        logger: log,
        logLevels: this.#options.logLevels,
        trace: this.#trace?.line,
        onPeers: (peers) => links.setPeers(this.#peersAmong(peers)),
        onAccess: (isClosed) => this.#noteAccess(isClosed),
        onFailure: (error) => this.#fail(error),
      },
      this.#directory,
    );
  }

  #noteAccess(isClosed: boolean): void {
    this.#options.log("info", isClosed ? "the cluster is secured" : "the cluster is open", {});
    if (isClosed) this.#assembled?.driver.expectPages();
    this.#access.note({ isClosed }).catch((error: Error) => this.#fail(error));
  }

  async #findMembers(configuration: Configuration): Promise<void> {
    if (membersOf(configuration).length > 0 || this.#found.members.length > 0) return;
    const { clusterId } = this.#directory.identity;
    this.#found = await askForMembers(this.#options, clusterId, this.#tls);
  }

  #peersAmong(members: readonly MemberAddress[]): Map<NodeId, PeerAddress> {
    const known = members.length > 0 ? members : this.#found.members;
    return peersOf(known, this.id, this.#options.peerAddresses);
  }

  async reloadTls(): Promise<void> {
    await this.#tls?.reload();
  }

  /**
   * Hands over leadership first, while everything still works, so that no client waits for an
   * election. Clients are sent away once another node can serve them.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#leaveAndClose();
    return this.#stopping;
  }

  async #leaveAndClose(): Promise<void> {
    this.#isDraining = true;
    this.#gateway.drain();
    const drained = this.#doors.drain();
    const limitMs = LEAVE_TIMEOUTS * this.#options.tuning.electionTimeoutMs;
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([this.#assembled?.driver.leave(), tooLong]);
    clearTimeout(timer);
    await drained;
    await this.close();
    this.#end(undefined);
  }

  /** Safe to call more than once and at any stage. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    // While the node still answers.
    await this.#redis?.close();
    await this.#doors.close();
    const stopped = this.#assembled?.driver.stop();
    try {
      const ports = [this.#gateway.close(), this.#health.close(), this.#links?.close()];
      await Promise.all([...ports, stopped]);
    } finally {
      this.#tls?.close();
      this.#options.logLevels.stop();
      await this.#directory.close();
      this.#trace?.close();
      this.#loop.stop();
      this.#processMeter.stop();
    }
  }

  #fail(error: Error): void {
    this.#options.log("error", "node failed", { message: error.message });
    const end = (): void => this.#end(error);
    // A failure to close follows from the failure that is reported.
    this.close().then(end, end);
  }

  #createRedis(): RedisService | undefined {
    const { redisListen: listen } = this.#options;
    if (listen === undefined) return undefined;
    const { connectionsMax, addressConnectionsMax } = this.#gateway.load;
    return new RedisService({
      ...{ options: this.#options, listen, tls: this.#tls?.transport },
      ...{ clients: this.#doors.clients, meter: this.#meter },
      assembled: () => this.#assembled,
      isDraining: () => this.#isDraining || this.#closing !== undefined,
      ...{ connectionsMax, addressConnectionsMax },
    });
  }

  /** Whether everybody may do everything. While it starts, as when it last ran. */
  get #isOpen(): boolean {
    if (this.#options.isAccessRequired) return false;
    const levels = this.#assembled?.table.anonymousLevels;
    return levels === undefined ? !this.#access.facts.isClosed : levels.everywhere === "admin";
  }

  #createPages(): Pages {
    const { clusterId, incarnation } = this.#directory.identity;
    return createPages({
      id: this.id,
      clusterId,
      incarnation,
      pid: process.pid,
      loopDelayMaxMs: () => this.#loop.maxMs,
      process: () => ({
        loopDelayMaxMs: this.#loop.maxMs,
        stalls: this.#loop.stalls,
        text: this.#processMeter.text(this.#loop.lag),
      }),
      uptimeMs: () => CLOCK.nowMs() - this.#startedMs,
      wallMs: CLOCK.wallMs,
      certificateEndsWallMs: () => this.#certificateEndsWallMs,
      endpoint: () => this.#endpoint,
      driver: () => this.#assembled?.driver,
      counts: () => this.#assembled?.driver.counts,
      possibleDeadlocks: () => this.#assembled?.table.possibleDeadlocks() ?? 0,
      access: () => this.#assembled && accessFigures(this.#assembled.table, CLOCK.wallMs()),
      quietMs: () => this.#assembled?.table.quietMs ?? 0,
      traffic: () => ({
        log: this.#directory.logWrites(),
        clients: this.#gateway.traffic,
        peers: this.#links?.traffic ?? NO_TRAFFIC,
        redis: this.#redis?.counts,
      }),
      clientPort: () => this.#gateway.load,
      limits: () => this.#limitCounts,
      tls: () => this.#tlsTold(),
      redis: () => this.#redis?.told,
      isDraining: () => this.#isDraining || this.#closing !== undefined,
      // While it starts it knows nothing that it could report.
      judge: (caller) => this.#assembled?.driver.judgePage(caller) ?? "granted",
      pageFile: (path, browser, isStranger) => {
        const endpoints = isStranger ? [] : this.#endpoints();
        const { dashboardControl } = this.#options;
        const control = dashboardControl && `http://${optionValueText(dashboardControl)}`;
        return pageFileAt(this.#pageFiles, path, browser, endpoints, control);
      },
    });
  }

  get #certificateEndsWallMs(): number | null {
    return this.#tls === undefined ? null : this.#tls.status.certificateEndsAt * 1_000;
  }

  #endpoints(): readonly NodeEndpoint[] {
    return this.#assembled?.driver.endpoints ?? [];
  }

  #tlsTold(): TlsTold | undefined {
    if (this.#tls === undefined) return undefined;
    const { status } = this.#tls;
    return { ...status, client: this.#gateway.handshakes, peer: this.#links?.handshakes };
  }
}
