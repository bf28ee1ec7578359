/**
 * One run from beginning to end: a cluster of its own, clients, planned faults, healing, final
 * reads. It leaves histories, logs and observations, and judges nothing. Nothing of it ever
 * remains: processes are ended, mounts and namespaces removed, even if it fails half-way.
 */
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Platter } from "../../lab/platter.js";
import { Administrator } from "../access/administrator.js";
import type { ClientPlan } from "../clients/client-messages.js";
import { clientPlace, type Network } from "../cluster/network.js";
import type { NodeEvents, NodeProcess } from "../cluster/node-process.js";
import { parentDeathPrefix } from "../cluster/parent-death.js";
import type { Volume } from "../cluster/volumes.js";
import { StoreProcess } from "../guarded/store-process.js";
import { Patience } from "../harness/patience.js";
import { seededStream } from "../harness/seeded-stream.js";
import { type HistoryEvent, historyName } from "../history/history-event.js";
import { HistoryFiles } from "../history/history-files.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import { planFaults } from "../nemeses/schedule.js";
import type { System } from "../systems/system.js";
import type { AttackPlan, AttackResult, NodeDeath, Progress } from "./attack-plan.js";
import { AttackTarget } from "./attack-target.js";
import { ClientCrew } from "./client-crew.js";
import { FaultRunner } from "./fault-runner.js";
import { Observer } from "./observer.js";
import { buildPlatters, mountVolumes, openNetwork, startNodes } from "./start-cluster.js";
import { type Undo, undoAll } from "./undo.js";

const HEALTHY_MS_MAX = 60_000;
const POLL_INTERVAL_MS = 50;
const TICK_MS = 100;
/** A tick that is so late shows that the machine stood still. */
const STALL_MS_MIN = 2_000;
/** Until every lease of a dead client has run out, and closed keys are open again. */
const SETTLE_MS = 2_000;
/** Time for an interrupted run to undo faults, and for clients to finish their operations. */
const CUT_SHORT_MS_MAX = 2_000;
/** How long to wait for a grant, beyond the leases of those who died. */
const HOLDER_MS_MAX = 2_000;
const HOLDERS_KILLED = 5;
/** On a busy machine a holder may have released its lock before it is killed. */
const KILLS_MAX = 12;
/** So often nobody may be granted anything. */
const MISSES_MAX = 2;
const NANOSECONDS = 1_000_000;

export class Attack {
  readonly #plan: AttackPlan;
  readonly #originNs = process.hrtime.bigint();
  readonly #observer: Observer;
  readonly #histories: HistoryFiles;
  readonly #deaths: NodeDeath[] = [];
  readonly #stuck: string[] = [];
  #longestStallMs = 0;
  /** What has to be undone, newest last. */
  readonly #undo: Undo = [];
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  #crew: ClientCrew | undefined;
  #administrator: Administrator | undefined;
  #target: AttackTarget | undefined;
  #faults: FaultRunner | undefined;
  #volumes: readonly Volume[] = [];
  /** From the logs of the nodes, even before there is a target. */
  #leaderId: number | undefined;
  #leaderTerm = 0;
  /** As reported by the Sentinels, if there are any; the first node until then. */
  #primary = 1;

  constructor(plan: AttackPlan) {
    const { options, workloads, directory } = plan;
    this.#plan = plan;
    this.#observer = new Observer(options.seconds * 1_000 + options.ttlMs + SETTLE_MS);
    const names = workloads.flatMap(({ name, parts = {} }) => [
      historyName(name),
      ...Object.keys(parts).map((part) => historyName(name, part)),
    ]);
    this.#histories = new HistoryFiles(directory, names);
    this.#signal = AbortSignal.any([plan.signal, this.#failure.signal]);
    // Every wait listens, which is not a leak.
    setMaxListeners(0, this.#signal);
  }

  /** Whether clients have to prove who they are. */
  get #isClosed(): boolean {
    return this.#plan.workloads.some(({ identities }) => identities !== undefined);
  }

  /** Whether nodes serve lock clients of Redis too, as servers next to them. */
  get #usesRedis(): boolean {
    return (
      this.#plan.system.name === "holdfast" &&
      this.#plan.workloads.some(({ needsRedis }) => needsRedis === true)
    );
  }

  #needs(what: Nemesis["needs"]): boolean {
    return this.#plan.nemeses.some(({ needs }) => needs === what);
  }

  get #keyringFile(): string {
    return join(this.#plan.directory, "keyring.json");
  }

  get progress(): Progress {
    return {
      seconds: Math.floor(this.#nowMs() / 1_000),
      operations: this.#observer.operations.offered,
      faults: this.#faults?.active ?? [],
    };
  }

  /** Rejects if the run could not be carried out; that says nothing about the cluster. */
  async run(): Promise<AttackResult> {
    try {
      const result = this.#run();
      // If it is abandoned, the result is no longer awaited.
      result.catch(() => undefined);
      return await Promise.race([result, rejection(this.#plan.abandoned)]);
    } finally {
      await undoAll(this.#undo);
    }
  }

  async #run(): Promise<AttackResult> {
    const { options, onPhase } = this.#plan;
    const wallStartMs = Date.now();
    const { system: kind } = this.#plan;
    onPhase("starting", `${kind.name}: ${options.nodes} nodes, ${options.clients} clients`);
    const hasCompanions = this.#usesRedis || kind.hasCompanions === true;
    const network = await openNetwork(options, { ...kind, hasCompanions }, this.#undo);
    const system = kind.make(network, this.#isClosed);
    const nodes = await this.#startNodes(network, system);
    const crew = await this.#startCrew(network, nodes, system);
    const loadStartMs = this.#nowMs();
    this.#observer.begin(loadStartMs);
    const durationMs = options.seconds * 1_000;
    const names = this.#plan.nemeses.map(({ name }) => name);
    const faultPlan = planFaults(options.schedule, names, durationMs, options.seed);
    const planned = faultPlan.length === 1 ? "1 fault" : `${faultPlan.length} faults`;
    onPhase("attacking", `${planned} in ${options.seconds} s`);
    const faults = this.#faultRunner(crew);
    faults.start(faultPlan, loadStartMs);
    this.#administrator?.start((error) => this.#failure.abort(error));
    await this.#pause(durationMs);
    const { signal } = this.#plan;
    // After an interruption its result is no longer awaited.
    const concluding = this.#conclude(crew, faults, nodes).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const interrupted = rejection(signal).catch(() => undefined);
    const conclusion = await Promise.race([concluding, interrupted]);
    const { loadEndMs, hasRecovered } = conclusion ?? (await this.#cutShort(crew, faults, nodes));
    const endMs = this.#nowMs();
    this.#observer.end(endMs);
    await this.#histories.close();
    onPhase("done", `${this.#observer.operations.offered} operations`);
    return {
      observer: this.#observer,
      plan: faultPlan,
      histories: this.#histories,
      wallStartMs,
      loadStartMs,
      loadEndMs,
      endMs,
      hasRecovered,
      stuck: this.#stuck,
      longestStallMs: this.#longestStallMs,
      clientKills: crew.kills,
      deaths: this.#deaths,
      wasInterrupted: conclusion === undefined,
    };
  }

  /** Heals everything, waits until it settles, and has the clients do their final reads. */
  async #conclude(
    crew: ClientCrew,
    faults: FaultRunner,
    nodes: readonly NodeProcess[],
  ): Promise<Conclusion> {
    const { options, onPhase, signal } = this.#plan;
    // An interrupted run is not healed, and must not be noted as if it were.
    signal.throwIfAborted();
    onPhase("healing", "all faults end, all processes run");
    await Promise.all([faults.stop(), this.#administrator?.stop()]);
    resumeAll(nodes, crew);
    const loadEndMs = this.#nowMs();
    const hasRecovered = await this.#recovered(nodes);
    crew.note("healed", { recovered: hasRecovered });
    onPhase("settling", "clients are killed, to check that their leases end in time");
    await this.#killHolders(crew);
    await this.#pause(options.ttlMs + SETTLE_MS);
    signal.throwIfAborted();
    crew.note("settled", {});
    onPhase("reading", "clients finish and do their final reads");
    await crew.finish();
    this.#failure.signal.throwIfAborted();
    return { loadEndMs, hasRecovered };
  }

  /**
   * Interrupted: the clients may finish their operations, and everything ends. Whether the cluster
   * would have recovered is not awaited, and the history does not say that it did.
   */
  async #cutShort(
    crew: ClientCrew,
    faults: FaultRunner,
    nodes: readonly NodeProcess[],
  ): Promise<Conclusion> {
    this.#plan.onPhase("stopping", "interrupted: the results so far will be judged");
    const loadEndMs = this.#nowMs();
    const stopped = faults.stop().catch(() => undefined);
    await Promise.race([stopped, delay(CUT_SHORT_MS_MAX)]);
    faults.abandon();
    resumeAll(nodes, crew);
    await Promise.race([crew.finish(), delay(CUT_SHORT_MS_MAX)]);
    await crew.kill();
    return { loadEndMs, hasRecovered: "unknown" };
  }

  async #startNodes(network: Network, system: System): Promise<NodeProcess[]> {
    const { directory } = this.#plan;
    const hasPlatters = this.#needs("platters");
    if (this.#needs("volumes")) {
      // A platter keeps what is durable a second time.
      const copies = hasPlatters ? 2 : 1;
      this.#volumes = await mountVolumes(network, directory, copies, this.#signal, this.#undo);
    }
    const volumes = this.#volumes;
    const platters = hasPlatters
      ? await buildPlatters(network, directory, volumes, this.#undo)
      : new Map<number, Platter>();
    const setting = {
      system,
      network,
      volumes,
      platters,
      hasPacedClocks: this.#needs("paced-clocks"),
      directory,
      events: this.#nodeEvents(),
      signal: this.#signal,
    };
    const nodes = await startNodes(setting, this.#undo);
    const leave = await system.attend?.(nodes, {
      onRole: (id, role, term) => this.#role(id, role, term),
      onPrimary: (node) => this.#point(node),
    });
    if (leave !== undefined) this.#undo.push(leave);
    if (!(await this.#recovered(nodes))) throw new Error("the cluster did not elect a leader");
    return nodes;
  }

  async #startCrew(
    network: Network,
    nodes: readonly NodeProcess[],
    system: System,
  ): Promise<ClientCrew> {
    const { options, workloads, directory } = this.#plan;
    const death = await parentDeathPrefix();
    const usesStore = workloads.some(({ needsStore }) => needsStore === true);
    const store = usesStore ? await this.#startStore(network, death, directory) : undefined;
    const planOf = (client: number, life: number): ClientPlan => ({
      client,
      life,
      seed: options.seed,
      system: this.#plan.system.name,
      primary: this.#primary,
      ...network.endpointsOf(client),
      redisEndpoints: this.#usesRedis ? network.companionsOf(client) : [],
      ...discovery(system, client),
      workloads: workloads.map(({ name }) => name),
      modules: options.workloadModules,
      keys: options.keys,
      workers: options.workers,
      ttlMs: options.ttlMs,
      isFenced: options.isFenced,
      storePort: store?.port ?? 0,
      storeHost: store?.host ?? "",
      keyring: this.#isClosed ? this.#keyringFile : "",
      originNs: String(this.#originNs),
    });
    const prefixOf = (client: number) => [...death, ...network.prefixOf(clientPlace(client))];
    const crew = new ClientCrew(planOf, prefixOf, {
      now: () => this.#now(),
      onEvent: (event) => this.#event(event),
      onGone: (client, timeNs) => this.#observer.clientGone(client, timeNs / NANOSECONDS),
      onFailure: (error) => this.#failure.abort(error),
    });
    this.#undo.push(() => crew.kill());
    let tickedMs = this.#nowMs();
    const ticks = setInterval(() => {
      const nowMs = this.#nowMs();
      const lateMs = nowMs - tickedMs - TICK_MS;
      tickedMs = nowMs;
      if (lateMs > STALL_MS_MIN) this.#stalled(crew, lateMs);
      crew.tick();
    }, TICK_MS);
    this.#undo.push(async () => clearInterval(ticks));
    this.#crew = crew;
    const administrator = this.#isClosed ? this.#administratorOf(nodes, crew) : undefined;
    await administrator?.close();
    this.#administrator = administrator;
    this.#target = new AttackTarget({
      system: this.#plan.system.name,
      nodes,
      network,
      volumes: this.#volumes,
      ttlMs: options.ttlMs,
      signal: this.#signal,
      accessToken: administrator?.token,
      clients: () => crew.clients,
      nextHolder: (milliseconds) => crew.nextHolder(milliseconds),
      nextHandOver: (milliseconds) => crew.nextHandOver(milliseconds),
      replaceClient: (client) => crew.replace(client),
    });
    this.#target.leaderId = this.#leaderId;
    await Promise.race([crew.start(options.clients), rejection(this.#signal)]);
    return crew;
  }

  #administratorOf(nodes: readonly NodeProcess[], crew: ClientCrew): Administrator {
    return new Administrator({
      nodes,
      file: this.#keyringFile,
      keys: this.#plan.options.keys,
      random: seededStream(this.#plan.options.seed, "administrator"),
      record: (event) => crew.record(event),
      signal: this.#signal,
    });
  }

  async #startStore(
    network: Network,
    death: readonly string[],
    directory: string,
  ): Promise<StoreProcess> {
    const file = join(directory, "store.sqlite");
    const store = await StoreProcess.start(file, network.harnessHost, death);
    this.#undo.push(() => store.stop());
    return store;
  }

  #faultRunner(crew: ClientCrew): FaultRunner {
    const { nemeses, options } = this.#plan;
    const target = this.#target as AttackTarget;
    const faults = new FaultRunner(target, nemeses, options.seed, {
      nowMs: () => this.#nowMs(),
      onBegin: (nemesis, what) => crew.note("begin", { nemesis, what }),
      onEnd: (fault) => {
        crew.note("end", { nemesis: fault.nemesis });
        this.#observer.faults.push(fault);
      },
      onStuck: (nemesis, why) => {
        crew.note("stuck", { nemesis, what: why });
        this.#stuck.push(why);
      },
      onFailure: (error) => this.#failure.abort(error),
    });
    this.#faults = faults;
    return faults;
  }

  #nodeEvents(): NodeEvents {
    return {
      onLog: (id, event, fields) => {
        if (event === "role") this.#role(id, String(fields["role"]), Number(fields["term"] ?? 0));
      },
      onState: (id, state) => this.#observer.nodeState(id, this.#nowMs(), state),
      onDeath: (id, words) => {
        // If there is no room left, stopping is correct.
        if (this.#faults?.active.includes("disk-full") === true) return;
        // LevelDB ends processes that open some damaged tables.
        const isDamage = this.#faults?.active.includes("damage") === true;
        if (isDamage && this.#target?.isReserved(id) === true) return;
        if (!this.#failure.signal.aborted) {
          this.#deaths.push({ node: id, timeMs: this.#nowMs(), words });
        }
      },
    };
  }

  #role(id: number, role: string, term: number): void {
    this.#observer.nodeRole(id, this.#nowMs(), role, term);
    if (role !== "leader" || term < this.#leaderTerm) return;
    this.#leaderTerm = term;
    this.#leaderId = id;
    if (this.#target !== undefined) this.#target.leaderId = id;
  }

  /** What depends on time cannot be judged from here on, as under any other fault. */
  #stalled(crew: ClientCrew, milliseconds: number): void {
    this.#longestStallMs = Math.max(this.#longestStallMs, milliseconds);
    const what = `the machine stood still for ${(milliseconds / 1_000).toFixed(1)} s`;
    crew.note("stalled", { what });
  }

  #point(node: number): void {
    this.#primary = node;
    this.#crew?.order({ order: "primary", node });
  }

  #event(event: HistoryEvent): void {
    try {
      this.#histories.write(event);
    } catch (error) {
      this.#failure.abort(error);
    }
    this.#observer.event(event);
  }

  /**
   * The upper bound of a lease can be judged only if nothing else is wrong, and only if a request
   * waits for a lock of the killed client, as in long queues.
   */
  async #killHolders(crew: ClientCrew): Promise<void> {
    const queue = this.#plan.workloads.find(({ name }) => name === "queue")?.name;
    const waitMs = this.#plan.options.ttlMs + HOLDER_MS_MAX;
    let died = 0;
    let misses = 0;
    for (let kills = 0; kills < KILLS_MAX && died < HOLDERS_KILLED; kills += 1) {
      if (crew.clients.length < 2 || this.#signal.aborted) return;
      const holder = await crew.nextHolder(waitMs, queue);
      if (holder === undefined) {
        misses += 1;
        if (misses === MISSES_MAX) return;
        continue;
      }
      await crew.replace(holder);
      if (queue === undefined || crew.isHolder(holder, queue)) died += 1;
      if (!(await this.#allWork(crew))) return;
    }
  }

  /** Those who come for the dead have to wait for locks before anybody else dies, or all is settled. */
  async #allWork(crew: ClientCrew): Promise<boolean> {
    const patience = new Patience(HEALTHY_MS_MAX);
    while (crew.isStarting && patience.lasts() && !this.#signal.aborted) {
      await this.#pause(POLL_INTERVAL_MS);
    }
    return !crew.isStarting;
  }

  /** Whether there is a leader that a majority knows and that every running node follows. */
  async #recovered(nodes: readonly NodeProcess[]): Promise<boolean> {
    const patience = new Patience(HEALTHY_MS_MAX);
    while (patience.lasts()) {
      this.#signal.throwIfAborted();
      const reports = await Promise.all(nodes.map((node) => node.status()));
      const leader = reports.find((report) => report?.role === "leader");
      const isFollowed = reports.every(
        (report) => report?.leader === leader?.id && report?.term === leader?.term,
      );
      if (leader !== undefined && isFollowed) return true;
      await delay(POLL_INTERVAL_MS);
    }
    return false;
  }

  /** Resolves after this time, or early if the run must end; rejects if it failed. */
  async #pause(milliseconds: number): Promise<void> {
    const signal = this.#signal;
    if (!signal.aborted) await delay(milliseconds, undefined, { signal }).catch(() => undefined);
    this.#failure.signal.throwIfAborted();
  }

  #now(): number {
    return Number(process.hrtime.bigint() - this.#originNs);
  }

  #nowMs(): number {
    return this.#now() / NANOSECONDS;
  }
}

function discovery(system: System, client: number): Pick<ClientPlan, "discovery"> {
  return system.discoveryOf === undefined ? {} : { discovery: system.discoveryOf(client) };
}

interface Conclusion {
  readonly loadEndMs: number;
  readonly hasRecovered: AttackResult["hasRecovered"];
}

function resumeAll(nodes: readonly NodeProcess[], crew: ClientCrew): void {
  for (const node of nodes) {
    node.resume();
    node.start();
  }
  for (const client of crew.clients) client.resume();
}

/** Rejects when the signal is aborted, and never resolves. */
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
