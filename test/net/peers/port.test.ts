/** What a node's peer port lets in, and how it turns the rest away. */
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { freePorts } from "../../../lab/free-ports.js";
import { encodeHello, PEER_CLOSE, PEER_SUBPROTOCOL } from "../../../src/net/peers/hello.js";
import { INCARNATION_JUMP_MAX } from "../../../src/net/peers/known-peers.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { sentenceIn } from "../../../src/text/safe-text.js";
import { frameOf, sealed } from "./messages.js";
import { birthOf, CLUSTER, loopback, PeerNode, type PeerNodeOptions } from "./node.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startNode(options: PeerNodeOptions): Promise<PeerNode> {
  const node = new PeerNode(options);
  cleanups.push(() => node.links.close());
  return node.start();
}

const barrier = (id: number): PeerMessage => ({ type: "readBarrier", id, term: 1 });

/** A bare connection to a node's peer port. */
async function stranger(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`, PEER_SUBPROTOCOL);
  socket.on("error", () => undefined);
  cleanups.push(() => socket.terminate());
  await once(socket, "open");
  return socket;
}

/** A bare TCP connection. */
async function silent(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined).resume();
  cleanups.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** What an upgrade with these headers is answered with. */
async function upgradeAnswer(port: number, headers: Record<string, string>): Promise<string> {
  const handshake = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  const asked = request({ port, path: "/peer", headers: { ...handshake, ...headers } }).end();
  const answered = once(asked, "response");
  const upgraded = once(asked, "upgrade");
  const [response, stream] = await Promise.race([answered, upgraded]);
  stream?.destroy();
  let text = "";
  if (stream === undefined) for await (const chunk of response) text += chunk;
  return `${response.statusCode} ${sentenceIn(text)}`.trim();
}

async function closeOf(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return { code, reason: reason.toString() };
}

const hello = (change: Partial<PeerNode["identity"]> = {}, expectedId = 1): Uint8Array => {
  const identity = { nodeId: 2, clusterId: CLUSTER, incarnation: 1, advertise: "ws://b:1" };
  const directory = { birth: birthOf(2), origin: "initial" as const };
  return encodeHello({ ...identity, ...directory, ...change }, expectedId);
};

function flipped(bytes: Uint8Array): Uint8Array {
  const damaged = Uint8Array.from(bytes);
  damaged[37] = (damaged[37] ?? 0) ^ 1;
  return damaged;
}

describe("the peer port", () => {
  const nobody = new Map([[2, loopback(1)]]);
  /** What is in the log of the node, and must be in no answer. */
  const secrets = /[0-9a-f]{16}|\bnode \d|127\.0\.0\.1/;
  const cases: readonly (readonly [string, Uint8Array | string, number, RegExp, RegExp])[] = [
    [
      "a message that is not a hello",
      Buffer.from("hello there"),
      1002,
      /not a peer hello/,
      /not a peer/,
    ],
    ["text", "hello", 1002, /text instead of/, /text instead of/],
    [
      "another version",
      Buffer.from("4846504c0001", "hex"),
      ...([
        PEER_CLOSE.version,
        /version 1, this node speaks \d+: run one version/,
        /version 1/,
      ] as const),
    ],
    ["a damaged hello", flipped(hello()), PEER_CLOSE.damaged, /checksum/, /checksum/],
    [
      "another cluster",
      hello({ clusterId: "ab".repeat(16) }),
      ...([
        PEER_CLOSE.wrongCluster,
        /^another cluster$/,
        /belongs to cluster abab.*, not 0011/,
      ] as const),
    ],
    ["this node's own id", hello({ nodeId: 1 }), PEER_CLOSE.ownId, /one id/, /second process/],
    [
      "a node nobody knows",
      hello({ nodeId: 7 }),
      PEER_CLOSE.notAMember,
      /^not a member$/,
      /node 7/,
    ],
    ["one who seeks another", hello({}, 5), PEER_CLOSE.wrongNode, /sought/, /seeks node 5/],
    [
      "a number of starts that none has reached",
      hello({ incarnation: INCARNATION_JUMP_MAX + 1 }),
      ...([
        PEER_CLOSE.farIncarnation,
        /no node has reached/,
        /incarnation 16777217 after 0/,
      ] as const),
    ],
  ];
  test.each(cases)(
    "turns %s away with a code and a reason, and says no more in it than was known",
    async (_, first, code, reason, logged) => {
      const node = await startNode({ id: 1, peers: nobody });
      const socket = await stranger(node.links.port);
      socket.send(first);
      const closed = await closeOf(socket);
      expect(closed).toEqual({ code, reason: expect.stringMatching(reason) });
      expect(closed.reason).not.toMatch(secrets);
      expect(await node.refusal()).toMatch(logged);
    },
  );

  test("opens no connection for a web page, whatever its origin, nor without the subprotocol", async () => {
    const { port } = (await startNode({ id: 1, peers: nobody })).links;
    const offer = { "Sec-WebSocket-Protocol": PEER_SUBPROTOCOL };
    for (const Origin of ["http://evil.example", `http://127.0.0.1:${port}`, "null", ""]) {
      const answer = await upgradeAnswer(port, { ...offer, Origin });
      expect(answer).toBe("403 web pages may not connect to this port");
    }
    const without = "400 the subprotocol holdfast-peer.v1 is missing";
    expect(await upgradeAnswer(port, {})).toBe(without);
    expect(await upgradeAnswer(port, { "Sec-WebSocket-Protocol": "holdfast" })).toBe(without);
    expect(await upgradeAnswer(port, offer)).toBe("101");
  });

  const met = new Map([[2, { incarnation: 1, births: [birthOf(2)] }]]);

  test("takes no process that is older than one it has seen", async () => {
    const node = await startNode({ id: 1, peers: nobody, knownPeers: met });
    const current = await stranger(node.links.port);
    current.send(hello({ incarnation: 5 }));
    await once(current, "message");
    const stale = await stranger(node.links.port);
    stale.send(hello({ incarnation: 4 }));
    expect(await closeOf(stale)).toEqual({
      code: PEER_CLOSE.staleIncarnation,
      reason:
        "an older process, or an old copy of its directory: bring it back with holdfast recover",
    });
    current.send(frameOf([{ group: 3, message: barrier(1) }]));
    expect(await node.messages(2, 1)).toEqual([{ group: 3, message: barrier(1) }]);
  });

  test("takes none that is older than one seen in an earlier life of this node", async () => {
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const node = await startNode({ id: 1, peers: nobody, knownPeers });
    const stale = await stranger(node.links.port);
    stale.send(hello({ incarnation: 4 }));
    expect(await closeOf(stale)).toMatchObject({ code: PEER_CLOSE.staleIncarnation });
    expect(await node.refusal()).toMatch(/node 2 came as incarnation 4 after 5/);
    const same = await stranger(node.links.port);
    same.send(hello({ incarnation: 5 }));
    await once(same, "message");
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.incarnation)).toEqual([5]);
  });

  test("takes none with another directory, however often that was started", async () => {
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const node = await startNode({ id: 1, peers: nobody, knownPeers });
    for (const incarnation of [1, 5, 6, 7_000]) {
      const wiped = await stranger(node.links.port);
      wiped.send(hello({ birth: birthOf(9), incarnation }));
      expect(await closeOf(wiped)).toEqual({
        code: PEER_CLOSE.otherDirectory,
        reason: "another data directory than before: bring it back with holdfast recover",
      });
    }
    const same = await stranger(node.links.port);
    same.send(hello({ incarnation: 5 }));
    await once(same, "message");
  });

  test("believes another directory that was made to receive everything only where the peer is dialed", async () => {
    const [port = 0, portTwo = 0] = await freePorts(2);
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const peers = new Map([[2, loopback(portTwo)]]);
    const node = await startNode({ id: 1, port, peers, knownPeers });
    const forged = await stranger(port);
    forged.send(hello({ birth: birthOf(7), origin: "joined", incarnation: 7_000 }));
    expect(await closeOf(forged)).toMatchObject({ code: PEER_CLOSE.unproven });
    const made = { birth: birthOf(9), origin: "joined" as const, incarnation: 6 };
    const toOne = new Map([[1, loopback(port)]]);
    const two = await startNode({ id: 2, port: portTwo, peers: toOne, identity: made });
    await Promise.all([node.up(2), two.up(1)]);
    const early = await stranger(port);
    early.send(hello({ birth: birthOf(8), origin: "joined", incarnation: 6 }));
    expect(await closeOf(early)).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const old = await stranger(port);
    old.send(hello({ incarnation: 7 }));
    expect(await closeOf(old)).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.birth)).toEqual([made.birth]);
    expect(two.record.all.filter((event) => event.on === "refused")).toEqual([]);
  });

  test("does not take the first who comes for a peer that it never saw: the peer itself is let in", async () => {
    const [port = 0, portTwo = 0] = await freePorts(2);
    const node = await startNode({ id: 1, port, peers: new Map([[2, loopback(portTwo)]]) });
    const first = await stranger(port);
    first.send(hello({ birth: birthOf(7), origin: "joined", incarnation: 7_000 }));
    await once(first, "message");
    const ended = closeOf(first);
    const two = await startNode({ id: 2, port: portTwo, peers: new Map([[1, loopback(port)]]) });
    await Promise.all([node.up(2), two.up(1)]);
    expect(await ended).toMatchObject({ code: PEER_CLOSE.replaced });
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity)).toEqual([two.identity]);
  });

  test("reports that a peer came again with a higher incarnation, once", async () => {
    const node = await startNode({ id: 1, peers: nobody, knownPeers: met });
    for (const incarnation of [3, 3, 4, 4]) {
      const socket = await stranger(node.links.port);
      socket.send(hello({ incarnation }));
      await once(socket, "message");
    }
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.incarnation)).toEqual([3, 4]);
  });

  test("keeps one link per peer: a newer one ends the older", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const older = await stranger(node.links.port);
    older.send(hello());
    await once(older, "message");
    const newer = await stranger(node.links.port);
    newer.send(hello());
    expect(await closeOf(older)).toMatchObject({ code: PEER_CLOSE.replaced });
    newer.send(frameOf([{ group: 0, message: barrier(2) }]));
    expect(await node.messages(2, 1)).toHaveLength(1);
  });

  test("ends a link whose frame is bad, takes nothing of that frame, and lives on", async () => {
    const node = await startNode({ id: 1, peers: new Map([...nobody, [3, loopback(1)]]) });
    const [bad, good] = [await stranger(node.links.port), await stranger(node.links.port)];
    for (const [socket, nodeId] of [[bad, 2] as const, [good, 3] as const]) {
      socket.send(hello({ nodeId }));
      await once(socket, "message");
    }
    const frame = frameOf([{ group: 0, message: barrier(1) }]);
    bad.send(sealed(Buffer.concat([frame.subarray(4), frame.subarray(4, 16)])));
    expect(await closeOf(bad)).toEqual({ code: 1002, reason: expect.stringMatching(/cut short/) });
    const flippedFrame = flipped(Buffer.concat([frame, new Uint8Array(50)]));
    const damaged = await stranger(node.links.port);
    damaged.send(hello());
    await once(damaged, "message");
    damaged.send(flippedFrame);
    expect(await closeOf(damaged)).toEqual({
      code: PEER_CLOSE.damaged,
      reason: "the checksum of a frame is wrong",
    });
    good.send(frame);
    expect(await node.messages(3, 1)).toHaveLength(1);
    expect(node.record.all.filter((event) => event.on === "message")).toHaveLength(1);
  });

  test("ends a link whose frame is too large", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const socket = await stranger(node.links.port);
    socket.send(hello());
    await once(socket, "message");
    socket.send(Buffer.alloc((16 << 20) + 1));
    socket.on("error", () => undefined);
    expect(await node.refusal()).toMatch(/Max payload size exceeded/);
  });

  test("keeps no more than a hello of a connection that did not say who it is", async () => {
    const { port } = (await startNode({ id: 1, peers: nobody })).links;
    const socket = await stranger(port);
    // The beginning of a frame that a peer might send.
    socket.send(Buffer.alloc(1 << 20), { fin: false });
    expect(await closeOf(socket)).toEqual({ code: 1006, reason: "" });
  });

  test("reports to the log a few of the strangers that it refuses, and counts the others", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const { port } = node.links;
    for (let count = 0; count < 20; count += 1) {
      const socket = await stranger(port);
      socket.send("hello");
      await closeOf(socket);
    }
    const told = node.record.all.filter(({ on }) => on === "refused");
    expect(told).toHaveLength(16);
  });

  test("sends a connection away that never says who it is, however often it pings", async () => {
    const tuning = { silenceTimeoutMs: 60, closeGraceMs: 2_000 };
    const node = await startNode({ id: 1, peers: nobody, tuning });
    const socket = await stranger(node.links.port);
    const closed = closeOf(socket);
    // Not as fast as it goes: what is unread when the port lets go makes the system drop its last words.
    const pings = setInterval(() => socket.ping(), 5);
    expect(await closed.finally(() => clearInterval(pings))).toMatchObject({
      code: PEER_CLOSE.silent,
    });
    await once(await silent(node.links.port), "close");
  });

  test("lets a peer in, however many connections say nothing: the oldest of them gives way", async () => {
    const node = await startNode({ id: 1, peers: nobody, tuning: { strangersMax: 8 } });
    const { port } = node.links;
    const peer = await stranger(port);
    peer.send(hello());
    await once(peer, "message");
    const oldest = await silent(port);
    const closed = once(oldest, "close");
    for (let i = 0; i < 4; i += 1) {
      await stranger(port);
      await silent(port);
    }
    await closed;
    const another = await stranger(port);
    another.send(hello());
    expect(await closeOf(peer)).toMatchObject({ code: PEER_CLOSE.replaced });
    another.send(frameOf([{ group: 0, message: barrier(1) }]));
    expect(await node.messages(2, 1)).toHaveLength(1);
  });

  test("answers a browser or a client with where it is", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const page = await fetch(`http://127.0.0.1:${node.links.port}/`);
    expect([page.status, await page.text()]).toEqual([404, expect.stringMatching(/other nodes/)]);
    const wrong = new WebSocket(`ws://127.0.0.1:${node.links.port}/v1`, PEER_SUBPROTOCOL);
    const [error] = (await once(wrong, "error")) as [Error];
    expect(error.message).toMatch(/404/);
  });

  test("that is taken is one line naming address and port", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const { port } = node.links;
    const second = new PeerNode({ id: 1, port, peers: nobody });
    await expect(second.start()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `cannot listen on 127.0.0.1:${port}: the port is taken (EADDRINUSE)`,
    });
    await second.links.close();
  });

  test("is free again after close", async () => {
    const node = new PeerNode({ id: 1, peers: nobody });
    await node.start();
    const { port } = node.links;
    const socket = await stranger(port);
    socket.send(hello());
    await once(socket, "message");
    const [closed] = await Promise.all([closeOf(socket), node.links.close()]);
    expect(closed.code).toBe(1001);
    await startNode({ id: 1, port, peers: nobody });
  });
});
