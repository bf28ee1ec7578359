/**
 * Peers that come, go and move while a node runs: who is dialed, who is let in, what is reported.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import { decodeHello, encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { birthOf, type Happening, loopback, PeerNode, type PeerNodeOptions } from "./node.js";
import { RawLink } from "./raw-link.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const NOBODY: PeerNodeOptions["peers"] = new Map();
/** A node that waits after a refusal waits longer than any test. */
const PATIENT = { refusedRedialMs: 3_600_000 };

async function startNode(options: PeerNodeOptions): Promise<PeerNode> {
  const node = new PeerNode({ tuning: PATIENT, ...options });
  cleanups.push(() => node.links.close());
  return node.start();
}

type Peers = ReadonlyMap<number, { host: string; port: number }>;

/** Nodes 1 and 2, and how each would dial the other. */
async function pair(know: {
  readonly one: boolean;
  readonly two: boolean;
}): Promise<{ one: PeerNode; two: PeerNode; toOne: Peers; toTwo: Peers }> {
  const [portOne = 0, portTwo = 0] = await freePorts(2);
  const toOne = new Map([[1, loopback(portOne)]]);
  const toTwo = new Map([[2, loopback(portTwo)]]);
  const one = await startNode({ id: 1, port: portOne, peers: know.one ? toTwo : NOBODY });
  const two = await startNode({ id: 2, port: portTwo, peers: know.two ? toOne : NOBODY });
  return { one, two, toOne, toTwo };
}

/** Node 1 has begun to dial node 2 by way of a proxy. */
async function proxiedPair() {
  const both = await pair({ one: false, two: true });
  const proxy = await TcpProxy.to(both.toTwo.get(2)?.port ?? 0);
  cleanups.push(() => proxy.close());
  both.one.links.setPeers(new Map([[2, proxy.address]]));
  return { ...both, proxy };
}

const barrier = (id: number): PeerMessage => ({ type: "readBarrier", id, term: 1 });
const of = (node: PeerNode, on: Happening["on"]): Happening[] =>
  node.record.all.filter((event) => event.on === on);

describe("a peer that is added", () => {
  test("is dialed and let in, though there was none at the start", async () => {
    const { one, two, toOne, toTwo } = await pair({ one: false, two: false });
    two.links.setPeers(toOne);
    one.links.setPeers(toTwo);
    await Promise.all([one.up(2), two.up(1)]);
    one.links.send(2, 0, barrier(1));
    one.links.flush();
    expect(await two.messages(1, 1)).toHaveLength(1);
  });

  test("may be added before the links are started", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const one = new PeerNode({ id: 1, port: portOne, peers: NOBODY });
    cleanups.push(() => one.links.close());
    one.links.setPeers(new Map([[2, loopback(portTwo)]]));
    await Promise.all([
      one.start(),
      startNode({ id: 2, port: portTwo, peers: new Map([[1, loopback(portOne)]]) }),
    ]);
    await one.up(2);
  });

  test("after it was refused is reached at once: it does not wait out its refusal", async () => {
    const { one, two, toTwo } = await pair({ one: false, two: true });
    expect(await two.refusal()).toMatch(/refused by node 1 \(.*\): not a member$/);
    expect(await one.refusal()).toMatch(/node 2 is not a member known to node 1/);
    one.links.setPeers(toTwo);
    await Promise.all([one.up(2), two.up(1)]);
  });

  test("after it refused this node reaches it at once", async () => {
    const { one, two, toOne } = await pair({ one: true, two: false });
    expect(await one.refusal()).toMatch(/refused by node 2 \(.*\): not a member$/);
    two.links.setPeers(toOne);
    await Promise.all([one.up(2), two.up(1)]);
  });

  test("while its refusal is on the way is dialed again soon, not after the long pause", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    cleanups.push(() => server.close());
    await once(server, "listening");
    const accepted = async (): Promise<RawLink> => {
      const [stream] = (await once(server, "connection")) as [Socket];
      cleanups.push(() => stream.destroy());
      return new RawLink(stream);
    };
    const { port } = server.address() as { port: number };
    const one = await startNode({ id: 1, peers: new Map([[2, loopback(port)]]) });
    const first = await accepted();
    const read = decodeHello((await first.heard()).body);
    if ("code" in read) throw new Error(read.detail);
    // Node 2 comes to node 1 before it has answered: by now it would take it.
    const identity = { ...read.identity, nodeId: 2 };
    const coming = await RawLink.to(one.links.port);
    cleanups.push(() => coming.destroy());
    coming.send(encodeHello(identity, 1));
    await coming.heard();
    first.close(PEER_CLOSE.notAMember, "no member");
    const second = await accepted();
    await second.heard();
    second.send(encodeHello(identity, 1));
    await one.up(2);
  });

  test("under an address that can be none is reported, and harms nobody else", async () => {
    const { one, toTwo } = await pair({ one: true, two: true });
    await one.up(2);
    one.links.setPeers(new Map([...toTwo, [3, { host: "256.1.1.1", port: 1 }]]));
    expect(await one.refusal()).toMatch(
      /^cannot dial node 3 \(256\.1\.1\.1:1\): this is not an address/,
    );
    expect(of(one, "down")).toHaveLength(0);
  });
});

describe("a peer that is removed", () => {
  test("still gets what was said, and both sides learn of the link's end and its reason", async () => {
    const { one, two } = await pair({ one: true, two: true });
    const [epoch] = await Promise.all([one.up(2), two.up(1)]);
    for (let id = 1; id <= 100; id += 1) one.links.send(2, 0, barrier(id));
    one.links.setPeers(NOBODY);
    expect(of(one, "down")).toEqual([{ on: "down", peer: 2, epoch, closed: false }]);
    const received = await two.messages(1, 100);
    expect(received.at(-1)?.message).toEqual(barrier(100));
    expect(await two.down(1)).toMatchObject({ closed: false });
    expect(await two.refusal()).toMatch(/: no longer a member$/);
    one.links.send(2, 0, barrier(101));
    expect(one.links.bufferedBytes(2)).toBe(0);
  });

  test("is heard no more, not even what was on its way", async () => {
    const { one, two } = await pair({ one: true, two: true });
    await Promise.all([one.up(2), two.up(1)]);
    two.links.send(1, 0, barrier(1));
    two.links.flush();
    one.links.setPeers(NOBODY);
    await two.down(1);
    expect(of(one, "message")).toHaveLength(0);
  });

  test("is reached at once when it is a member again", async () => {
    const { one, two, toTwo } = await pair({ one: true, two: true });
    const [epoch] = await Promise.all([one.up(2), two.up(1)]);
    one.links.setPeers(NOBODY);
    await two.down(1);
    const from = two.record.all.length;
    one.links.setPeers(toTwo);
    await Promise.all([one.up(2, one.record.all.length), two.up(1, from)]);
    expect(of(one, "up").map((event) => event.on === "up" && event.epoch > epoch)).toEqual([
      false,
      true,
    ]);
  });

  test("and comes back with a new directory is refused even then", async () => {
    const [portOne = 0, portTwo = 0] = await freePorts(2);
    const toOne = new Map([[1, loopback(portOne)]]);
    const toTwo = new Map([[2, loopback(portTwo)]]);
    const one = await startNode({ id: 1, port: portOne, peers: toTwo });
    const options = { id: 2, port: portTwo, peers: toOne };
    const before = await startNode({ ...options, identity: { incarnation: 3 } });
    await Promise.all([one.up(2), before.up(1)]);
    one.links.setPeers(NOBODY);
    await before.links.close();
    one.links.setPeers(toTwo);
    const identity = { incarnation: 4, birth: birthOf(9) };
    const wiped = await startNode({ ...options, identity });
    expect(await wiped.refusal()).toMatch(
      /refused by node 1 .*: another data directory than before/,
    );
  });
});

describe("a peer that stays", () => {
  test("keeps its links when others come and go", async () => {
    const { one, two, toTwo } = await pair({ one: true, two: true });
    await Promise.all([one.up(2), two.up(1)]);
    one.links.setPeers(new Map([...toTwo, [3, loopback(1)]]));
    one.links.setPeers(new Map([[2, { ...(toTwo.get(2) ?? loopback(0)) }]]));
    two.links.send(1, 0, barrier(1));
    two.links.flush();
    one.links.send(2, 0, barrier(2));
    one.links.flush();
    await Promise.all([one.messages(2, 1), two.messages(1, 1)]);
    expect([...of(one, "down"), ...of(two, "down")]).toEqual([]);
  });

  test("under another address is dialed there, and what was said before arrives", async () => {
    const { one, two, proxy, toTwo } = await proxiedPair();
    const epoch = await one.up(2);
    one.links.send(2, 0, barrier(1));
    one.links.flush();
    await two.messages(1, 1);
    one.links.setPeers(toTwo);
    expect(of(one, "down")).toEqual([{ on: "down", peer: 2, epoch, closed: false }]);
    const again = await one.up(
      2,
      one.record.all.findIndex((event) => event.on === "down"),
    );
    expect(again).toBeGreaterThan(epoch);
    proxy.cut();
    one.links.send(2, 0, barrier(2));
    one.links.flush();
    const received = await two.messages(1, 2);
    expect(received.map(({ message }) => message)).toEqual([barrier(1), barrier(2)]);
    expect(of(two, "down")).toHaveLength(0);
  });

  test("is never this node itself", async () => {
    const one = await startNode({ id: 1, peers: NOBODY });
    expect(() => one.links.setPeers(new Map([[1, loopback(1)]]))).toThrow(/node 1 among its own/);
  });
});

test("links that are closed take new peers without doing anything", async () => {
  const { one, two, toTwo } = await pair({ one: false, two: true });
  await one.links.close();
  one.links.setPeers(toTwo);
  one.links.send(2, 0, barrier(1));
  expect(of(one, "up")).toEqual([]);
  expect(of(two, "up")).toEqual([]);
});

describe("the bytes that wait for a peer", () => {
  test("are counted from the moment of sending until the socket has taken them", async () => {
    const { one } = await pair({ one: true, two: true });
    expect(one.links.bufferedBytes(9)).toBe(0);
    await one.up(2);
    expect(one.links.bufferedBytes(2)).toBe(0);
    const checksum = "00".repeat(32);
    const bytes = new Uint8Array(1 << 20);
    one.links.send(2, 0, { type: "snapshotChunk", checksum, number: 0, bytes });
    expect(one.links.bufferedBytes(2)).toBeGreaterThan(1 << 20);
    one.links.flush();
    while (one.links.bufferedBytes(2) > 0) await new Promise(setImmediate);
  });

  test("stay few when a sender heeds them, however slow the peer: it stops, nothing grows", async () => {
    const { one, proxy } = await proxiedPair();
    await one.up(2);
    proxy.freeze();
    const bytes = new Uint8Array(1 << 20);
    const checksum = "00".repeat(32);
    let number = 0;
    for (let turns = 0; turns < 200; turns += 1) {
      if (one.links.bufferedBytes(2) === 0) {
        one.links.send(2, 0, { type: "snapshotChunk", checksum, number, bytes });
        number += 1;
      }
      one.links.flush();
      await new Promise(setImmediate);
    }
    const waiting = one.links.bufferedBytes(2);
    expect(waiting).toBeGreaterThan(0);
    expect(waiting).toBeLessThan(2 << 20);
    expect(of(one, "down")).toEqual([]);
  });

  test("occupy little more than they are while the link stands still, however many turns they came in", async () => {
    const { one, two, proxy } = await proxiedPair();
    await one.up(2);
    proxy.freeze();
    const bytes = new Uint8Array(1 << 20);
    const checksum = "00".repeat(32);
    let number = 0;
    while (one.links.bufferedBytes(2) === 0) {
      one.links.send(2, 0, { type: "snapshotChunk", checksum, number, bytes });
      one.links.flush();
      number += 1;
      await new Promise(setImmediate);
    }
    const before = process.memoryUsage().arrayBuffers;
    const turns = 3_000;
    for (let id = 1; id <= turns; id += 1) {
      one.links.send(2, 0, barrier(id));
      one.links.flush();
      if (id % 100 === 0) await new Promise(setImmediate);
    }
    // Each turn in a frame of its own would be 64 KiB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((turns * (64 << 10)) / 8);
    proxy.thaw();
    const received = (await two.messages(1, number + turns)).map(({ message }) => message);
    expect(received.slice(number)).toEqual(Array.from({ length: turns }, (_, i) => barrier(i + 1)));
    expect(of(one, "down")).toEqual([]);
  });
});
