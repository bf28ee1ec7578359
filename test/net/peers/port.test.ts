/** What a node's peer port lets in, and how it turns the rest away. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import { INCARNATION_JUMP_MAX } from "../../../src/net/peers/known-peers.js";
import { FRAME } from "../../../src/net/peers/link-frame.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { frameOf, sealed } from "./messages.js";
import { birthOf, CLUSTER, loopback, PeerNode, type PeerNodeOptions } from "./node.js";
import { RawLink } from "./raw-link.js";

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
async function stranger(port: number): Promise<RawLink> {
  const link = await RawLink.to(port);
  cleanups.push(() => link.destroy());
  return link;
}

/** All that is answered until the end. */
async function allOf(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once("close", resolve));
  return Buffer.concat(chunks);
}

/** A bare TCP connection. */
async function silent(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined).resume();
  cleanups.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
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
  const cases: readonly (readonly [string, Uint8Array, number, RegExp, RegExp])[] = [
    ["an empty hello", Buffer.alloc(0), 1002, /malformed peer hello/, /malformed peer hello/],
    [
      "another version of the model",
      Buffer.from("0001", "hex"),
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
      const closed = await socket.ended;
      expect(closed).toEqual({ code, reason: expect.stringMatching(reason) });
      expect(closed.reason).not.toMatch(secrets);
      expect(await node.refusal()).toMatch(logged);
    },
  );

  test("explains itself to a later version of the link, in the bytes that never change", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const later = await silent(node.links.port);
    later.write(Buffer.from("4846504c0063", "hex"));
    const answer = await allOf(later);
    const words = "the link has version 99, this node speaks 2: run one version of Holdfast";
    expect(answer.toString("hex", 0, 6)).toBe("4846504c0002");
    expect(answer.toString("hex", 10, 13)).toBe(
      `05${PEER_CLOSE.version.toString(16).padStart(4, "0")}`,
    );
    expect(answer.toString("utf8", 13)).toContain(words);
    expect(await node.refusal()).toContain(words);
  });

  test.each<[string, readonly string[], RegExp, RegExp]>([
    [
      "a browser",
      ["GET /peer HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\n\r\n"],
      ...([/^HTTP\/1\.1 400 .*other nodes/s, /it speaks HTTP, this port is for nodes/] as const),
    ],
    [
      "a request that begins like a link",
      ["H", "F", "EAD / HTTP/1.1\r\n"],
      ...([/^HTTP\/1\.1 400 .*other nodes/s, /it speaks HTTP/] as const),
    ],
    [
      "a client of TLS",
      ["\x16", "\x03\x01\x02"],
      ...([/^HFPL..$/s, /it speaks TLS, this node plain text/] as const),
    ],
    ["anybody else", ["\0"], /^$/, /it speaks something else/],
  ])("turns %s away at the first byte that does not fit", async (_, pieces, answer, logged) => {
    const node = await startNode({ id: 1, peers: nobody });
    const socket = await silent(node.links.port);
    const answered = allOf(socket);
    for (const piece of pieces) {
      if (!socket.destroyed) socket.write(Buffer.from(piece, "latin1"));
      await new Promise(setImmediate);
    }
    expect((await answered).toString("latin1")).toMatch(answer);
    expect(await node.refusal()).toMatch(logged);
  });

  const met = new Map([[2, { incarnation: 1, births: [birthOf(2)] }]]);

  test("takes no process that is older than one it has seen", async () => {
    const node = await startNode({ id: 1, peers: nobody, knownPeers: met });
    const current = await stranger(node.links.port);
    current.send(hello({ incarnation: 5 }));
    await current.heard();
    const stale = await stranger(node.links.port);
    stale.send(hello({ incarnation: 4 }));
    expect(await stale.ended).toEqual({
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
    expect(await stale.ended).toMatchObject({ code: PEER_CLOSE.staleIncarnation });
    expect(await node.refusal()).toMatch(/node 2 came as incarnation 4 after 5/);
    const same = await stranger(node.links.port);
    same.send(hello({ incarnation: 5 }));
    await same.heard();
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.incarnation)).toEqual([5]);
  });

  test("takes none with another directory, however often that was started", async () => {
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const node = await startNode({ id: 1, peers: nobody, knownPeers });
    for (const incarnation of [1, 5, 6, 7_000]) {
      const wiped = await stranger(node.links.port);
      wiped.send(hello({ birth: birthOf(9), incarnation }));
      expect(await wiped.ended).toEqual({
        code: PEER_CLOSE.otherDirectory,
        reason: "another data directory than before: bring it back with holdfast recover",
      });
    }
    const same = await stranger(node.links.port);
    same.send(hello({ incarnation: 5 }));
    await same.heard();
  });

  test("believes another directory that was made to receive everything only where the peer is dialed", async () => {
    const [port = 0, portTwo = 0] = await freePorts(2);
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const peers = new Map([[2, loopback(portTwo)]]);
    const node = await startNode({ id: 1, port, peers, knownPeers });
    const forged = await stranger(port);
    forged.send(hello({ birth: birthOf(7), origin: "joined", incarnation: 7_000 }));
    expect(await forged.ended).toMatchObject({ code: PEER_CLOSE.unproven });
    const made = { birth: birthOf(9), origin: "joined" as const, incarnation: 6 };
    const toOne = new Map([[1, loopback(port)]]);
    const two = await startNode({ id: 2, port: portTwo, peers: toOne, identity: made });
    await Promise.all([node.up(2), two.up(1)]);
    const early = await stranger(port);
    early.send(hello({ birth: birthOf(8), origin: "joined", incarnation: 6 }));
    expect(await early.ended).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const old = await stranger(port);
    old.send(hello({ incarnation: 7 }));
    expect(await old.ended).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.birth)).toEqual([made.birth]);
    expect(two.record.all.filter((event) => event.on === "refused")).toEqual([]);
  });

  test("does not take the first who comes for a peer that it never saw: the peer itself is let in", async () => {
    const [port = 0, portTwo = 0] = await freePorts(2);
    const node = await startNode({ id: 1, port, peers: new Map([[2, loopback(portTwo)]]) });
    const first = await stranger(port);
    first.send(hello({ birth: birthOf(7), origin: "joined", incarnation: 7_000 }));
    await first.heard();
    const ended = first.ended;
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
      await socket.heard();
    }
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.incarnation)).toEqual([3, 4]);
  });

  test("keeps one link per peer: a newer one ends the older", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const older = await stranger(node.links.port);
    older.send(hello());
    await older.heard();
    const newer = await stranger(node.links.port);
    newer.send(hello());
    expect(await older.ended).toMatchObject({ code: PEER_CLOSE.replaced });
    newer.send(frameOf([{ group: 0, message: barrier(2) }]));
    expect(await node.messages(2, 1)).toHaveLength(1);
  });

  test("ends a link whose frame is bad, takes nothing of that frame, and lives on", async () => {
    const node = await startNode({ id: 1, peers: new Map([...nobody, [3, loopback(1)]]) });
    const [bad, good] = [await stranger(node.links.port), await stranger(node.links.port)];
    for (const [socket, nodeId] of [[bad, 2] as const, [good, 3] as const]) {
      socket.send(hello({ nodeId }));
      await socket.heard();
    }
    const frame = frameOf([{ group: 0, message: barrier(1) }]);
    bad.send(sealed(Buffer.concat([frame.subarray(4), frame.subarray(4, 16)])));
    expect(await bad.ended).toEqual({ code: 1002, reason: expect.stringMatching(/cut short/) });
    const flippedFrame = flipped(Buffer.concat([frame, new Uint8Array(50)]));
    const damaged = await stranger(node.links.port);
    damaged.send(hello());
    await damaged.heard();
    damaged.send(flippedFrame);
    expect(await damaged.ended).toEqual({
      code: PEER_CLOSE.damaged,
      reason: "the checksum of a frame is wrong",
    });
    good.send(frame);
    expect(await node.messages(3, 1)).toHaveLength(1);
    expect(node.record.all.filter((event) => event.on === "message")).toHaveLength(1);
  });

  test.each<[string, number, string, RegExp]>([
    ["too large", FRAME.messages, "01000001", /16777217 bytes, at most 16777216/],
    ["a second hello", FRAME.hello, "00000000", /kind 1 is not allowed here/],
    ["a pong", FRAME.pong, "00000000", /kind 4 is not allowed here/],
    ["a ping with a body", FRAME.ping, "00000001", /kind 3 with 1 bytes, at most 0/],
    ["of no kind", 99, "00000000", /kind 99 is not allowed here/],
  ])("ends a link whose frame is %s, by its head", async (_, kind, length, reason) => {
    const node = await startNode({ id: 1, peers: nobody });
    const link = await stranger(node.links.port);
    link.send(hello());
    await link.heard();
    link.write(Buffer.concat([Buffer.from(length, "hex"), Buffer.of(kind)]));
    expect(await link.ended).toEqual({ code: 1002, reason: expect.stringMatching(reason) });
    expect(await node.refusal()).toMatch(reason);
  });

  test.each([
    ["messages", FRAME.messages],
    ["a ping", FRAME.ping],
  ])("hears nothing of a stranger but a hello, not even %s", async (_, kind) => {
    const node = await startNode({ id: 1, peers: nobody });
    const link = await stranger(node.links.port);
    link.frame(kind);
    const reason = `a frame of kind ${kind} is not allowed here`;
    expect(await link.ended).toEqual({ code: 1002, reason });
  });

  test("keeps nothing of a hello that is too long", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const link = await stranger(node.links.port);
    link.write(Buffer.concat([Buffer.from("00000901", "hex"), Buffer.of(FRAME.hello)]));
    const reason = "a frame of kind 1 with 2305 bytes, at most 2304";
    expect(await link.ended).toEqual({ code: 1002, reason });
  });

  test("reports to the log a few of the strangers that it refuses, and counts the others", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const { port } = node.links;
    for (let count = 0; count < 20; count += 1) {
      const socket = await stranger(port);
      socket.send(Buffer.from("hello"));
      await socket.ended;
    }
    const told = node.record.all.filter(({ on }) => on === "refused");
    expect(told).toHaveLength(16);
  });

  test("sends a connection away that never says who it is, however slowly it speaks", async () => {
    const tuning = { silenceTimeoutMs: 60, closeGraceMs: 2_000 };
    const node = await startNode({ id: 1, peers: nobody, tuning });
    const link = await stranger(node.links.port);
    link.write(Buffer.from("0000090001", "hex"));
    const drops = setInterval(() => link.write(Buffer.of(0)), 5);
    expect(await link.ended.finally(() => clearInterval(drops))).toMatchObject({
      code: PEER_CLOSE.silent,
    });
    await once(await silent(node.links.port), "close");
  });

  test("lets a peer in, however many connections say nothing: the oldest of them gives way", async () => {
    const node = await startNode({ id: 1, peers: nobody, tuning: { strangersMax: 8 } });
    const { port } = node.links;
    const peer = await stranger(port);
    peer.send(hello());
    await peer.heard();
    const oldest = await silent(port);
    const closed = once(oldest, "close");
    for (let i = 0; i < 4; i += 1) {
      await stranger(port);
      await silent(port);
    }
    await closed;
    const another = await stranger(port);
    another.send(hello());
    expect(await peer.ended).toMatchObject({ code: PEER_CLOSE.replaced });
    another.send(frameOf([{ group: 0, message: barrier(1) }]));
    expect(await node.messages(2, 1)).toHaveLength(1);
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
    await socket.heard();
    const [closed] = await Promise.all([socket.ended, node.links.close()]);
    expect(closed.code).toBe(1001);
    await startNode({ id: 1, port, peers: nobody });
  });
});
