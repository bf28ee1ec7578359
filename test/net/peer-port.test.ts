/** What a node's peer port lets in, and how it turns the rest away. */
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { encodeHello, PEER_CLOSE } from "../../src/net/peer-hello.js";
import type { PeerMessage } from "../../src/net/types.js";
import { frameOf } from "./peer-messages.js";
import { birthOf, CLUSTER, loopback, PeerNode, type PeerNodeOptions } from "./peer-node.js";

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
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peer`, { perMessageDeflate: false });
  cleanups.push(() => socket.terminate());
  await once(socket, "open");
  return socket;
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

describe("the peer port", () => {
  const nobody = new Map([[2, loopback(1)]]);
  const cases: readonly (readonly [string, Uint8Array | string, number, RegExp])[] = [
    ["a message that is no hello", Buffer.from("hello there"), 1002, /no peer hello/],
    ["text", "hello", 1002, /text in place of/],
    ["another version", Buffer.from("4846504c0002", "hex"), PEER_CLOSE.version, /version 2/],
    ["another cluster", hello({ clusterId: "ab".repeat(16) }), PEER_CLOSE.wrongCluster, /cluster/],
    ["this node's own id", hello({ nodeId: 1 }), PEER_CLOSE.ownId, /second process/],
    ["a node nobody knows", hello({ nodeId: 7 }), PEER_CLOSE.notAMember, /no member/],
    ["one who seeks another", hello({}, 5), PEER_CLOSE.wrongNode, /seeks node 5/],
  ];
  test.each(cases)("turns %s away with a code and a reason", async (_, first, code, reason) => {
    const node = await startNode({ id: 1, peers: nobody });
    const socket = await stranger(node.links.port);
    socket.send(first);
    const closed = await closeOf(socket);
    expect(closed).toEqual({ code, reason: expect.stringMatching(reason) });
    expect(await node.refusal()).toContain(closed.reason);
  });

  test("takes no process that is older than one it has met", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const current = await stranger(node.links.port);
    current.send(hello({ incarnation: 5 }));
    await once(current, "message");
    const stale = await stranger(node.links.port);
    stale.send(hello({ incarnation: 4 }));
    expect(await closeOf(stale)).toEqual({
      code: PEER_CLOSE.staleIncarnation,
      reason:
        "node 2 came as incarnation 4 after 5, an old copy: " +
        "bring it back with holdfast recover --id 2",
    });
    current.send(frameOf([{ group: 3, message: barrier(1) }]));
    expect(await node.messages(2, 1)).toEqual([{ group: 3, message: barrier(1) }]);
  });

  test("takes none that is older than one met in an earlier life of this node", async () => {
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
        reason:
          "node 2 has another data directory than before: " +
          "bring it back with holdfast recover --id 2",
      });
    }
    const same = await stranger(node.links.port);
    same.send(hello({ incarnation: 5 }));
    await once(same, "message");
  });

  test("takes one with another directory that was made to be told everything", async () => {
    const knownPeers = new Map([[2, { incarnation: 5, births: [birthOf(2)] }]]);
    const node = await startNode({ id: 1, peers: nobody, knownPeers });
    const made = { birth: birthOf(9), origin: "joined" as const };
    const early = await stranger(node.links.port);
    early.send(hello({ ...made, incarnation: 5 }));
    expect(await closeOf(early)).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const recovered = await stranger(node.links.port);
    recovered.send(hello({ ...made, incarnation: 6 }));
    await once(recovered, "message");
    const old = await stranger(node.links.port);
    old.send(hello({ incarnation: 7 }));
    expect(await closeOf(old)).toMatchObject({ code: PEER_CLOSE.otherDirectory });
    const identities = node.record.all.filter((event) => event.on === "identity");
    expect(identities.map(({ identity }) => identity.birth)).toEqual([made.birth]);
  });

  test("tells of a peer that it came again with a higher incarnation, once", async () => {
    const node = await startNode({ id: 1, peers: nobody });
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
    bad.send(Buffer.concat([frame, frame.subarray(0, 12)]));
    expect(await closeOf(bad)).toEqual({ code: 1002, reason: expect.stringMatching(/cut short/) });
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

  test("sends a connection away that never says who it is", async () => {
    const node = await startNode({ id: 1, peers: nobody, tuning: { silenceTimeoutMs: 60 } });
    expect(await closeOf(await stranger(node.links.port))).toMatchObject({
      code: PEER_CLOSE.silent,
    });
  });

  test("limits the connections that have not said who they are", async () => {
    const node = await startNode({ id: 1, peers: nobody, tuning: { strangersMax: 2 } });
    const { port } = node.links;
    await stranger(port);
    const second = await stranger(port);
    const third = new WebSocket(`ws://127.0.0.1:${port}/peer`);
    const [error] = (await once(third, "error")) as [Error];
    expect(error.message).toMatch(/503/);
    second.send(hello());
    await once(second, "message");
    await stranger(port);
  });

  test("answers a browser or a client with where it is", async () => {
    const node = await startNode({ id: 1, peers: nobody });
    const page = await fetch(`http://127.0.0.1:${node.links.port}/`);
    expect([page.status, await page.text()]).toEqual([404, expect.stringMatching(/other nodes/)]);
    const wrong = new WebSocket(`ws://127.0.0.1:${node.links.port}/v1`);
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
