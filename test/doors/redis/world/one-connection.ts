/**
 * One connection of the door without the door: both ends of a socket in this process, ticks by hand,
 * locks in memory. So a test decides when time passes and what the other side reads.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { SYSTEM_CLOCK } from "../../../../src/doors/clock.js";
import { RedisConnection } from "../../../../src/doors/redis/connection.js";
import type { LockClient } from "../../../../src/doors/redis/index.js";
import { Confirmations } from "../../../../src/doors/redis/locks/confirmations.js";
import { Endings } from "../../../../src/doors/redis/locks/endings.js";
import { HotKeys } from "../../../../src/doors/redis/locks/hot-keys.js";
import { Publisher } from "../../../../src/doors/redis/pubsub/publisher.js";
import { ScriptLibrary } from "../../../../src/doors/redis/scripts/index.js";
import { InputMeter } from "../../../../src/net/index.js";
import { MeteredInput } from "../../../../src/net/meter/metered-input.js";
import { MemoryLocks } from "./memory-locks.js";
import { RespClient } from "./resp-client.js";

export class OneConnection implements AsyncDisposable {
  readonly locks = new MemoryLocks();
  readonly publisher = new Publisher(SYSTEM_CLOCK);
  readonly counts = {
    ...{ connections: 0, commandsTotal: 0, refusedTotal: 0, cutOffTotal: 0, unendableKinds: 0 },
  };
  /** Why it was cut off, and what was thrown. */
  readonly reasons: string[] = [];
  readonly broken: unknown[] = [];
  readonly connection: RedisConnection;
  readonly client: RespClient;
  isClosed = false;

  private constructor(socket: Socket, client: RespClient, change: Partial<LockClient>) {
    this.client = client;
    const held = { ...this.locks.held(), client: { ...this.locks.client, ...change } };
    const node = {
      ...{ id: 1, version: "1.0.0", clusterName: "holdfast", isServing: true, isOpen: true },
      ...{ admitsAnonymous: true, leader: 1, electionTimeoutMs: 600 },
      ...{ redisAddresses: new Map(), sentinelAddresses: new Map() },
    };
    const rules = {
      ...{
        allowsEndless: false,
        allowsUnproven: false,
        isRedlock: false,
        isSentinel: false,
        fairWaits: undefined,
      },
      confirmations: new Confirmations(() => {}),
      ...{ hotKeys: new HotKeys(() => 0), scripts: new ScriptLibrary() },
      endings: new Endings(() => 0),
      ...{ publisher: this.publisher, noteRefused: () => {} },
    };
    const callers = { clientOf: async () => held };
    const shared = { node, callers, rules, counts: this.counts, clock: SYSTEM_CLOCK };
    const parts = { ...shared, subscriptions: this.publisher };
    const shown = { address: "127.0.0.1", isEncrypted: false, certifiedName: undefined };
    const input = new MeteredInput(new InputMeter(), socket, shown.address, false);
    this.connection = new RedisConnection(1, { ...shown, socket, input }, parts, {
      onClosed: () => {
        this.isClosed = true;
      },
      onCutOff: (_address, reason) => this.reasons.push(reason),
      onBroken: (_address, error) => this.broken.push(error),
    });
  }

  /** `change`: what its locks do otherwise. */
  static async open(change: Partial<LockClient> = {}): Promise<OneConnection> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const [client, [socket]] = await Promise.all([
      RespClient.open(port),
      once(server, "connection") as Promise<[Socket]>,
    ]);
    server.close();
    socket.on("error", () => {});
    return new OneConnection(socket, client, change);
  }

  /** Lets what has been sent arrive, and ticks, until it is closed. */
  async tickUntilClosed(): Promise<void> {
    while (!this.isClosed) {
      this.connection.tick();
      for (let i = 0; i < 100; i++) await turn();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    this.connection.cutOff("");
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
