/** Links between nodes on loopback sockets: order, identity, faults, refusals. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import { FRAME_HEAD_BYTES } from "../../../src/net/peers/link-frame.js";
import type { PeerMessage } from "../../../src/net/types.js";
import type { Message } from "../../../src/raft/index.js";
import { frameOf } from "./messages.js";
import { loopback, PeerNode, type PeerNodeOptions } from "./node.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startNode(options: PeerNodeOptions): Promise<PeerNode> {
  const node = new PeerNode(options);
  cleanups.push(() => node.links.close());
  return node.start();
}

async function proxyTo(port: number): Promise<TcpProxy> {
  const proxy = await TcpProxy.to(port);
  cleanups.push(() => proxy.close());
  return proxy;
}

/** Nodes 1 … count, each knowing all others. */
async function cluster(count: number): Promise<PeerNode[]> {
  const ports = await freePorts(count);
  const nodes = ports.map((port, i) => {
    const others = ports.map((other, j) => [j + 1, loopback(other)] as const);
    const peers = new Map(others.filter(([id]) => id !== i + 1));
    return startNode({ id: i + 1, port, peers });
  });
  return Promise.all(nodes);
}

/** Node 1, that dials node 2 through a proxy, and node 2. */
async function pairThroughProxy(
  tuning: PeerNodeOptions["tuning"] = {},
): Promise<{ one: PeerNode; two: PeerNode; proxy: TcpProxy }> {
  const [portOne = 0, portTwo = 0] = await freePorts(2);
  const proxy = await proxyTo(portTwo);
  const peers = new Map([[1, loopback(portOne)]]);
  const two = await startNode({ id: 2, port: portTwo, peers });
  const options = { id: 1, port: portOne, peers: new Map([[2, proxy.address]]), tuning };
  return { one: await startNode(options), two, proxy };
}

const barrier = (id: number): PeerMessage => ({ type: "readBarrier", id, term: 1 });
const forward = (id: number, size: number): PeerMessage => ({
  type: "forward",
  id,
  term: 1,
  records: new Uint8Array(size).fill(id),
});

describe("links between nodes", () => {
  test("every node reaches every other, and learns who it is", async () => {
    const nodes = await cluster(3);
    for (const node of nodes) {
      for (const other of nodes) {
        if (other === node) continue;
        await node.up(other.identity.nodeId);
        await node.record.find(
          (event) => event.on === "identity" && event.identity.nodeId === other.identity.nodeId,
        );
        expect(node.record.all).toContainEqual({ on: "identity", identity: other.identity });
      }
    }
  });

  test("messages arrive in the order they were sent in, with their group", async () => {
    const [one, two] = (await cluster(2)) as [PeerNode, PeerNode];
    await one.up(2);
    const sent = Array.from({ length: 300 }, (_, i) => ({ group: i % 7, message: barrier(i) }));
    for (const [i, { group, message }] of sent.entries()) {
      one.links.send(2, group, message);
      if (i % 10 === 9) one.links.flush();
    }
    expect(await two.messages(1, 300)).toEqual(sent);
  });

  test("entries arrive as they were, and what is kept does not pin the socket's buffers", async () => {
    const [one, two] = (await cluster(2)) as [PeerNode, PeerNode];
    await one.up(2);
    const entries = Array.from({ length: 20 }, (_, i) => ({
      index: 8 + i,
      term: 5,
      kind: "command" as const,
      data: new Uint8Array(100).fill(i),
    }));
    const base = { from: 1, to: 2, term: 5, epoch: 6 };
    const head = { prevLogIndex: 7, prevLogTerm: 4, commitIndex: 3, entries };
    const append: Message = { type: "append", ...base, ...head };
    one.links.send(2, 0, { type: "raft", message: append });
    one.links.flush();
    const [received] = await two.messages(1, 1);
    expect(received?.message).toEqual({ type: "raft", message: append });
    if (received?.message.type !== "raft" || received.message.message.type !== "append") {
      throw new Error("not an append");
    }
    const buffers = new Set(received.message.message.entries.map((entry) => entry.data.buffer));
    expect(buffers.size).toBe(1);
    const frameBytes = frameOf([{ group: 0, message: received.message }]).length;
    for (const buffer of buffers) expect(buffer.byteLength).toBe(FRAME_HEAD_BYTES + frameBytes);
  });

  test("a turn with more than a frame can carry arrives whole, in several frames", async () => {
    const [one, two] = (await cluster(2)) as [PeerNode, PeerNode];
    await one.up(2);
    for (let id = 1; id <= 4; id += 1) one.links.send(2, 0, forward(id, 7 << 20));
    one.links.flush();
    const received = await two.messages(1, 4);
    expect(received.map(({ message }) => message.type === "forward" && message.id)).toEqual([
      1, 2, 3, 4,
    ]);
    expect(received.every(({ message }) => message.type === "forward")).toBe(true);
  });

  test("what is sent while the link is down is dropped and what follows is not", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const one = await startNode({ id: 1, port: portOne, peers: new Map([[2, loopback(portTwo)]]) });
    one.links.send(2, 0, barrier(1));
    one.links.send(9, 0, barrier(1));
    one.links.flush();
    const two = await startNode({ id: 2, port: portTwo, peers: new Map([[1, loopback(portOne)]]) });
    await one.up(2);
    one.links.send(2, 0, barrier(2));
    one.links.flush();
    expect(await two.messages(1, 1)).toEqual([{ group: 0, message: barrier(2) }]);
  });

  test("a peer that connects is dialed at once, however long the pause would have been", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const one = await startNode({
      id: 1,
      port: portOne,
      peers: new Map([[2, loopback(portTwo)]]),
      tuning: { redialMinMs: 3_600_000, redialMaxMs: 3_600_000 },
    });
    await startNode({ id: 2, port: portTwo, peers: new Map([[1, loopback(portOne)]]) });
    await one.up(2);
  });
});

describe("a link that fails", () => {
  test("by a reset is down as closed, once, and comes back with a higher epoch", async () => {
    const { one, two, proxy } = await pairThroughProxy();
    const epoch = await one.up(2);
    proxy.reset();
    expect(await one.down(2)).toMatchObject({ epoch, closed: true });
    const again = await one.up(
      2,
      one.record.all.findIndex((event) => event.on === "down"),
    );
    expect(again).toBeGreaterThan(epoch);
    one.links.send(2, 0, barrier(7));
    one.links.flush();
    expect(await two.messages(1, 1)).toEqual([{ group: 0, message: barrier(7) }]);
    expect(one.record.all.filter((event) => event.on === "down")).toHaveLength(1);
    expect(two.record.all.filter((event) => event.on === "down")).toHaveLength(0);
  });

  test("because the peer stopped is down as closed, and up when the peer is back", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const one = await startNode({ id: 1, port: portOne, peers: new Map([[2, loopback(portTwo)]]) });
    const options = { id: 2, port: portTwo, peers: new Map([[1, loopback(portOne)]]) };
    const first = await startNode(options);
    const epoch = await one.up(2);
    await first.links.close();
    expect(await one.down(2)).toMatchObject({ epoch, closed: true });
    const second = await startNode({ ...options, identity: { incarnation: 2 } });
    const again = await one.up(
      2,
      one.record.all.findIndex((event) => event.on === "down"),
    );
    expect(again).toBeGreaterThan(epoch);
    await second.up(1);
    expect(one.record.all).toContainEqual({ on: "identity", identity: second.identity });
  });

  test("by silence is down as not closed", async () => {
    const { one, proxy } = await pairThroughProxy({ silenceTimeoutMs: 80 });
    const epoch = await one.up(2);
    proxy.freeze();
    expect(await one.down(2)).toMatchObject({ epoch, closed: false });
  });

  test("that is idle stays up", async () => {
    const { one, proxy } = await pairThroughProxy({ silenceTimeoutMs: 80 });
    const other = await pairThroughProxy({ silenceTimeoutMs: 80 });
    await one.up(2);
    await other.one.up(2);
    // The first pair falls silent and is noticed; the second pair was just as idle meanwhile.
    proxy.freeze();
    await one.down(2);
    expect(other.one.record.all.filter((event) => event.on === "down")).toHaveLength(0);
  });

  test("because the peer does not read is given up instead of buffering on", async () => {
    const { one, proxy } = await pairThroughProxy({ bufferedBytesMax: 20 << 20 });
    await one.up(2);
    proxy.freeze();
    for (let id = 1; id <= 30; id += 1) {
      one.links.send(2, 0, forward(id, 1 << 20));
      one.links.flush();
    }
    expect(await one.down(2)).toMatchObject({ closed: false });
  });

  test("because one turn alone exceeds the limit is given up", async () => {
    const { one } = await pairThroughProxy({ bufferedBytesMax: 20 << 20 });
    await one.up(2);
    for (let id = 1; id <= 6; id += 1) one.links.send(2, 0, forward(id, 7 << 20));
    expect(await one.down(2)).toMatchObject({ closed: false });
  });

  test("epochs go on rising in the next life of a node", async () => {
    const [first] = (await cluster(2)) as [PeerNode];
    const epoch = await first.up(2);
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const peers = new Map([[2, loopback(portTwo)]]);
    await startNode({ id: 2, port: portTwo, peers: new Map([[1, loopback(portOne)]]) });
    const next = await startNode({ id: 1, port: portOne, peers, identity: { incarnation: 2 } });
    expect(await next.up(2)).toBeGreaterThan(epoch + 1_000);
  });
});

describe("a link is refused, by both sides, of which only the refusing one names what it saw,", () => {
  const pair = async (change: Omit<PeerNodeOptions, "id" | "peers" | "port">, id = 2) => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const one = await startNode({ id: 1, port: portOne, peers: new Map([[2, loopback(portTwo)]]) });
    const peers = new Map([[id === 1 ? 9 : 1, loopback(portOne)]]);
    const two = await startNode({ id, port: portTwo, peers, ...change });
    return { one, two };
  };

  test("when the clusters differ", async () => {
    const { one, two } = await pair({ identity: { clusterId: "f".repeat(32) } });
    for (const node of [one, two]) {
      await node.record.find(({ on }) => on === "refused");
      for (const event of node.record.all) {
        if (event.on !== "refused") continue;
        const isOwn = event.reason.startsWith("peer link from");
        expect(event.reason).toMatch(isOwn ? /cluster f{32}|cluster 0011/ : /: another cluster$/);
      }
    }
  });

  test("when another node than the dialed one answers", async () => {
    const { one } = await pair({}, 3);
    expect(await one.refusal()).toMatch(/node 3/);
  });

  test("when a node finds its own id", async () => {
    const { one } = await pair({}, 1);
    expect(await one.refusal()).toMatch(/a second process has the id 1|two processes with one id/);
  });

  test("and a standing refusal is logged once, not with every attempt", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const tuning = { refusedRedialMs: 1, redialMinMs: 1, redialMaxMs: 1 };
    const peers = new Map([[2, loopback(portTwo)]]);
    const two = await startNode({ id: 3, port: portTwo, peers: new Map() });
    const one = await startNode({ id: 1, port: portOne, peers, tuning });
    await two.record.until((all) => all.length >= 5);
    expect(one.record.all.filter((event) => event.on === "refused")).toHaveLength(1);
  });

  test("when something else listens at the peer's address", async () => {
    const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
    cleanups.push(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const one = await startNode({ id: 1, peers: new Map([[2, loopback(port)]]) });
    expect(await one.refusal()).toBe(`no peer port at node 2 (127.0.0.1:${port}): it speaks HTTP`);
  });
});
