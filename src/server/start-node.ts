/**
 * Starts one node in this process: options, directory, ports, driver, in an order in which a start
 * that fails leaves nothing behind, and ends it again. This is the only file of the room that knows
 * real sockets, files and clocks.
 */
import { performance } from "node:perf_hooks";
import { assert } from "../assert.js";
import { HoldfastError } from "../errors.js";
import type { GatewayEvents, HttpAnswer } from "../net/index.js";
import { createGateway, createPeerLinks } from "../net/index.js";
import { openDataDirectory } from "../storage/index.js";
import { type AssembledDriver, assembleDriver } from "./assemble-driver.js";
import { createPages } from "./http-pages.js";
import { LoopScheduler } from "./loop-scheduler.js";
import type { NodeOptions, RunningNode } from "./options.js";
import { requireFreePort } from "./port-check.js";
import type { Clock } from "./ports.js";
import { formatAddress, type ResolvedOptions, resolveOptions } from "./resolve-options.js";

/** All groups share the links between nodes; this version has one. */
const GROUP = 0;
/** A link that was silent for so many election timeouts is given up. */
const LINK_SILENCE_TIMEOUTS = 5;

const CLOCK: Clock = { nowMs: () => performance.now(), wallMs: () => Date.now() };

type Gateway = ReturnType<typeof createGateway>;
type Links = ReturnType<typeof createPeerLinks>;
type Directory = Awaited<ReturnType<typeof openDataDirectory>>;

/**
 * Resolves once the node listens for clients and peers. Rejects with `INVALID_ARGUMENT` for options
 * that cannot be, `UNAVAILABLE` for an address that cannot be had, and with what the directory says
 * when it cannot be used or belongs to another node, cluster or process.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const resolved = resolveOptions(options);
  await requireFreePort("listen", resolved.listen);
  await requireFreePort("peerListen", resolved.peerListen);
  const directory = await openDataDirectory({
    path: resolved.dataDirectory,
    nodeId: resolved.id,
    clusterId: resolved.clusterId,
    segmentBytes: resolved.tuning.segmentBytes,
  });
  try {
    requireSameCluster(resolved, directory);
  } catch (error) {
    await directory.close();
    throw error;
  }
  const gateway = createGateway({ listen: resolved.listen });
  const node = new Node(resolved, directory, gateway);
  try {
    await node.start();
  } catch (error) {
    await node.close();
    throw error;
  }
  return node;
}

/**
 * Who votes comes from the options, so data may only be started with the members they were written
 * under: a node of three started as a cluster of one would elect itself and grant what the others
 * have granted already.
 */
function requireSameCluster(options: ResolvedOptions, directory: Directory): void {
  const { clusterId } = directory.identity;
  if (clusterId === options.clusterId) return;
  throw new HoldfastError(
    "INVALID_ARGUMENT",
    `the data in ${options.dataDirectory} belong to another cluster: initialCluster and ` +
      "clusterName must be those it was created with (where a peer has moved, say it by " +
      "peerAddresses)",
    { details: { stored: clusterId, options: options.clusterId } },
  );
}

class Node implements RunningNode {
  readonly ended: Promise<Error | undefined>;
  readonly #options: ResolvedOptions;
  readonly #directory: Directory;
  readonly #gateway: Gateway;
  readonly #startedMs = CLOCK.nowMs();
  #endpoint = "";
  #links: Links | undefined;
  #assembled: AssembledDriver | undefined;
  #closing: Promise<void> | undefined;
  #end: (error: Error | undefined) => void = () => {};

  constructor(options: ResolvedOptions, directory: Directory, gateway: Gateway) {
    this.#options = options;
    this.#directory = directory;
    this.#gateway = gateway;
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

  /** Rejects when a port cannot be had after all; `close` then gives back what was taken. */
  async start(): Promise<void> {
    const { listen, advertise, peerListen, peers, tuning, members, log } = this.#options;
    const { identity, notices, log: store } = this.#directory;
    await this.#gateway.start(this.#clientEvents(), this.#pages());
    this.#endpoint =
      advertise ?? `ws://${formatAddress({ host: listen.host, port: this.#gateway.port })}`;
    const links = createPeerLinks({
      identity: { ...identity, advertise: this.#endpoint },
      listen: peerListen,
      peers,
      silenceTimeoutMs: LINK_SILENCE_TIMEOUTS * tuning.electionTimeoutMs,
    });
    this.#links = links;
    const assembled = assembleDriver(
      {
        nodeId: identity.nodeId,
        clusterId: identity.clusterId,
        group: GROUP,
        voters: members.map(({ id }) => id),
        advertise: this.#endpoint,
        tuning,
      },
      {
        log: store,
        peers: links,
        gateway: this.#gateway,
        clock: CLOCK,
        scheduler: new LoopScheduler(CLOCK.nowMs),
        random: Math.random,
        logger: log,
        onFailure: (error) => this.#fail(error),
      },
    );
    this.#assembled = assembled;
    await links.start(assembled.driver.peerEvents);
    assembled.driver.start();
    for (const notice of notices) log("warn", "data directory", { notice });
    log("info", "node started", {
      id: this.id,
      cluster: identity.clusterId,
      endpoint: this.#endpoint,
      peerPort: links.port,
      lastIndex: store.boot.baseIndex + store.boot.entries.length,
    });
  }

  async stop(): Promise<void> {
    await this.close();
    this.#end(undefined);
  }

  /** Safe to call more than once and at any stage. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    this.#assembled?.driver.stop();
    try {
      await Promise.all([this.#gateway.close(), this.#links?.close()]);
    } finally {
      await this.#directory.close();
    }
  }

  #fail(error: Error): void {
    this.#options.log("error", "node failed", { message: error.message });
    const end = (): void => this.#end(error);
    // What goes wrong while closing is the consequence of what is reported.
    this.close().then(end, end);
  }

  /** Connections come only when the driver exists: it is made in the turn in which the port opens. */
  #clientEvents(): GatewayEvents {
    const events = (): GatewayEvents => {
      assert(this.#assembled !== undefined, () => "a client came before the driver");
      return this.#assembled.driver.clientEvents;
    };
    return {
      onConnection: (connection) => events().onConnection(connection),
      onAttach: (connection, command, bytes) => events().onAttach(connection, command, bytes),
      onCommand: (connection, command, bytes) => events().onCommand(connection, command, bytes),
      onQuery: (connection, query) => events().onQuery(connection, query),
      onClosed: (connection) => events().onClosed(connection),
      onRefused: (reason) => this.#options.log("warn", "client refused", { reason }),
    };
  }

  #pages(): (path: string) => HttpAnswer {
    const { clusterId, incarnation } = this.#directory.identity;
    const driver = (): AssembledDriver => {
      assert(this.#assembled !== undefined, () => "a request came before the driver");
      return this.#assembled;
    };
    return createPages({
      id: this.id,
      clusterId,
      incarnation,
      pid: process.pid,
      uptimeMs: () => CLOCK.nowMs() - this.#startedMs,
      endpoint: () => this.#endpoint,
      endpoints: () => driver().driver.endpoints,
      status: () => driver().driver.status,
      counts: () => driver().table.counts(),
      isDraining: () => this.#closing !== undefined,
    });
  }
}
