/**
 * Bad input at the peer ports of a real cluster, even from an attacker who knows its id and
 * pretends to be a member: a closed connection with a reason. The nodes live on, and a client that
 * works meanwhile notices nothing.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import { MESSAGE } from "../../../src/protocol/index.js";
import { type NodeIdentity, readIdentity } from "../../../src/storage/index.js";
import { sealed } from "../../net/peers/messages.js";
import { RawLink } from "../../net/peers/raw-link.js";
import { Bystander } from "../world/bystander.js";
import { type ClusterProcess, startCluster } from "../world/cluster-process.js";
import { RawConnection, sayOverTcp } from "../world/raw-connection.js";

let cluster: ClusterProcess;
let bystander: Bystander;
let peerPorts: readonly number[] = [];
let clusterId = "";
let identities: readonly NodeIdentity[] = [];
beforeAll(async () => {
  const ports = await freePorts(6);
  peerPorts = ports.slice(3);
  cluster = await startCluster({ ports });
  const connection = await RawConnection.toClientPort(cluster.node(1).endpoint);
  const hello = connection.messages.find((message) => message.kind === MESSAGE.hello);
  if (hello?.kind !== MESSAGE.hello) throw new Error("no hello");
  clusterId = hello.clusterId;
  connection.close();
  const read = cluster.nodes.map(({ id }) => readIdentity(join(cluster.directory, `n${id}`)));
  identities = (await Promise.all(read)).filter((identity) => identity !== undefined);
  bystander = await Bystander.start(cluster);
});
afterEach(() => bystander.expectUndisturbed());
afterAll(async () => {
  await bystander?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

function identityOf(id: number): NodeIdentity {
  const found = identities.find(({ nodeId }) => nodeId === id);
  if (found === undefined) throw new Error(`no directory of node ${id}`);
  return found;
}

/** What member `from` says first to node `to` in its first life. */
function helloOf(from: number, to: number): Uint8Array {
  const { endpoint } = cluster.node(from);
  const { birth, origin } = identityOf(from);
  const identity = { nodeId: from, clusterId, birth, origin, incarnation: 1, advertise: endpoint };
  return encodeHello(identity, to);
}

function flipped(bytes: Uint8Array): Uint8Array {
  const damaged = Uint8Array.from(bytes);
  damaged[37] = (damaged[37] ?? 0) ^ 1;
  return damaged;
}

test("a first message that is not a hello is refused with code and reason, at every node", async () => {
  const firstOf = (to: number): readonly (readonly [Uint8Array, number, RegExp])[] => [
    [Buffer.alloc(0), PEER_CLOSE.badFrame, /malformed peer hello/],
    [Buffer.from("ffff", "hex"), PEER_CLOSE.version, /version 65535/],
    [helloOf(1, to).subarray(0, 20), PEER_CLOSE.damaged, /malformed/],
    [flipped(helloOf((to % 3) + 1, to)), PEER_CLOSE.damaged, /checksum/],
    [randomBytes(4_000), PEER_CLOSE.badFrame, /4000 bytes, at most 2304/],
    [strangeHello("ab".repeat(16), 9, to), PEER_CLOSE.wrongCluster, /^another cluster$/],
    [strangeHello(clusterId, 9, to), PEER_CLOSE.notAMember, /^not a member$/],
    [strangeHello(clusterId, to, to), PEER_CLOSE.ownId, /one id/],
    [strangeHello(clusterId, (to % 3) + 1, 7), PEER_CLOSE.wrongNode, /sought/],
    [
      strangeHello(clusterId, (to % 3) + 1, to, { incarnation: 0 }),
      ...([PEER_CLOSE.staleIncarnation, /an old copy/] as const),
    ],
    [
      strangeHello(clusterId, (to % 3) + 1, to, { incarnation: 9, birth: "0".repeat(16) }),
      ...([PEER_CLOSE.otherDirectory, /another data directory.*holdfast recover/] as const),
    ],
  ];
  for (const [index, port] of peerPorts.entries()) {
    for (const [message, code, reason] of firstOf(index + 1)) {
      const connection = await RawLink.to(port);
      connection.send(message);
      expect(await connection.ended).toEqual({ code, reason: expect.stringMatching(reason) });
    }
  }

  function strangeHello(
    id: string,
    from: number,
    to: number,
    changes: Partial<NodeIdentity> = {},
  ): Uint8Array {
    const { birth, origin } = identityOf(Math.min(from, 3));
    const rest = { birth, origin, incarnation: 1, advertise: "ws://x:1", ...changes };
    return encodeHello({ nodeId: from, clusterId: id, ...rest }, to);
  }
});

test("garbage of many sizes is turned away", async () => {
  const [port = 0] = peerPorts;
  for (const size of [1, 2, 5, 6, 39, 40, 41, 125, 126, 2_048, 2_049, 10_000, 1 << 20]) {
    const bytes = randomBytes(size);
    const connection = await RawLink.to(port);
    connection.send(Buffer.concat([Buffer.of(0, 0), bytes]));
    const { code } = await connection.ended;
    expect([size, code]).toEqual([size, size > 2_302 ? PEER_CLOSE.badFrame : PEER_CLOSE.version]);
    bytes[0] = 0;
    expect(await sayOverTcp(port, bytes)).toBe("");
  }
});

test("an impostor that talks nonsense loses the link, and the member gets it back", async () => {
  const leader = await cluster.leader();
  const followers = cluster.nodes.filter(({ id }) => id !== leader.id);
  const [first, second] = followers;
  if (first === undefined || second === undefined) throw new Error("two followers are needed");
  const nonsense: readonly Uint8Array[] = [
    randomBytes(3),
    randomBytes(64),
    randomBytes(100_000),
    Buffer.alloc(1_000_000),
    // A known kind with a length that the frame does not have.
    Buffer.from("050100000000ffffffff", "hex"),
  ];
  for (const frame of nonsense) {
    // To the leader as a follower, and to one follower as the other.
    for (const [from, to] of [
      [first.id, leader.id],
      [second.id, first.id],
    ] as const) {
      const connection = await RawLink.to(peerPorts[to - 1] ?? 0);
      connection.send(helloOf(from, to));
      await connection.heard();
      connection.send(sealed(frame));
      const { code, reason } = await connection.ended;
      expect(code).toBe(PEER_CLOSE.badFrame);
      expect(reason).not.toBe("");
    }
  }
});

test("clients and browsers learn where they are", async () => {
  const [port = 0] = peerPorts;
  const page = await fetch(`http://127.0.0.1:${port}/`);
  expect([page.status, await page.text()]).toEqual([400, expect.stringMatching(/other nodes/)]);
  expect(await sayOverTcp(port, "\x16\x03\x01 TLS?\r\n\r\n")).toBe("HFPL\0\x02");
});
