/** The TLS files of a node: what is refused at its start, and what replaces them while it runs. */

import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { get as getPlain } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type PeerCertificate } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import type { IssuedCertificate } from "../../../src/certificates/index.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";
import { CertificateWarnings } from "../../../src/server/node/certificate-warnings.js";
import { NodeTls } from "../../../src/server/node/node-tls.js";
import { Recorder } from "../../net/recorder.js";
import {
  AUTHORITY,
  clientCertificate,
  daysFromNow,
  nodeCertificate,
  OTHER_AUTHORITY,
  TEST_CLUSTER,
} from "../../net/tls/credentials.js";

const LOOPBACK = "127.0.0.1";
const DAY_MS = 86_400_000;

interface Line {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

let directory: string;
let log: Recorder<Line>;
const cleanups: (() => Promise<unknown> | unknown)[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-tls-"));
  log = new Recorder();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(directory, { recursive: true, force: true });
});

const logger = (level: string, event: string, fields: Record<string, unknown> = {}): void =>
  log.push({ level, event, fields });

function write(place: string, own: IssuedCertificate, ca = AUTHORITY.certificatePem): void {
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "cert.pem"), own.certificatePem);
  writeFileSync(join(place, "key.pem"), own.keyPem);
  writeFileSync(join(place, "ca.pem"), ca);
}

function filesIn(place: string) {
  return {
    ...{ cluster: TEST_CLUSTER, minVersion: "1.3" as const, requiresClientCert: false },
    ...{ cert: join(place, "cert.pem"), key: join(place, "key.pem"), ca: join(place, "ca.pem") },
    clientCa: undefined,
  };
}

async function load(host = LOOPBACK): Promise<NodeTls> {
  const nodeId = 1;
  const tls = await NodeTls.load(filesIn(directory), nodeId, host, logger);
  cleanups.push(() => tls.close());
  return tls;
}

async function refusal(): Promise<string> {
  try {
    await load();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "UNAVAILABLE") return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("the TLS files at the start", () => {
  test("that are good are taken", async () => {
    write(directory, nodeCertificate(1));
    const { status } = await load();
    expect(status).toMatchObject({ reloadsDone: 0, reloadsRefused: 0 });
    expect(status.certificateEndsAt).toBeGreaterThan(Date.now() / 1_000);
  });

  test.each<[string, () => void, RegExp]>([
    [
      "a missing file",
      () => rmSync(join(directory, "key.pem")),
      /key\.pem \(tlsKey\) cannot be read: it does not exist$/,
    ],
    [
      "a file without a certificate",
      () => writeFileSync(join(directory, "cert.pem"), "hello"),
      /cert\.pem \(tlsCert\) has no certificate: a PEM file is needed/,
    ],
    [
      "a certificate that is none",
      () =>
        writeFileSync(
          join(directory, "ca.pem"),
          "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ),
      /ca\.pem \(tlsCa\) has a certificate that cannot be read/,
    ],
    [
      "a key that is none",
      () => writeFileSync(join(directory, "key.pem"), "hello"),
      /key\.pem \(tlsKey\) has no private key in PEM/,
    ],
    [
      "an encrypted key",
      () =>
        writeFileSync(
          join(directory, "key.pem"),
          "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        ),
      /key\.pem \(tlsKey\) is encrypted, and a node cannot ask for a passphrase/,
    ],
    [
      "the key of another certificate",
      () => writeFileSync(join(directory, "key.pem"), nodeCertificate(1).keyPem),
      /key\.pem \(tlsKey\) is not the key of the certificate in .*cert\.pem/,
    ],
    [
      "the certificate of another node",
      () => write(directory, nodeCertificate(2)),
      /belongs to node 2: this node needs holdfast:\/\/test\/node\/1$/,
    ],
    [
      "the certificate of a client",
      () => write(directory, clientCertificate("batch")),
      /belongs to the client "batch": this node needs holdfast:\/\/test\/node\/1$/,
    ],
    [
      "the certificate of another cluster",
      () => write(directory, nodeCertificate(1, { cluster: "other" })),
      /belongs to a node of the cluster "other" \(clusterName\): this node needs/,
    ],
    [
      "the certificate of an authority",
      () => write(directory, AUTHORITY),
      /names no node of a cluster: it needs the URI holdfast:\/\/test\/node\/1/,
    ],
    [
      "a certificate of another authority",
      () => write(directory, nodeCertificate(1, { authority: OTHER_AUTHORITY })),
      /was not issued by an authority in .*ca\.pem \(tlsCa\)/,
    ],
    [
      "an expired certificate",
      () => write(directory, nodeCertificate(1, { now: daysFromNow(-50) })),
      /expired at .* UTC, and the clock of this machine says .* UTC: make a new one/,
    ],
    [
      "a certificate that is not valid yet",
      () => write(directory, nodeCertificate(1, { now: daysFromNow(400) })),
      /is not valid before .* UTC, and the clock of this machine says .* UTC: set the clock/,
    ],
    [
      "an authority that is none",
      () => write(directory, nodeCertificate(1), nodeCertificate(2).certificatePem),
      /ca\.pem \(tlsCa\) has no certificate of an authority/,
    ],
  ])("%s is refused with a sentence", async (_, spoil, sentence) => {
    write(directory, nodeCertificate(1));
    spoil();
    expect(await refusal()).toMatch(sentence);
  });
});

describe("TLS files that change", () => {
  const done = (): Promise<Line> => log.find(({ event }) => event === "TLS files reloaded");
  const refused = (): Promise<Line> =>
    log.find(({ event }) => event === "new TLS files refused, the old ones stay in use");
  const serialOf = (tls: NodeTls): string => tls.transport.current.certificate.serialNumber;

  test("are taken over after they were written one by one", async () => {
    write(directory, nodeCertificate(1));
    const tls = await load();
    tls.follow();
    const next = nodeCertificate(1);
    write(directory, next);
    await done();
    expect(serialOf(tls)).toBe(new X509Certificate(next.certificatePem).serialNumber);
    expect(tls.status).toMatchObject({ reloadsDone: 1, reloadsRefused: 0 });
  });

  test("are taken over when the link to their directory is swapped, as Kubernetes does", async () => {
    write(join(directory, "..first"), nodeCertificate(1));
    symlinkSync("..first", join(directory, "..data"));
    for (const name of ["cert.pem", "key.pem", "ca.pem"])
      symlinkSync(join("..data", name), join(directory, name));
    const tls = await load();
    tls.follow();
    const next = nodeCertificate(1);
    write(join(directory, "..second"), next);
    symlinkSync("..second", join(directory, "..data_tmp"));
    renameSync(join(directory, "..data_tmp"), join(directory, "..data"));
    await done();
    expect(serialOf(tls)).toBe(new X509Certificate(next.certificatePem).serialNumber);
  });

  test("and are bad stay out, are reported once, and do not keep good ones out", async () => {
    write(directory, nodeCertificate(1));
    const tls = await load();
    const before = serialOf(tls);
    write(directory, nodeCertificate(2));
    await tls.reload();
    expect((await refused()).fields).toMatchObject({
      error: expect.stringContaining("belongs to node 2"),
    });
    unlinkSync(join(directory, "key.pem"));
    await tls.reload();
    expect(serialOf(tls)).toBe(before);
    expect(tls.status).toMatchObject({ reloadsDone: 0, reloadsRefused: 2 });
    write(directory, nodeCertificate(1));
    await tls.reload();
    expect(serialOf(tls)).not.toBe(before);
    expect(tls.status).toMatchObject({ reloadsDone: 1, reloadsRefused: 2 });
  });
});

test("a certificate without the advertised host is reported: clients refuse it", async () => {
  write(directory, nodeCertificate(1));
  (await load()).follow();
  expect(log.all).toEqual([]);
  (await load("db-1.example")).follow();
  expect(log.all).toMatchObject([
    { event: "the certificate does not name the host that clients are given" },
  ]);
});

test("a certificate that ends soon is reported 30, 7 and 1 days before, and when it has", () => {
  const warnings = new CertificateWarnings(logger);
  const long = nodeCertificate(1, { days: 100, now: new Date() });
  const certificate = new X509Certificate(long.certificatePem);
  const endMs = Date.parse(certificate.validTo);
  for (const days of [99, 31, 30, 29, 7.5, 7, 2, 1, 0.5, 0, -1])
    warnings.look("certificate of this node", certificate, endMs - days * DAY_MS);
  expect(log.all.map(({ event }) => event)).toEqual([
    "the certificate of this node expires within 30 days",
    "the certificate of this node expires within 7 days",
    "the certificate of this node expires within a day",
    "the certificate of this node has expired: connections are refused",
  ]);
});

test("a certificate that never lasts long is not told of most of its life", () => {
  const warnings = new CertificateWarnings(logger);
  const certificate = new X509Certificate(nodeCertificate(1, { days: 7 }).certificatePem);
  const endMs = Date.parse(certificate.validTo);
  for (const days of [6.9, 3, 1.1, 0.9])
    warnings.look("certificate of this node", certificate, endMs - days * DAY_MS);
  expect(log.all.map(({ event }) => event)).toEqual([
    "the certificate of this node expires within a day",
  ]);
});

describe("a node with TLS", () => {
  async function start(changed: Partial<NodeOptions> = {}): Promise<RunningNode> {
    write(directory, nodeCertificate(1));
    const peerPort = (await freePorts(1))[0] as number;
    const node = await startNode({
      ...{ id: 1, dataDirectory: join(directory, "data"), clusterName: TEST_CLUSTER },
      listen: { host: LOOPBACK, port: 0 },
      peerListen: { host: LOOPBACK, port: peerPort },
      initialCluster: [{ id: 1, address: { host: LOOPBACK, port: peerPort } }],
      tlsCert: join(directory, "cert.pem"),
      tlsKey: join(directory, "key.pem"),
      tlsCa: join(directory, "ca.pem"),
      log: logger,
      ...changed,
    });
    cleanups.push(() => node.stop());
    return node;
  }

  async function certificateAt(port: number): Promise<PeerCertificate> {
    const socket = connect({ port, host: LOOPBACK, ca: AUTHORITY.certificatePem });
    await once(socket, "secureConnect");
    const certificate = socket.getPeerCertificate();
    socket.destroy();
    return certificate;
  }

  test("advertises wss, and shows new certificates to those who connect after a reload", async () => {
    const node = await start();
    expect(node.endpoint).toBe(`wss://${LOOPBACK}:${node.clientPort}`);
    const before = await certificateAt(node.clientPort);
    write(directory, nodeCertificate(1));
    await node.reloadTls();
    const after = await certificateAt(node.clientPort);
    expect(after.serialNumber).not.toBe(before.serialNumber);
  });

  test("has health checks and metrics in plain text where it is told to, and nothing else", async () => {
    const healthPort = (await freePorts(1))[0] as number;
    const node = await start({ healthListen: { host: LOOPBACK, port: healthPort } });
    const page = async (path: string): Promise<{ status: number | undefined; body: string }> => {
      const [response] = await once(getPlain({ port: healthPort, path, agent: false }), "response");
      let body = "";
      for await (const chunk of response) body += chunk;
      return { status: response.statusCode, body };
    };
    expect(await page("/livez")).toEqual({ status: 200, body: "ok\n" });
    await expect.poll(async () => (await page("/readyz")).status).toBe(200);
    write(directory, nodeCertificate(2));
    await node.reloadTls();
    const { body } = await page("/metrics");
    expect(body).toMatch(/^holdfast_certificate_expiry_timestamp_seconds \d+$/m);
    expect(body).toContain('holdfast_tls_reloads_total{result="refused"} 1\n');
    expect(body).toContain('holdfast_tls_handshakes_total{port="client"} 0\n');
    for (const path of ["/status", "/", "/v1"]) expect((await page(path)).status).toBe(404);
  });

  test("does not start, and leaves nothing behind, with files that cannot be used", async () => {
    await expect(start({ id: 1, clusterName: "another" })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining('of the cluster "test" (clusterName)'),
    });
    expect(existsSync(join(directory, "data"))).toBe(false);
  });
});
