/**
 * The npm package redlock 5, unchanged, as an application uses it: a client of one or several
 * servers that speak the protocol of Redis. The same code is measured against five Redis nodes and
 * against the Redis door of one cluster.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type Redlock from "redlock5";
import { loadPackage } from "../load-package.js";
import type { GiveBack, PeerClient } from "../peer.js";
import type { PeerLoad } from "../peer-load.js";
import { LocalTurns } from "../wake-ups.js";

const HOST = "127.0.0.1";
/** A lock is held only for a moment, so that none has to be extended. */
const DURATION_MS = 30_000;
/** Between two attempts at a lock that is taken. */
const RETRY_MS = 10;

class RedlockClient implements PeerClient {
  readonly #redlock: Redlock;
  readonly #servers: readonly Redis[];
  readonly #isShared: boolean;
  readonly #turns = new LocalTurns();
  #isClosed = false;

  constructor(redlock: Redlock, servers: readonly Redis[], isShared: boolean) {
    this.#redlock = redlock;
    this.#servers = servers;
    this.#isShared = isShared;
  }

  /** Workers of one process wait for each other here, as they would with any such client. */
  async acquire(key: string): Promise<GiveBack> {
    if (!this.#isShared) return this.#taken(key);
    await this.#turns.take(key);
    try {
      const giveBack = await this.#taken(key);
      return () => giveBack().finally(() => this.#turns.pass(key));
    } catch (error) {
      this.#turns.pass(key);
      throw error;
    }
  }

  async #taken(key: string): Promise<GiveBack> {
    const lock = await this.#redlock.acquire([key], DURATION_MS);
    return async () => {
      await lock.release();
      return true;
    };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const server of this.#servers) server.disconnect();
    // Its timers may still be due.
    await delay(RETRY_MS);
  }
}

/** One client for each connection of the load, each connected to all servers. */
export async function connectRedlockClients(
  ports: readonly number[],
  { connections, isShared }: PeerLoad,
): Promise<PeerClient[]> {
  const { Redis } = await loadPackage("ioredis", () => import("ioredis"));
  const { default: Redlock } = await loadPackage("redlock5", () => import("redlock5"));
  return Promise.all(
    Array.from({ length: connections }, async () => {
      const servers = ports.map((port) => new Redis({ host: HOST, port, lazyConnect: true }));
      await Promise.all(servers.map((server) => server.connect()));
      const settings = { retryCount: -1, retryDelay: RETRY_MS, retryJitter: RETRY_MS };
      return new RedlockClient(new Redlock(servers, settings), servers, isShared);
    }),
  );
}
