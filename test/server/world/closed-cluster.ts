/** Clusters in which `anonymous` may do nothing, with some identities and their tokens. */
import { createHash } from "node:crypto";
import {
  type AccessLevel,
  MESSAGE,
  OP,
  type SequencedCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { type StartedCluster, startCluster } from "./cluster.js";
import type { TestClient } from "./test-client.js";
import type { World, WorldNode } from "./world.js";
import type { WorldOptions } from "./world-time.js";

/** By the name of each identity, on every key. */
export type Levels = Readonly<Record<string, AccessLevel>>;

/**
 * The orders that close an open cluster. The token of each identity is its name; `root` has admin.
 */
export function closingOrders(levels: Levels): SequencedCommand[] {
  const orders: SequencedCommand[] = [];
  const head = () => ({ sequence: orders.length + 1, mark: orders.length, acknowledged: [] });
  const everything = { key: "", isPrefix: true };
  for (const [name, level] of Object.entries({ root: "admin" as const, ...levels })) {
    const digest = createHash("sha256").update(name).digest("hex");
    const proof = { kind: "token" as const, digest, expiresWallMs: 0 };
    orders.push({ op: OP.putIdentity, ...head(), name });
    orders.push({ op: OP.putCredential, ...head(), name, label: "main", ...proof });
    orders.push({ op: OP.setGrant, ...head(), name, ...everything, level });
  }
  orders.push({ op: OP.setGrant, ...head(), name: "anonymous", ...everything, level: "none" });
  return orders;
}

export interface ClosedCluster extends StartedCluster {
  /** Resolves when the client is connected and has signed in. */
  signedIn(name: string, node: WorldNode, address?: string): Promise<TestClient>;
}

export async function startClosedCluster(
  levels: Levels,
  options: Partial<WorldOptions> = {},
): Promise<ClosedCluster> {
  const cluster = await startCluster(options);
  const { world, leader } = cluster;
  const admin = world.client();
  admin.connect(leader);
  for (const order of closingOrders(levels)) {
    admin.send(order);
    const { status } = (await admin.untilReply(order.sequence)).result;
    if (status !== STATUS.ok) throw new Error(`order ${order.sequence} has the status ${status}`);
  }
  await world.run(100);
  return { ...cluster, signedIn: (name, node, address) => signIn(world, name, node, address) };
}

async function signIn(
  world: World,
  name: string,
  node: WorldNode,
  address?: string,
): Promise<TestClient> {
  const client = world.client();
  client.connect(node, address === undefined ? {} : { address });
  await showToken(world, client, name);
  return client;
}

/** An accepted token is answered by a second hello. */
export async function showToken(world: World, client: TestClient, token: string): Promise<void> {
  const hellos = () => client.received.filter(({ kind }) => kind === MESSAGE.hello).length;
  await world.until("hello", () => hellos() === 1);
  client.query({ op: OP.signIn, id: 1, token });
  await world.until(`${token} has signed in`, () => hellos() === 2);
}
