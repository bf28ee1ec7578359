/** Links between nodes under TLS: who is let in, who is not, and when a link ends. */
import { once } from "node:events";
import { type AddressInfo, connect as connectPlain } from "node:net";
import { connect, createServer as createSecureServer } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import type { IssuedCertificate } from "../../../src/certificates/index.js";
import { encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import type { TransportTls } from "../../../src/net/tls/transport.js";
import { chainOfAuthorities, withIntermediate } from "../../certificates/intermediate.js";
import { loopback, PeerNode, type PeerNodeOptions } from "../peers/node.js";
import { RawLink } from "../peers/raw-link.js";
import {
  AUTHORITY,
  clientCertificate,
  credentialsOf,
  daysFromNow,
  nodeCertificate,
  OTHER_AUTHORITY,
  tlsOf,
} from "./credentials.js";

const DAY_MS = 86_400_000;
const HTTP_BYTES = "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startNode(options: PeerNodeOptions): Promise<PeerNode> {
  const node = new PeerNode(options);
  cleanups.push(() => node.links.close());
  return node.start();
}

/** Nodes 1 and 2 with these; `undefined`: plain text. */
async function pair(
  first: TransportTls | undefined,
  second: TransportTls | undefined,
  tuning: PeerNodeOptions["tuning"] = {},
): Promise<[PeerNode, PeerNode]> {
  const [one = 0, two = 0] = await freePorts(2);
  const optionsOf = (tls: TransportTls | undefined) => (tls === undefined ? {} : { tls });
  return Promise.all([
    startNode({
      ...{ id: 1, port: one, peers: new Map([[2, loopback(two)]]), tuning },
      ...optionsOf(first),
    }),
    startNode({
      ...{ id: 2, port: two, peers: new Map([[1, loopback(one)]]), tuning },
      ...optionsOf(second),
    }),
  ]);
}

/** Node 1 that knows nodes 2 and 3, where nothing answers, and its port. */
async function lonelyNode(tuning: PeerNodeOptions["tuning"] = {}): Promise<PeerNode> {
  const [port = 0, two = 0, three = 0] = await freePorts(3);
  const peers = new Map([
    [2, loopback(two)],
    [3, loopback(three)],
  ]);
  return startNode({ id: 1, port, peers, tls: tlsOf(1), tuning });
}

/** Dials the peer port with a certificate and says hello as node `says`; resolves with the end. */
async function sayHello(
  node: PeerNode,
  own: IssuedCertificate,
  says: number,
): Promise<{ code: number; isGreeted: boolean }> {
  const stream = connect({
    ...{ port: node.links.port, host: "127.0.0.1", rejectUnauthorized: false },
    ...{ cert: own.certificatePem, key: own.keyPem },
  });
  cleanups.push(() => stream.destroy());
  const link = new RawLink(stream);
  link.send(encodeHello({ ...node.identity, nodeId: says, advertise: "wss://a:1" }, 1));
  const isGreeted = await link.heard().then(
    () => true,
    () => false,
  );
  link.destroy();
  return { code: (await link.ended).code, isGreeted };
}

describe("links under TLS", () => {
  test("two nodes with certificates of their cluster reach each other and talk", async () => {
    const [one, two] = await pair(tlsOf(1), tlsOf(2));
    await one.up(2);
    await two.up(1);
    one.links.send(2, 0, { type: "readBarrier", id: 7, term: 1 });
    one.links.flush();
    const [first] = await two.messages(1, 1);
    expect(first?.message).toEqual({ type: "readBarrier", id: 7, term: 1 });
    expect(one.record.all.some(({ on }) => on === "refused")).toBe(false);
  });

  test("large messages arrive whole, in both directions at once", async () => {
    const [one, two] = await pair(tlsOf(1), tlsOf(2));
    await Promise.all([one.up(2), two.up(1)]);
    const records = new Uint8Array(3 << 20).fill(5);
    for (const [node, peer] of [[one, 2] as const, [two, 1] as const]) {
      for (let id = 1; id <= 3; id++)
        node.links.send(peer, 0, { type: "forward", id, term: 1, records });
      node.links.flush();
    }
    for (const [node, peer] of [[one, 2] as const, [two, 1] as const]) {
      const got = await node.messages(peer, 3);
      expect(got.map(({ message }) => message.type === "forward" && message.id)).toEqual([1, 2, 3]);
      expect(got[2]?.message).toMatchObject({ records: { length: records.length } });
    }
  });

  test("a process that dies is noticed as one", async () => {
    const [one, two] = await pair(tlsOf(1), tlsOf(2));
    await one.up(2);
    await two.links.close();
    expect((await one.down(2)).closed).toBe(true);
  });

  test.each<[string, IssuedCertificate, string]>([
    [
      "another authority",
      nodeCertificate(2, { authority: OTHER_AUTHORITY }),
      "is of another authority",
    ],
    ["another cluster", nodeCertificate(2, { cluster: "other" }), 'of the cluster "other"'],
    ["a client", clientCertificate("batch"), "the certificate of a client"],
    ["last month", nodeCertificate(2, { now: daysFromNow(-50) }), "has expired"],
    ["next month", nodeCertificate(2, { now: daysFromNow(30) }), "is not valid yet"],
  ])("a dialing process with a certificate of %s gets nothing", async (_, own, words) => {
    const node = await lonelyNode();
    const { isGreeted } = await sayHello(node, own, 2);
    expect(isGreeted).toBe(false);
    const { record } = node;
    await record.find((event) => event.on === "refused" && event.reason.includes(words));
    expect(record.all.some(({ on }) => on === "identity")).toBe(false);
  });

  test("one without a certificate gets nothing", async () => {
    const node = await lonelyNode();
    const socket = connect({ port: node.links.port, rejectUnauthorized: false });
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toContain("CERTIFICATE_REQUIRED");
    expect(await node.refusal()).toContain("showed no certificate");
  });

  test("the certificate of node 2 serves nobody who says it is node 3", async () => {
    const node = await lonelyNode();
    const end = await sayHello(node, nodeCertificate(2), 3);
    expect(end).toEqual({ code: PEER_CLOSE.certificate, isGreeted: false });
    expect(await node.refusal()).toContain("has the certificate of node 2 and says it is node 3");
    expect(node.record.all.some(({ on }) => on === "identity")).toBe(false);
    expect((await sayHello(node, nodeCertificate(2), 2)).isGreeted).toBe(true);
  });

  test.each<[string, IssuedCertificate, string]>([
    ["node 3", nodeCertificate(3), "has the certificate of node 3, not of node 2"],
    [
      "another authority",
      nodeCertificate(2, { authority: OTHER_AUTHORITY }),
      "is of another authority",
    ],
    ["a client", clientCertificate("batch"), "INVALID_PURPOSE|not meant for this use"],
  ])("a process that answers with the certificate of %s hears no hello", async (_, own, words) => {
    const impostor = await listenAs(own);
    const [port = 0] = await freePorts(1);
    const node = await startNode({
      ...{ id: 1, port, tls: tlsOf(1) },
      peers: new Map([[2, loopback(impostor.port)]]),
    });
    expect(await node.refusal()).toMatch(new RegExp(words));
    expect(impostor.heardBytes).toBe(0);
  });

  test("plain text at a port with TLS, and TLS at one without, are logged and disturb nobody", async () => {
    const [one, two] = await pair(tlsOf(1), tlsOf(2));
    await one.up(2);
    const plain = connectPlain(one.links.port, "127.0.0.1");
    plain.on("error", () => undefined);
    plain.write(HTTP_BYTES);
    await once(plain, "close");
    expect(await one.refusal()).toContain("spoke plain text: this port speaks TLS");

    const [secure, open] = await pair(tlsOf(1), undefined);
    await open.record.find(
      (event) => event.on === "refused" && event.reason.includes("it speaks TLS, this node plain"),
    );
    await secure.record.find(
      (event) => event.on === "refused" && event.reason.includes("spoke plain text"),
    );
    await secure.record.find(
      (event) => event.on === "refused" && event.reason.includes("it speaks plain text, and this"),
    );
    await open.record.find(
      (event) => event.on === "refused" && event.reason.includes("it may speak TLS, and this node"),
    );
    two.links.send(1, 0, { type: "readBarrier", id: 1, term: 1 });
    two.links.flush();
    await one.messages(2, 1);
  });

  test("a link ends with the certificate of the other side, seen from either end", async () => {
    let aheadMs = 0;
    const wallMs = (): number => Date.now() + aheadMs;
    const short = credentialsOf(nodeCertificate(2, { days: 1 }));
    const [one, two] = await pair(tlsOf(1, { wallMs }), tlsOf(2, { credentials: short }), {
      silenceTimeoutMs: 200,
    });
    await Promise.all([one.up(2), two.up(1)]);
    aheadMs = 2 * DAY_MS;
    expect((await one.down(2)).closed).toBe(false);
    await one.record.find(
      (event) => event.on === "refused" && event.reason.includes("its certificate has expired"),
    );
    await two.record.find(
      (event) => event.on === "refused" && event.reason.includes("the certificate has expired"),
    );
  });

  test("new credentials end links that they do not trust, and dial at once", async () => {
    const [first, second] = [tlsOf(1), tlsOf(2)];
    const [one, two] = await pair(first, second);
    await Promise.all([one.up(2), two.up(1)]);
    const both = `${AUTHORITY.certificatePem}${OTHER_AUTHORITY.certificatePem}`;
    const next = (id: number) => nodeCertificate(id, { authority: OTHER_AUTHORITY });

    // Both authorities first: nothing ends.
    first.replace(credentialsOf(nodeCertificate(1), both));
    second.replace(credentialsOf(nodeCertificate(2), both));
    first.replace(credentialsOf(next(1), both));
    two.links.send(1, 0, { type: "readBarrier", id: 1, term: 1 });
    two.links.flush();
    await one.messages(2, 1);
    expect(one.record.all.some(({ on }) => on === "down")).toBe(false);

    // Node 2 still shows a certificate of the old authority, which node 1 trusts no more.
    const from = one.record.all.length;
    first.replace(credentialsOf(next(1), OTHER_AUTHORITY.certificatePem));
    await one.down(2);
    second.replace(credentialsOf(next(2), both));
    await one.up(2, from);
    await two.record.until((all) => all.filter(({ on }) => on === "up").length === 2);
  });

  test("new credentials end no link by way of an intermediate whose authority stays", async () => {
    const chain = chainOfAuthorities("nodes");
    const trusting = (id: number, ...all: readonly IssuedCertificate[]) => {
      const issued = nodeCertificate(id, { authority: chain.intermediate });
      const ca = all.map(({ certificatePem }) => certificatePem).join("");
      return credentialsOf(withIntermediate(issued, chain), ca);
    };
    const ofNode = (id: number): TransportTls =>
      tlsOf(id, { credentials: trusting(id, chain.root, AUTHORITY, OTHER_AUTHORITY) });
    const [first, second] = [ofNode(1), ofNode(2)];
    const [one, two] = await pair(first, second);
    await Promise.all([one.up(2), two.up(1)]);
    // Both check the links that they have dialed and those that they have accepted, twice.
    for (const rest of [[OTHER_AUTHORITY], []]) {
      first.replace(trusting(1, chain.root, ...rest));
      second.replace(trusting(2, chain.root, ...rest));
    }
    for (const [from, to] of [[one, two] as const, [two, one] as const]) {
      from.links.send(to.identity.nodeId, 0, { type: "readBarrier", id: 1, term: 1 });
      from.links.flush();
      await to.messages(from.identity.nodeId, 1);
    }
    for (const { record } of [one, two]) {
      expect(record.all.some(({ on }) => on === "down" || on === "refused")).toBe(false);
    }
  });

  test("a removed node's links are closed, and its good certificate opens none", async () => {
    const [one, two] = await pair(tlsOf(1), tlsOf(2));
    await Promise.all([one.up(2), two.up(1)]);
    one.links.setPeers(new Map());
    await one.down(2);
    await two.down(1);
    const end = await sayHello(one, nodeCertificate(2), 2);
    expect(end).toEqual({ code: PEER_CLOSE.notAMember, isGreeted: false });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("no session is resumed with %s", async (version) => {
    const tls = tlsOf(1, { minVersion: "1.2" });
    const [port = 0] = await freePorts(1);
    await startNode({ id: 1, port, tls, peers: new Map() });
    const dial = async (session?: Buffer): Promise<{ session: Buffer; isReused: boolean }> => {
      const { certificatePem, keyPem } = nodeCertificate(2);
      const socket = connect({
        ...{ port, cert: certificatePem, key: keyPem, ca: AUTHORITY.certificatePem },
        ...{ minVersion: version, maxVersion: version },
        ...(session === undefined ? {} : { session }),
        checkServerIdentity: () => undefined,
      });
      let last: Buffer | undefined;
      socket.on("session", (given) => {
        last = given;
      });
      await once(socket, "secureConnect");
      // What is answered comes after the tickets.
      socket.write(HTTP_BYTES);
      await once(socket, "data");
      const isReused = socket.isSessionReused();
      const kept = last ?? socket.getSession();
      socket.destroy();
      return { session: kept as Buffer, isReused };
    };
    const first = await dial();
    expect(first.session.length).toBeGreaterThan(0);
    expect((await dial(first.session)).isReused).toBe(false);
  });

  test("handshakes that are never finished keep no peer out", async () => {
    const [port = 0, two = 0] = await freePorts(2);
    const one = await startNode({
      ...{ id: 1, port, peers: new Map([[2, loopback(two)]]), tls: tlsOf(1) },
      tuning: { silenceTimeoutMs: 400 },
    });
    const silent = Array.from({ length: 200 }, () => {
      const socket = connectPlain(port, "127.0.0.1");
      socket.on("error", () => undefined);
      cleanups.push(() => socket.destroy());
      return socket;
    });
    const closed = silent.map((socket) => once(socket, "close"));
    const peer = await startNode({
      ...{ id: 2, port: two, peers: new Map([[1, loopback(port)]]), tls: tlsOf(2) },
    });
    await Promise.all([peer.up(1), one.up(2)]);
    await Promise.all(closed);
  });
});

interface Impostor {
  readonly port: number;
  readonly heardBytes: number;
}

/** Answers with a certificate that may be anybody's. */
async function listenAs(own: IssuedCertificate): Promise<Impostor> {
  const server = createSecureServer({ cert: own.certificatePem, key: own.keyPem });
  let heardBytes = 0;
  server.on("secureConnection", (socket) => {
    cleanups.push(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("data", ({ length }) => {
      heardBytes += length;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    get heardBytes() {
      return heardBytes;
    },
  };
}
