/** A Redis door on a free port of this machine, over locks in memory, and connections to it. */
import {
  type Caller,
  type DoorNode,
  RedisDoor,
  type RedisDoorOptions,
} from "../../../../src/doors/redis/index.js";
import { HoldfastError } from "../../../../src/errors/index.js";
import { InputMeter } from "../../../../src/net/index.js";
import { MemoryLocks } from "./memory-locks.js";
import { RespClient } from "./resp-client.js";

export { commandBytes, RespClient, replyAt } from "./resp-client.js";

/** The state of a node, which a test may change. */
export type NodeState = { -readonly [Name in keyof DoorNode]: DoorNode[Name] };

export class DoorWorld implements AsyncDisposable {
  readonly locks: MemoryLocks;
  readonly log: string[] = [];
  /** What each connection has shown that asked for a client. */
  readonly callers: Caller[] = [];
  /** Tokens that the cluster does not know, of those that it would. */
  readonly refusedTokens = new Set<string>();
  readonly node: NodeState;
  readonly door: RedisDoor;
  readonly #clients: RespClient[] = [];

  private constructor(
    options: Partial<RedisDoorOptions>,
    node: Partial<DoorNode>,
    locks: MemoryLocks,
  ) {
    this.locks = locks;
    this.node = {
      ...{ id: 1, version: "1.0.0", clusterName: "holdfast", isServing: true },
      ...{ isOpen: true, admitsAnonymous: true },
      ...{ leader: 1, redisAddresses: new Map(), electionTimeoutMs: 600 },
      sentinelAddresses: new Map(),
      ...node,
    };
    const defaults: RedisDoorOptions = {
      ...{ listen: { host: "127.0.0.1", port: 0 }, sentinelListen: undefined },
      ...{ tls: undefined, connectionsMax: 64, addressConnectionsMax: 64 },
      ...{ allowsEndless: false, allowsUnproven: false, isFair: false, isRedlock: false },
      log: (level, message, fields) =>
        this.log.push(`${level} ${message} ${JSON.stringify(fields)}`),
      meter: new InputMeter(),
    };
    this.door = new RedisDoor({ ...defaults, ...options }, this.node, {
      clientOf: async (caller) => {
        this.callers.push(caller);
        const { token } = caller;
        if (token === undefined) return this.locks.held();
        if (token.startsWith("hf_") && !this.refusedTokens.has(token))
          return this.locks.held(token.slice(3));
        throw new HoldfastError("UNAUTHENTICATED", "unknown token");
      },
    });
  }

  static async open(
    options: Partial<RedisDoorOptions> = {},
    node: Partial<DoorNode> = {},
    locks = new MemoryLocks(),
  ): Promise<DoorWorld> {
    const world = new DoorWorld(options, node, locks);
    await world.door.start();
    world.node.redisAddresses = new Map([[1, `127.0.0.1:${world.door.port}`]]);
    world.door.serve();
    return world;
  }

  /** The doors of all nodes of one cluster. */
  static async openCluster(
    nodes: number,
    options: Partial<RedisDoorOptions> = {},
  ): Promise<readonly DoorWorld[]> {
    const locks = new MemoryLocks();
    const ids = Array.from({ length: nodes }, (_, at) => at + 1);
    return Promise.all(ids.map((id) => DoorWorld.open(options, { id }, locks)));
  }

  async connect(): Promise<RespClient> {
    const client = await RespClient.open(this.door.port);
    this.#clients.push(client);
    return client;
  }

  /** Ends whatever holds these keys of the first database. */
  async free(keys: readonly string[]): Promise<void> {
    this.locks.endAll(keys.map((key) => `~redis/0/${key}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.door.close();
  }
}
