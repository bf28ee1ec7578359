/** The SDK over TLS, on real sockets: whom it believes, how it proves itself, what it says of failures. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, test } from "vitest";
import type { IssuedCertificate } from "../../../src/certificates/index.js";
import { loadPlatform, loadReadPage } from "../../../src/client/transport/load-platform.js";
import {
  type ClusterStatusOptions,
  clusterStatus,
  connect,
  connectAdmin,
} from "../../../src/index.js";
import { statusPage } from "../../bin/commands/operating/status-page.js";
import {
  AUTHORITY,
  clientCertificate,
  nodeCertificate,
  OTHER_AUTHORITY,
} from "../../certificates/test-certificates.js";
import { SocketTable } from "../world/socket-table.js";

const CA = AUTHORITY.certificatePem;
const NODE = nodeCertificate(1);
const CLIENT = clientCertificate("billing");
const OWN = { cert: CLIENT.certificatePem, key: CLIENT.keyPem };
const TRIED_MS = 2_000;
const tables: SocketTable[] = [];

afterEach(async () => {
  for (const table of tables.splice(0)) await table.close();
});

/** A node over TLS, or without. */
async function listen(tls?: ServerOptions): Promise<SocketTable> {
  const table = await SocketTable.listen(tls);
  tables.push(table);
  return table;
}

const as = ({ certificatePem, keyPem }: IssuedCertificate): ServerOptions => ({
  ...{ cert: certificatePem, key: keyPem },
});
const DEMANDING: ServerOptions = {
  ...as(NODE),
  ...{ ca: CA, requestCert: true, rejectUnauthorized: true },
};

test.each([
  ["text", CA],
  ["bytes", new TextEncoder().encode(CA)],
])("a node whose CA is named is believed, by its address: %s", async (_, ca) => {
  const table = await listen(as(NODE));
  await using client = await connect({ endpoints: [table.endpoint], ca });
  await using lock = await client.acquire("k");
  expect(table.table.inspect("k").holds.map(({ token }) => token)).toEqual([lock.token]);
});

test("a client shows its certificate, to a node that demands one", async () => {
  const table = await listen(DEMANDING);
  const options = { endpoints: [table.endpoint], ca: CA, ...OWN };
  await using client = await connect(options);
  expect(client.session).toBeGreaterThan(0);
  await using admin = await connectAdmin(options);
  expect((await admin.members()).leaderId).toBe(1);
});

test("a connection that broke is made again in the same way", async () => {
  const table = await listen(DEMANDING);
  await using client = await connect({ endpoints: [table.endpoint], ca: CA, ...OWN });
  const { session } = client;
  table.dropConnections();
  await using _lock = await client.acquire("k");
  expect([client.session, table.connections]).toEqual([session, 2]);
});

describe("a handshake that fails is reported with its reason, and tried again until the time is over:", () => {
  const ofClient = (name: string, issuing: object): ServerOptions =>
    as(clientCertificate(name, issuing));
  const other = { authority: OTHER_AUTHORITY };
  const own = ({ cert, key }: ServerOptions): object => ({ cert, key });

  // Side by side, since each takes the time in which a slow machine shakes hands.
  test.concurrent.each<[string, ServerOptions, object, string]>([
    [
      "another CA",
      as(nodeCertificate(1, undefined, other)),
      { ca: CA },
      "its certificate is from a CA that is not trusted here: give the CA of the cluster (ca)",
    ],
    [
      "no CA named",
      as(NODE),
      {},
      "its certificate is from a CA that is not trusted here: give the CA of the cluster (ca)",
    ],
    [
      "expired",
      as(nodeCertificate(1, undefined, { from: -60 })),
      { ca: CA },
      "its certificate or its CA's has expired: renew it, or set the clock of this machine",
    ],
    [
      "not yet valid",
      as(nodeCertificate(1, undefined, { from: 60 })),
      { ca: CA },
      "its certificate or its CA's is not valid yet: renew it, or set the clock of this machine",
    ],
    [
      "for another host",
      as(nodeCertificate(1, ["db-1.example"])),
      { ca: CA },
      "its certificate is not for 127.0.0.1, but for URI:holdfast://holdfast/node/1, DNS:db-1.example",
    ],
    [
      "of a client",
      as(CLIENT),
      { ca: CA },
      "its certificate is not for servers, so it does not belong to a node",
    ],
    [
      "a client without a certificate",
      DEMANDING,
      { ca: CA },
      "wants a certificate of this client (cert, key)",
    ],
    [
      "a client of another CA",
      DEMANDING,
      { ca: CA, ...own(ofClient("a", other)) },
      "it closed the connection without an answer; it may not accept the certificate of this client (cert)",
    ],
    [
      "an older version",
      { ...as(NODE), maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" },
      { ca: CA },
      "it supports no version of TLS that is allowed here",
    ],
  ])("%s", async (_, tls, options, text) => {
    const table = await SocketTable.listen(tls);
    const endpoints = [table.endpoint];
    const failed = connect({ endpoints, connectTimeoutMs: TRIED_MS, ...options });
    await expect(failed).rejects.toMatchObject({
      ...{ code: "UNAVAILABLE", retryable: true, details: { indeterminate: false } },
      message: expect.stringContaining(text),
    });
    expect(table.connections).toBe(0);
    await table.close();
  });

  test("a port with TLS that is asked without", async () => {
    const table = await listen(as(NODE));
    const endpoint = table.endpoint.replace("wss:", "ws:");
    const failed = connect({ endpoints: [endpoint], connectTimeoutMs: TRIED_MS });
    await expect(failed).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(
        `${endpoint}: it closed the connection without an answer; if it speaks TLS, its endpoint`,
      ),
    });
  });

  test("a port without TLS", async () => {
    const table = await listen();
    const endpoint = table.endpoint.replace("ws:", "wss:");
    const failed = connect({ endpoints: [endpoint], connectTimeoutMs: TRIED_MS, ca: CA });
    await expect(failed).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(`${endpoint}: it does not speak TLS: is this its port for`),
    });
    const [report] = await clusterStatus([endpoint], { ca: CA });
    expect(report).toMatchObject({
      error: { message: expect.stringContaining("it does not speak TLS") },
    });
  });
});

describe("a client whose certificate is out of time by its own clock", () => {
  const text = "this client has a certificate that has expired";
  const outOfTime = (from: number): object => {
    const { certificatePem: cert, keyPem: key } = clientCertificate("billing", { from });
    return { cert, key };
  };

  /** As a node that asks for certificates and does not demand them. */
  async function forbidding(): Promise<string> {
    const server = createServer({ ...DEMANDING, rejectUnauthorized: false });
    server.on("upgrade", (_request, socket) => {
      const body = `${text}\n`;
      socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    return `wss://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test.each<[string, number, RegExp]>([
    ["has expired", -60, /refused this client: the client's certificate \(cert\) expired at 2/],
    ["is not valid yet", 60, /: the client's certificate \(cert\) is not valid before 2\d{3}-/],
  ])("says so, and does not try on, if the node agrees: it %s", async (_, from, message) => {
    for (const endpoint of [await forbidding(), (await listen(DEMANDING)).endpoint]) {
      const options = { endpoints: [endpoint], ca: CA, ...outOfTime(from) };
      // Much more than it needs: a client that tried on would do so for this long.
      for (const connecting of [
        () => connect({ ...options, connectTimeoutMs: 600_000 }),
        () => connectAdmin({ ...options, timeoutMs: 600_000 }),
      ]) {
        await expect(connecting()).rejects.toMatchObject({
          ...{ code: "UNAUTHENTICATED", retryable: false, details: { endpoint } },
          message: expect.stringMatching(message),
        });
      }
    }
    const page = await statusPage(1, { role: "leader" }, DEMANDING);
    const [report] = await clusterStatus([page], { ca: CA, ...outOfTime(from) });
    expect(report).toMatchObject({
      error: { code: "UNAVAILABLE", message: expect.stringContaining("the client's certificate") },
    });
  });

  test("is let in by a node that asks for none, and whose refusal is not believed alone", async () => {
    const { endpoint } = await listen(as(NODE));
    await using client = await connect({ endpoints: [endpoint], ca: CA, ...outOfTime(-60) });
    expect(client.session).toBeGreaterThan(0);
    const endpoints = [await forbidding()];
    const failed = connect({ endpoints, connectTimeoutMs: TRIED_MS, ca: CA, ...OWN });
    await expect(failed).rejects.toMatchObject({
      ...{ code: "UNAVAILABLE", message: `no node serves: ${endpoints[0]}: ${text}` },
    });
  });
});

describe("from an encrypted connection no way leads to another:", () => {
  const told = { id: 2, endpoint: "" };

  it("a leader at ws: is not followed, and the node is kept", async () => {
    const plain = await listen();
    const table = await listen(as(NODE));
    table.told = { ...told, endpoint: plain.endpoint };
    await using client = await connect({ endpoints: [table.endpoint], ca: CA });
    await using _lock = await client.acquire("k");
    expect(client.endpoints).toEqual([table.endpoint]);
    table.dropConnections();
    await using _other = await client.acquire("l");
    expect([plain.connections, table.connections]).toEqual([0, 2]);
    await using admin = await connectAdmin({ endpoints: [table.endpoint], ca: CA });
    expect((await admin.members()).leaderId).toBe(1);
    expect(plain.connections).toBe(0);
  });

  it("a leader at wss: is followed", async () => {
    const leader = await listen(as(NODE));
    const table = await listen(as(NODE));
    leader.told = { ...told, endpoint: leader.endpoint };
    table.told = { ...told, endpoint: leader.endpoint };
    await using client = await connect({ endpoints: [table.endpoint], ca: CA });
    expect(client.endpoints).toEqual([table.endpoint, leader.endpoint]);
    expect(leader.connections).toBe(1);
  });

  it("but from ws: one may lead to wss:, which is verified", async () => {
    const leader = await listen(as(NODE));
    const plain = await listen();
    plain.told = { ...told, endpoint: leader.endpoint };
    const endpoints = [plain.endpoint];
    await using client = await connect({ endpoints });
    expect(client.endpoints).toContain(leader.endpoint);
    expect(leader.connections).toBe(0);
    await using verified = await connect({
      endpoints: [...endpoints, "wss://127.0.0.1:1"],
      ca: CA,
    });
    expect([verified.session > 0, leader.connections]).toEqual([true, 1]);
  });
});

describe("the pages of nodes", () => {
  const status = async (tls: ServerOptions, options: ClusterStatusOptions): Promise<unknown> => {
    const [report] = await clusterStatus([await statusPage(1, { role: "leader" }, tls)], options);
    return report?.isReachable ? report.role : report?.error.message.replace(/^\S+ /, "");
  };

  test("are read over TLS with the same certificates", async () => {
    expect(await status(as(NODE), { ca: CA })).toBe("leader");
    expect(await status(DEMANDING, { ca: CA, ...OWN })).toBe("leader");
  });

  test("are not believed otherwise", async () => {
    expect(await status(as(NODE), {})).toBe(
      "its certificate is from a CA that is not trusted here: give the CA of the cluster (ca)",
    );
    expect(await status(as(nodeCertificate(1, ["db-1"])), { ca: CA })).toContain(
      "its certificate is not for 127.0.0.1, but for",
    );
    expect(await status(DEMANDING, { ca: CA })).toContain("wants a certificate of this client");
  });
});

describe("certificates of no use are refused before anything is opened:", () => {
  const endpoints = ["wss://127.0.0.1:1"];
  const plain = ["ws://127.0.0.1:1"];
  const rsaOf = (text: string): string => text.replace("PRIVATE KEY", "CERTIFICATE");

  test.each<[string, object, RegExp]>([
    ["for ws: alone", { endpoints: plain, ca: CA }, /every endpoint is ws:\/\//],
    ["a certificate without a key", { endpoints, cert: OWN.cert }, /cert and key need each other/],
    ["a key without a certificate", { endpoints, key: OWN.key }, /cert and key need each other/],
    ["an empty one", { endpoints, ca: "" }, /ca must be PEM, a string or bytes/],
    ["a number", { endpoints, ca: 7 }, /ca must be PEM, a string or bytes, not number/],
    ["a list", { endpoints, ca: [CA] }, /ca must be PEM, a string or bytes, not object/],
  ])("%s is a TypeError", async (_, options, text) => {
    const error = await connect(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(text);
  });

  test.each<[string, object, string]>([
    ["a CA that is none", { ca: "nothing" }, "ca is not PEM: it must have a line that starts with"],
    ["a CA in DER", { ca: new X509Certificate(CA).raw }, "ca is not PEM"],
    ["a key in place of a CA", { ca: OWN.key }, "ca has no certificate that can be used"],
    ["a certificate that is none", { ...OWN, cert: "nothing" }, "cert is not PEM"],
    [
      "a certificate as a key",
      { ...OWN, key: OWN.cert },
      "key has no private key that can be used",
    ],
    ["a key in place of a certificate", { ...OWN, cert: OWN.key }, "cert has no certificate that"],
    [
      "a key of another",
      { ...OWN, key: clientCertificate("b").keyPem },
      "key is not the key of cert: give the pair that was made together",
    ],
  ])("%s is INVALID_ARGUMENT", async (_, options, text) => {
    for (const call of [connect, connectAdmin]) {
      const error = await call({ endpoints, ...options }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining(text),
      });
    }
    await expect(clusterStatus(endpoints, options)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("no error holds a key", async () => {
    const [line = ""] = OWN.key.split("\n").slice(1);
    const broken = OWN.key.replace(line, `${line.slice(1)}!`);
    for (const key of [broken, rsaOf(OWN.key), clientCertificate("b").keyPem]) {
      const error = await connect({ endpoints, ...OWN, key }).catch((reason: unknown) => reason);
      const told = `${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`;
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(told).not.toContain(line.slice(1, 20));
    }
  });
});

test("a browser is told that it cannot take certificates from a program", async () => {
  const host = globalThis as { process?: unknown };
  const { process } = host;
  const tls = { ca: CA, cert: undefined, key: undefined };
  const load = (): readonly Promise<unknown>[] => [loadPlatform(tls), loadReadPage(tls)];
  // It is asked for at once, and nothing else runs until it is back.
  host.process = undefined;
  const loading = load();
  host.process = process;
  for (const loaded of loading) {
    await expect(loaded).rejects.toThrow("ca, cert and key need Node.js: a browser has");
  }
});
