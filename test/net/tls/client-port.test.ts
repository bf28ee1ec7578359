/** The client port with TLS: who is let in, as whom, and when a connection ends. */
import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import { get } from "node:https";
import { connect as connectPlain } from "node:net";
import { type ConnectionOptions, connect } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { IssuedCertificate } from "../../../src/certificates/index.js";
import type { GatewayTuning } from "../../../src/net/index.js";
import type { TransportTls, TransportTlsOptions } from "../../../src/net/tls/transport.js";
import { SUBPROTOCOL } from "../../../src/protocol/index.js";
import { sentenceIn } from "../../../src/text/safe-text.js";
import { chainOfAuthorities, withIntermediate } from "../../certificates/intermediate.js";
import { BareClient, command, TestGateway } from "../gateway/client.js";
import {
  AUTHORITY,
  clientCertificate,
  credentialsOf,
  daysFromNow,
  nodeCertificate,
  OTHER_AUTHORITY,
  THIRD_AUTHORITY,
  tlsOf,
} from "./credentials.js";

const DAY_MS = 86_400_000;
const CA = AUTHORITY.certificatePem;
const OTHER_CA = OTHER_AUTHORITY.certificatePem;
/** The credentials of the node. Its own authority is not the authority of its clients. */
const ASKING = credentialsOf(nodeCertificate(1), CA, OTHER_CA);
const clientOf = (name: string, options = {}): IssuedCertificate =>
  clientCertificate(name, { authority: OTHER_AUTHORITY, ...options });

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(
  options: Partial<TransportTlsOptions> = {},
  tuning: Partial<GatewayTuning> = {},
): Promise<{ gateway: TestGateway; tls: TransportTls }> {
  const tls = tlsOf(1, { credentials: ASKING, ...options });
  const gateway = new TestGateway(tuning, 0, tls);
  cleanups.push(() => gateway.gateway.close());
  return { gateway: await gateway.start(), tls };
}

function shown(own?: IssuedCertificate): ConnectionOptions {
  return {
    ca: CA,
    ...(own === undefined ? {} : { cert: own.certificatePem, key: own.keyPem }),
  };
}

async function attached(gateway: TestGateway, own?: IssuedCertificate): Promise<BareClient> {
  const client = await BareClient.connect(gateway, shown(own));
  cleanups.push(() => client.socket.terminate());
  return client;
}

/** The status and the text with which an upgrade is refused. */
async function upgradeRefusal(gateway: TestGateway, own: IssuedCertificate): Promise<string> {
  const socket = new WebSocket(`${gateway.endpoint}/v1`, SUBPROTOCOL, shown(own));
  socket.on("error", () => undefined);
  const [, response] = await once(socket, "unexpected-response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return `${response.statusCode} ${sentenceIn(body)}`;
}

async function page(
  gateway: TestGateway,
  path: string,
  own?: IssuedCertificate,
  headers: OutgoingHttpHeaders = {},
): Promise<string> {
  const request = get(`https://${gateway.url}${path}`, { ...shown(own), headers, agent: false });
  const [response] = await once(request, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return `${response.statusCode} ${body}`;
}

/** A handshake, with the session of an earlier one if that is given; and the session of this one. */
async function handshake(
  gateway: TestGateway,
  options: ConnectionOptions,
): Promise<{ session: Buffer; isReused: boolean }> {
  const socket = connect({ port: gateway.gateway.port, host: "127.0.0.1", ...options });
  let last: Buffer | undefined;
  socket.on("session", (session) => {
    last = session;
  });
  await once(socket, "secureConnect");
  // What is answered comes after the tickets.
  socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(socket, "data");
  const isReused = socket.isSessionReused();
  const session = (last ?? socket.getSession()) as Buffer;
  socket.destroy();
  return { session, isReused };
}

describe("the client port with TLS", () => {
  test("takes a certificate as a node's only from an authority of nodes", async () => {
    const { gateway, tls } = await start();
    const forged = nodeCertificate(2, { authority: OTHER_AUTHORITY });
    const refusal = "names node 2, but no authority of nodes signed it";
    expect(await page(gateway, "/status", forged)).toMatch(new RegExp(`^403 .*${refusal}`));
    expect(await upgradeRefusal(gateway, forged)).toMatch(new RegExp(`^403 .*${refusal}`));
    expect(await page(gateway, "/status", nodeCertificate(2))).not.toMatch(/^403 /);
    // A connection of a node ends when its authority is one of clients only.
    const socket = connect({ port: gateway.gateway.port, ...shown(nodeCertificate(2)) });
    cleanups.push(() => socket.destroy());
    await once(socket, "secureConnect");
    socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
    const third = nodeCertificate(1, { authority: THIRD_AUTHORITY });
    tls.replace(credentialsOf(third, THIRD_AUTHORITY.certificatePem, CA + OTHER_CA));
    await once(socket, "close");
  });

  test("serves clients without a certificate, encrypted and without a name", async () => {
    const { gateway } = await start({ credentials: credentialsOf(nodeCertificate(1)) });
    const client = await BareClient.connect(gateway, shown());
    await client.answerTo(command(1));
    const [connection] = gateway.connections.values();
    expect(connection).toMatchObject({ isEncrypted: true, certifiedName: undefined });
    expect(await page(gateway, "/livez")).toBe("200 page /livez\n");
    const upgrade = { Connection: "Upgrade", Upgrade: "h2c" };
    expect(await page(gateway, "/livez", undefined, upgrade)).toBe("200 page /livez\n");
    expect(gateway.gateway.handshakes).toMatchObject({ failed: 0 });
  });

  test("knows clients by their certificates, and lets those without one in", async () => {
    const { gateway } = await start();
    await attached(gateway, clientOf("batch"));
    await attached(gateway);
    const names = [...gateway.connections.values()].map(({ certifiedName }) => certifiedName);
    expect(names).toEqual(["batch", undefined]);
  });

  test("without TLS, reports clients that speak it, and disturbs nobody", async () => {
    const gateway = new TestGateway();
    cleanups.push(() => gateway.gateway.close());
    await gateway.start();
    const client = await BareClient.attached(gateway);
    const socket = connect({ port: gateway.gateway.port, rejectUnauthorized: false });
    await once(socket, "error");
    const refused = await gateway.record.find(({ on }) => on === "refused");
    expect(refused).toMatchObject({
      reason: expect.stringContaining("speaks TLS: this port does"),
    });
    client.say(command(1));
    await client.reply(1);
    expect(gateway.record.all[0]).toMatchObject({ on: "connection" });
    expect([...gateway.connections.values()][0]).toMatchObject({ isEncrypted: false });
  });

  test("refuses plain text, and disturbs nobody", async () => {
    const { gateway } = await start();
    const client = await attached(gateway, clientOf("batch"));
    const plain = connectPlain(gateway.gateway.port, "127.0.0.1");
    plain.on("error", () => undefined);
    plain.write("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let got = "";
    plain.on("data", (chunk) => {
      got += chunk.toString("latin1");
    });
    await once(plain, "close");
    expect(got).not.toContain("HTTP/1.1 200");
    const refused = await gateway.record.find(({ on }) => on === "refused");
    expect(refused).toMatchObject({ reason: expect.stringContaining("spoke plain text") });
    await client.answerTo(command(1));
  });

  test.each<[string, IssuedCertificate, string]>([
    [
      "another authority",
      clientCertificate("batch", { authority: THIRD_AUTHORITY }),
      "another auth",
    ],
    ["another cluster", clientOf("batch", { cluster: "other" }), 'for the cluster "other"'],
    ["last month", clientOf("batch", { now: daysFromNow(-50) }), "has expired"],
    ["next month", clientOf("batch", { now: daysFromNow(30) }), "is not valid yet"],
  ])("a certificate of %s is refused with a sentence", async (_, own, words) => {
    const { gateway } = await start();
    const answer = await upgradeRefusal(gateway, own);
    expect(answer).toMatch(/^403 this client has a certificate/);
    expect(answer).toContain(words);
    expect(await page(gateway, "/status", own)).toMatch(/^403 /);
    const told = await gateway.record.find(({ on }) => on === "refused");
    expect(told).toMatchObject({ reason: expect.stringContaining(words) });
    expect(gateway.connections.size).toBe(0);
  });

  test("a node's certificate reads pages and is not a client's", async () => {
    const { gateway } = await start({ requiresClientCert: true });
    const own = nodeCertificate(2);
    expect(await upgradeRefusal(gateway, own)).toMatch(/^403 the certificate of a node/);
    expect(await page(gateway, "/livez", own)).toBe("200 page /livez\n");
  });

  test("where certificates are required, a client without one does not get to HTTP", async () => {
    const { gateway } = await start({ requiresClientCert: true });
    const socket = connect({ port: gateway.gateway.port, ...shown(), host: "127.0.0.1" });
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toContain("CERTIFICATE_REQUIRED");
    const told = await gateway.record.find(({ on }) => on === "refused");
    expect(told).toMatchObject({ reason: expect.stringContaining("showed no certificate") });
    await attached(gateway, clientOf("batch"));
    expect([...gateway.connections.values()][0]?.certifiedName).toBe("batch");
  });

  test("ends a connection with its certificate, and no other", async () => {
    let aheadMs = 0;
    const wallMs = (): number => Date.now() + aheadMs;
    const { gateway } = await start({ wallMs }, { handshakeTimeoutMs: 200 });
    const short = await attached(gateway, clientOf("short", { days: 1 }));
    const long = await attached(gateway, clientOf("long"));
    for (const client of [short, long]) await client.answerTo(command(1));
    aheadMs = 2 * DAY_MS;
    expect(await short.closed).toEqual({ code: 1008, reason: "the certificate has expired" });
    await long.answerTo(command(2));
  });

  test("new authorities end the connections that they do not trust", async () => {
    const { gateway, tls } = await start();
    const named = await attached(gateway, clientOf("batch"));
    const anonymous = await attached(gateway);
    tls.replace(
      credentialsOf(nodeCertificate(1), CA, `${OTHER_CA}${THIRD_AUTHORITY.certificatePem}`),
    );
    await named.answerTo(command(1));
    tls.replace(credentialsOf(nodeCertificate(1), CA, THIRD_AUTHORITY.certificatePem));
    expect(await named.closed).toEqual({
      code: 1008,
      reason: "the certificate is not trusted any more",
    });
    await anonymous.answerTo(command(1));
    expect(await upgradeRefusal(gateway, clientOf("batch"))).toMatch(/^403 /);
  });

  test("new authorities end no connection by way of an intermediate whose authority stays", async () => {
    const { gateway, tls } = await start();
    const chain = chainOfAuthorities("clients");
    const trust = (...all: readonly IssuedCertificate[]): void => {
      const clientCa = all.map(({ certificatePem }) => certificatePem).join("");
      tls.replace(credentialsOf(nodeCertificate(1), CA, clientCa));
    };
    trust(OTHER_AUTHORITY, chain.root);
    const issued = clientCertificate("batch", { authority: chain.intermediate });
    const own = withIntermediate(issued, chain);
    const [straight, chained] = [
      await attached(gateway, clientOf("old")),
      await attached(gateway, own),
    ];
    // Each of these reloads trusts less than the one before, and each connection is verified again.
    trust(chain.root, THIRD_AUTHORITY);
    expect((await straight.closed).code).toBe(1008);
    await chained.answerTo(command(1));
    trust(chain.root);
    await chained.answerTo(command(2));
    await attached(gateway, own);
    trust(THIRD_AUTHORITY);
    expect(await chained.closed).toMatchObject({ code: 1008 });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "where certificates are asked for, no session is resumed with %s",
    async (version) => {
      const { gateway, tls } = await start({ minVersion: "1.2" });
      const options = { ...shown(clientOf("batch")), minVersion: version, maxVersion: version };
      const first = await handshake(gateway, options);
      expect(first.session.length).toBeGreaterThan(0);
      expect((await handshake(gateway, { ...options, session: first.session })).isReused).toBe(
        false,
      );
      tls.replace(credentialsOf(nodeCertificate(1), CA, OTHER_CA));
      const next = await handshake(gateway, options);
      expect((await handshake(gateway, { ...options, session: next.session })).isReused).toBe(
        false,
      );
    },
  );

  test("where none are asked for, sessions are resumed", async () => {
    const { gateway } = await start({ credentials: credentialsOf(nodeCertificate(1)) });
    const { session } = await handshake(gateway, shown());
    expect((await handshake(gateway, { ...shown(), session })).isReused).toBe(true);
  });

  test("speaks no older version of TLS than it is allowed to", async () => {
    const { gateway } = await start();
    const options: ConnectionOptions = { ...shown(), maxVersion: "TLSv1.2", host: "127.0.0.1" };
    const socket = connect({ port: gateway.gateway.port, ...options });
    await once(socket, "error");
    const told = await gateway.record.find(({ on }) => on === "refused");
    expect(told).toMatchObject({ reason: expect.stringContaining("no version of TLS") });
  });

  test("cuts off a handshake that is not finished in time, and counts its socket until then", async () => {
    const { gateway } = await start({}, { handshakeTimeoutMs: 200 });
    const silent = connectPlain(gateway.gateway.port, "127.0.0.1");
    silent.on("error", () => undefined);
    await once(silent, "connect");
    await expect.poll(() => gateway.gateway.load.sockets).toBe(1);
    await once(silent, "close");
    await expect.poll(() => gateway.gateway.load.sockets).toBe(0);
  });

  test("closes at once, whatever handshakes are unfinished", async () => {
    const { gateway } = await start();
    const silent = connectPlain(gateway.gateway.port, "127.0.0.1");
    silent.on("error", () => undefined);
    await once(silent, "connect");
    await expect.poll(() => gateway.gateway.load.sockets).toBe(1);
    await gateway.gateway.close();
  });
});
