/**
 * What a client says to a whole node of a closed cluster: as a stranger, as a worker with few rights,
 * as an admin, or through the socket in the node's directory. It may end its own connection and
 * nothing else, hears nothing of what it may not observe, and a stranger leaves nothing in the log.
 */
import { createHash } from "node:crypto";
import type { GatewayConnection } from "../../../../src/net/gateway/connection.js";
import { GatewayRequests } from "../../../../src/net/gateway/requests.js";
import { InputMeter } from "../../../../src/net/index.js";
import { AccountedInput } from "../../../../src/net/meter/metered-input.js";
import {
  type ClientRequest,
  type Command,
  decodeFrame,
  MESSAGE,
  OP,
  ProtocolError,
  type ServerMessage,
  STATUS,
  WALL_MS_MAX,
} from "../../../../src/protocol/index.js";
import { frameOf } from "../../../protocol/frames.js";
import { startCluster } from "../../../server/world/cluster.js";
import type { MemoryConnection, Shown } from "../../../server/world/memory-gateway.js";
import type { TestClient } from "../../../server/world/test-client.js";
import type { World, WorldNode } from "../../../server/world/world.js";
import { mutateMsgpack } from "../../engine/msgpack-mutators.js";
import { wordMutator } from "../../engine/mutators.js";
import { demand, demandEqual, type FuzzTarget } from "../../engine/target.js";
import { sampleFrames } from "../formats/client-frames.js";

const HEAD_BYTES = 1;
const RUN_MS = 300;
const NODES = 3;
const TOKEN = "token of the worker";
/** In the names of a key, its session and its value, which only the admin may observe. */
const HIDDEN = "hidden";
const STRANGER = 0;
const WORKER = 1;
const CLIENTS: readonly Shown[] = [
  {},
  { certifiedName: "worker" },
  { certifiedName: "ops" },
  { isLocal: true },
];

type Order = Extract<Command, { readonly sequence: number }>;

interface Scene {
  readonly world: World;
  readonly leader: WorldNode;
  readonly node: WorldNode;
}

export const nodeRequests: FuzzTarget = {
  name: "node-requests",
  about: "what clients of each sort say to a whole node of a closed cluster",
  corpus,
  mutators: [
    (input, { random, other }) => {
      const tail = { random, other: () => other().slice(HEAD_BYTES) };
      const frame = mutateMsgpack(input.slice(HEAD_BYTES), tail);
      return frame === undefined ? undefined : headed(input[0] ?? 0, frame);
    },
    wordMutator([TOKEN, "worker", "ops", "anonymous", "local", "jobs/1", `other/${HIDDEN}`]),
  ],
  bytesMax: 8_192,
  steps: { fixed: 30_000_000, perByte: 50_000 },
  shortRuns: 10,
  async run(input) {
    const who = (input[0] ?? 0) % CLIENTS.length;
    const frame = input.slice(HEAD_BYTES);
    if (namesStrangeNode(frame)) return "refused";
    const { world, leader, node } = await begin();
    const lastIndex = leader.raft.lastIndex;
    const heard: ServerMessage[] = [];
    const peer = { onMessage: (one: ServerMessage) => heard.push(one), onClosed: () => undefined };
    const connection = node.gateway.connect(peer, CLIENTS[who]);
    await world.run(RUN_MS);
    say(node, connection, frame);
    await world.run(RUN_MS);
    await demandAgreement(world);
    const isSignedIn = Buffer.from(frame).includes(TOKEN);
    if (who === STRANGER && !isSignedIn) {
      demandEqual(leader.raft.lastIndex, lastIndex, "the end of the log after a stranger");
      for (const one of heard) demandNothingTold(one);
    }
    if (who <= WORKER) {
      demand(!JSON.stringify(heard).includes(HIDDEN), () => "it hears of what it may not observe");
    }
    return heard.some(isOk) ? "taken" : "refused";
  },
};

const METER = new InputMeter();

function headed(first: number, frame: Uint8Array): Uint8Array {
  return Uint8Array.from([first, ...frame]);
}

function say(node: WorldNode, connection: MemoryConnection, frame: Uint8Array): void {
  node.gateway.say((events) => {
    const requests = new GatewayRequests(events, () => undefined);
    const metered = Object.assign(connection, { input: new AccountedInput(METER, "", false) });
    requests.read(metered as unknown as GatewayConnection, frame, true);
  });
}

/** The scene has no further nodes: one that an admin adds cannot be reached even to fail. */
function namesStrangeNode(frame: Uint8Array): boolean {
  let isStrange = false;
  const request = (one: ClientRequest): void => {
    isStrange ||= one.op === OP.changeMember && one.action === "add" && one.node > NODES;
  };
  try {
    decodeFrame(frame, { request, invalid: () => undefined });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
  return isStrange;
}

function isOk(message: ServerMessage): boolean {
  if (message.kind === MESSAGE.answer || message.kind === MESSAGE.attached) {
    return message.status === STATUS.ok;
  }
  return message.kind === MESSAGE.reply && message.result.status === STATUS.ok;
}

/** A client without any right may know which node this is, and that it is nobody itself. */
function demandNothingTold(message: ServerMessage): void {
  if (message.kind === MESSAGE.hello) {
    const { leaderId, endpoints, voters } = message;
    demandEqual(`${leaderId} ${endpoints.length} ${voters.length}`, "0 0 0", "what hello says");
  } else if (isOk(message)) {
    const payload = message.kind === MESSAGE.answer ? JSON.stringify(message.payload) : "";
    const isOfItself =
      /^(null|\{"name":"anonymous","grants":\[\]\}|\{"isKnown":\w+,"isAllowed":false,"grant":null\})$/;
    demand(isOfItself.test(payload), () => `a stranger is answered ${JSON.stringify(message)}`);
  } else {
    demand(message.kind !== MESSAGE.leader, () => "a stranger hears of the leader");
  }
}

async function demandAgreement(world: World): Promise<void> {
  for (const { failures } of world.nodes) if (failures[0] !== undefined) throw failures[0];
  await world.until("all have applied the same", () => {
    const indexes = world.nodes.flatMap(({ raft }) => [raft.appliedIndex, raft.lastIndex]);
    return new Set(indexes).size === 1;
  });
  const hashes = new Set(world.nodes.map(({ table }) => table.hash()));
  demandEqual(hashes.size, 1, "tables that applied the same");
}

/** The same every time: an admin and a worker, and a lock of which the worker must not hear. */
/** How many orders begin a scene. */
const SCENE_ORDERS = 8;

async function begin(): Promise<Scene> {
  const { world, leader, followers } = await startCluster();
  const client = world.client();
  client.connect(leader, { isLocal: true });
  const digest = createHash("sha256").update(TOKEN).digest("hex");
  const certificate = { label: "c", kind: "certificate", digest: undefined, expiresWallMs: 0 };
  const token = { label: "t", kind: "token", digest, expiresWallMs: 0 };
  const all = { key: "", isPrefix: true };
  const orders: readonly object[] = [
    { op: OP.putIdentity, name: "ops" },
    { op: OP.putIdentity, name: "worker" },
    { op: OP.putCredential, name: "ops", ...certificate },
    { op: OP.putCredential, name: "worker", ...certificate },
    { op: OP.putCredential, name: "worker", ...token },
    { op: OP.setGrant, name: "ops", ...all, level: "admin" },
    { op: OP.setGrant, name: "worker", key: "jobs/", isPrefix: true, level: "acquire" },
    { op: OP.setGrant, name: "anonymous", ...all, level: "none" },
  ];
  for (const [at, fields] of orders.entries()) {
    await give(client, 2 ** 32 + at, { ...fields, mark: at });
  }
  demandEqual(orders.length, SCENE_ORDERS, "the orders of the scene");
  client.attach(600_000);
  await world.until("the client to be attached", () => client.session !== 0);
  const items = [{ key: `other/${HIDDEN}`, mode: "exclusive" }] as const;
  const options = { task: 1, items, waitMs: 0, value: HIDDEN };
  await give(client, 1, { op: OP.acquire, ...options }, STATUS.granted);
  await world.run(RUN_MS);
  return { world, leader, node: followers[0] };
}

async function give(
  client: TestClient,
  sequence: number,
  fields: object,
  status: number = STATUS.ok,
): Promise<void> {
  client.send({
    sequence,
    mark: 1,
    acknowledged: [],
    ...fields,
  } as unknown as Order);
  demandEqual((await client.untilReply(sequence)).result.status, status, "an order of the scene");
}

function corpus(): Uint8Array[] {
  // At the order count of the scene, so that only the missing right stands in the way.
  const head = (sequence: number) => ({ sequence, mark: SCENE_ORDERS, acknowledged: [] });
  const signIn = { op: OP.signIn, id: 1, token: TOKEN } as const;
  const wrong = { op: OP.signIn, id: 1, token: "another token" } as const;
  const whoAmI = { op: OP.whoAmI, id: 2 } as const;
  const access = { op: OP.access, id: 3, after: undefined, limit: 200 } as const;
  const check = { op: OP.checkAccess, id: 4, level: "acquire", key: "jobs/1", isPrefix: false };
  const toAll = { name: "anonymous", key: "", isPrefix: true, level: "admin" } as const;
  const secret = "ab".repeat(32);
  const token = { label: "u", kind: "token", digest: secret, expiresWallMs: 0 } as const;
  const conversations: readonly (readonly object[])[] = [
    [wrong],
    [signIn],
    [wrong, whoAmI],
    [signIn, signIn],
    [whoAmI, signIn],
    [whoAmI, access],
    [
      { ...check, name: "worker" },
      { ...check, id: 5, name: "anonymous" },
    ],
    [{ op: OP.putIdentity, ...head(2 ** 33), name: "eve" }],
    [{ op: OP.removeIdentity, ...head(2 ** 33), name: "ops" }],
    [{ op: OP.putCredential, ...head(2 ** 33), name: "worker", ...token }],
    [{ op: OP.removeCredential, ...head(2 ** 33), name: "worker", label: "t" }, whoAmI],
    [{ op: OP.setGrant, ...head(2 ** 33), ...toAll }],
    [{ op: OP.inspect, id: 1, key: `other/${HIDDEN}` }],
    [{ op: OP.query, id: 1, prefix: "", after: undefined, limit: 200 }],
    [{ op: OP.watch, id: 1, key: "other/", isPrefix: true, after: undefined }],
    [{ op: OP.history, id: 1, key: `other/${HIDDEN}`, limit: 100 }],
    [
      {
        ...{ op: OP.audit, id: 1, block: 0, at: 0, limit: 100, key: undefined, isPrefix: false },
        ...{ identity: undefined, kind: undefined, since: 0, until: WALL_MS_MAX },
      },
    ],
    [
      { op: OP.sessions, id: 1, after: 0, limit: 200 },
      { op: OP.waitGraph, id: 2, limit: 100 },
    ],
    [
      { op: OP.members, id: 1 },
      { op: OP.transfer, id: 2, node: 0 },
    ],
    [{ op: OP.saveSnapshot, id: 1, isStale: true }],
    [
      { op: OP.readOnly, id: 1 },
      { op: OP.setGrant, ...head(2 ** 33), ...toAll },
    ],
    [{ op: OP.logLevel, id: 1, node: 0, level: "debug", forMs: 1 }],
  ];
  const frames = conversations.map((requests) => frameOf(requests as readonly ClientRequest[]));
  const samples = sampleFrames(12).map((frame, at) => headed(at % CLIENTS.length, frame));
  return [...samples, ...frames.flatMap((frame) => CLIENTS.map((_, who) => headed(who, frame)))];
}
