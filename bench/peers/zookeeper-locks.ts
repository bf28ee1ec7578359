/**
 * A lock in ZooKeeper by the recipe of its documentation: each request creates an ephemeral
 * sequential node under the lock's own node. The lowest number has the lock, every other watches
 * the number right before its own; removing the node releases the lock. The lock's own node is
 * created beforehand.
 */
import { once } from "node:events";
import type { ZooKeeperClient } from "node-zookeeper-client";
import { loadPackage } from "./load-package.js";
import type { GiveBack, PeerClient, PeerLoad } from "./peer.js";

const SESSION_MS = 30_000;
const CONNECT_MS_MAX = 20_000;
const NODE_PREFIX = "lock-";
const ANY_VERSION = -1;
/** Lock nodes that are created at the same time. */
const MAKING = 64;

interface Codes {
  readonly ephemeralSequential: number;
  readonly noNode: number;
}

class ZooKeeperLocks implements PeerClient {
  readonly #client: ZooKeeperClient;
  readonly #codes: Codes;

  constructor(client: ZooKeeperClient, codes: Codes) {
    this.#client = client;
    this.#codes = codes;
  }

  async acquire(key: string): Promise<GiveBack> {
    const parent = `/${key}`;
    const path = await asked<string>((done) => {
      const mode = this.#codes.ephemeralSequential;
      this.#client.create(`${parent}/${NODE_PREFIX}`, null, mode, done);
    });
    const own = path.slice(parent.length + 1);
    for (;;) {
      const nodes = await asked<string[]>((done) => this.#client.getChildren(parent, done));
      // The server numbers with ten digits, so texts and numbers have one order.
      const before = largestBelow(nodes, own);
      if (before === undefined) break;
      await this.#goneFrom(`${parent}/${before}`);
    }
    return () => this.#remove(path);
  }

  async make(key: string): Promise<void> {
    await asked<string>((done) => this.#client.mkdirp(`/${key}`, done));
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  async #goneFrom(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onAnswer = (error: Error | null, found: object | null): void => {
        if (error !== null && codeOf(error) !== this.#codes.noNode) reject(error);
        else if (error !== null || found === null) resolve();
      };
      this.#client.exists(path, () => resolve(), onAnswer);
    });
  }

  /** False: its session ended, and the node with it. */
  async #remove(path: string): Promise<boolean> {
    try {
      await asked<undefined>((done) => {
        this.#client.remove(path, ANY_VERSION, (error) => done(error, undefined));
      });
      return true;
    } catch (error) {
      if (codeOf(error) === this.#codes.noNode) return false;
      throw error;
    }
  }
}

/** @param address the leader's, which saves every request a hop */
export async function connectZooKeeper(address: string, load: PeerLoad): Promise<PeerClient[]> {
  const { default: zookeeper } = await loadPackage(
    "node-zookeeper-client",
    () => import("node-zookeeper-client"),
  );
  const codes = {
    ephemeralSequential: zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL,
    noNode: zookeeper.Exception.NO_NODE,
  };
  const clients = await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const client = zookeeper.createClient(address, { sessionTimeout: SESSION_MS, retries: 0 });
      const connected = once(client as unknown as EventTarget, "connected", {
        signal: AbortSignal.any([load.signal, AbortSignal.timeout(CONNECT_MS_MAX)]),
      });
      client.connect();
      await connected;
      return new ZooKeeperLocks(client, codes);
    }),
  );
  const [first] = clients;
  for (let from = 0; from < load.keys.length; from += MAKING) {
    await Promise.all(load.keys.slice(from, from + MAKING).map((key) => first?.make(key)));
  }
  return clients;
}

function largestBelow(names: readonly string[], own: string): string | undefined {
  let largest: string | undefined;
  for (const name of names) {
    if (name < own && (largest === undefined || name > largest)) largest = name;
  }
  return largest;
}

function asked<T>(ask: (done: (error: Error | null, result: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, result) => {
      if (error === null || error === undefined) resolve(result);
      else reject(error);
    });
  });
}

function codeOf(error: unknown): number {
  return (error as { readonly code?: number }).code ?? 0;
}
