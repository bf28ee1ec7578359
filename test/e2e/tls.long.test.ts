/**
 * Three real nodes under mutual TLS, with clients that show certificates: the leader dies, and all
 * certificates are replaced, including the authority's, while commands go on and none fails.
 */
import { afterEach, expect, test } from "vitest";
import { createAuthority, type IssuedCertificate } from "../../src/certificates/index.js";
import { connect } from "../../src/index.js";
import { STATUS } from "../../src/protocol/index.js";
import { SocketClient } from "../server/world/socket-client.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";
import {
  clientOf,
  credentialsOf,
  NodeCertificates,
  nodeOf,
  observerTls,
} from "./world/node-certificates.js";
import type { NodeHandle } from "./world/node-handle.js";
import { until } from "./world/process-life.js";

const TTL_MS = 60_000;
const ROUNDS = 20;
const FIRST_CA = createAuthority({ name: "first authority", days: 30 });
const SECOND_CA = createAuthority({ name: "second authority", days: 30 });
const BOTH = `${FIRST_CA.certificatePem}${SECOND_CA.certificatePem}`;

const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Takes and gives back a lock of its own, over and over, on one connection; counts its rounds. */
class Worker {
  rounds = 0;
  readonly client: SocketClient;
  readonly session: number;
  readonly #key: string;
  #sequence: number;
  #isStopping = false;
  readonly #stopped: Promise<void>;

  private constructor(client: SocketClient, session: number, key: string, sequence: number) {
    this.client = client;
    this.session = session;
    this.#key = key;
    this.#sequence = sequence;
    this.#stopped = this.#work();
    this.#stopped.catch(() => undefined);
    endings.push(() => {
      this.#isStopping = true;
      client.close();
    });
  }

  static async on(node: NodeHandle, own: IssuedCertificate, key: string): Promise<Worker> {
    const client = await connectTo(node, own);
    const { session } = await client.attach({ ttlMs: TTL_MS });
    return new Worker(client, session, key, 1);
  }

  /** Goes on where `former` was, on another node. */
  static async after(former: Worker, node: NodeHandle, own: IssuedCertificate): Promise<Worker> {
    const { client, session } = former;
    const next = await connectTo(node, own, client.nonce, client.attempt);
    const { highestSequence } = await next.attach({ session });
    return new Worker(next, session, `${former.#key}+`, highestSequence + 1);
  }

  async goesOn(): Promise<void> {
    const enough = this.rounds + ROUNDS;
    const stopped = this.#stopped.then(() => Promise.reject(new Error("the worker stopped")));
    await Promise.race([until("a worker to go on", () => this.rounds >= enough), stopped]);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#stopped;
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      const acquired = this.#sequence;
      const granted = await this.client.acquire(this.#key, acquired, TTL_MS);
      expect(granted.result.status).toBe(STATUS.granted);
      const released = await this.client.end(acquired, acquired + 1);
      expect(released.result.status).toBe(STATUS.released);
      this.#sequence += 2;
      this.rounds += 1;
    }
  }
}

function connectTo(
  { endpoint }: NodeHandle,
  own: IssuedCertificate,
  nonce?: string,
  attempt?: number,
): Promise<SocketClient> {
  return SocketClient.connect(endpoint, nonce, attempt, credentialsOf(own, BOTH));
}

/** Gives each node other files in turn; resolves when all of them use these. */
async function replace(
  cluster: ClusterProcess,
  files: NodeCertificates,
  authority: IssuedCertificate,
  ca: string,
): Promise<void> {
  for (const node of cluster.nodes) {
    const told = (): number => node.stderr.split("TLS files reloaded").length;
    const before = told();
    files.write(node.id, nodeOf(authority, node.id), ca);
    node.hangUp();
    await until(`node ${node.id} to have its files`, () => told() > before);
  }
}

test("three nodes under mutual TLS: kill -9 of the leader, then other certificates and another CA, under load", async () => {
  const files = new NodeCertificates();
  endings.push(() => files.remove());
  for (const id of [1, 2, 3]) {
    files.write(id, nodeOf(FIRST_CA, id), FIRST_CA.certificatePem);
  }
  const cluster = await startCluster({
    argumentsOf: (id) => files.argumentsOf(id),
    tls: observerTls(clientOf(FIRST_CA), BOTH),
  });
  endings.push(() => cluster.stop());
  const worker = clientOf(FIRST_CA);
  let workers = await Promise.all(
    cluster.nodes.map((node) => Worker.on(node, worker, `load-${node.id}`)),
  );
  await Promise.all(workers.map((one) => one.goesOn()));
  // And one of the SDK, which finds its way by itself.
  const { endpoints } = cluster;
  const client = await connect({ endpoints, ttlMs: TTL_MS, ...credentialsOf(worker, BOTH) });
  endings.push(() => client.close());
  const kept = await client.acquire("kept");
  let isSteady = true;
  const steady = (async () => {
    while (isSteady) await client.using("sdk", (lock) => expect(lock.token).toBeGreaterThan(0));
  })();
  steady.catch(() => undefined);

  const leader = await cluster.leader();
  const [orphan] = workers.filter((_, index) => index === leader.id - 1);
  await leader.kill();
  const others = workers.filter((one) => one !== orphan);
  await Promise.all(others.map((one) => one.goesOn()));
  const next = await cluster.leader();
  expect(next.id).not.toBe(leader.id);
  const moved = await Worker.after(orphan as Worker, next, worker);
  await moved.goesOn();
  await leader.start();

  // Each step of a change of the authority, and no connection ends.
  workers = [...others, moved];
  await replace(cluster, files, FIRST_CA, BOTH);
  await replace(cluster, files, SECOND_CA, BOTH);
  await Promise.all(workers.map((one) => one.goesOn()));
  await cluster.leader();
  for (const one of workers) await one.stop();
  isSteady = false;
  await steady;
  expect(kept.signal.aborted).toBe(false);
  expect(await kept.release()).toEqual({ released: true });
  await client.close();

  // The first authority is gone: its certificates end where they stand, and open nothing.
  await replace(cluster, files, SECOND_CA, SECOND_CA.certificatePem);
  for (const { client } of workers) expect((await client.closed).code).toBe(1008);
  await expect(connectTo(next, worker)).rejects.toThrow();
  const renewed = await Worker.on(next, clientOf(SECOND_CA), "load-4");
  await renewed.goesOn();
  await renewed.stop();
});
