/** What is issued is accepted by others: by OpenSSL at its strictest, and in handshakes of Node. */
import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
  readCertifiedIdentity,
} from "../../src/certificates/index.js";
import { installed } from "../fence/stores/installed.js";
import {
  AUTHORITY,
  clientCertificate,
  daysFromNow,
  nodeCertificate,
  OTHER_AUTHORITY,
} from "./test-certificates.js";

const CLUSTER = "holdfast";

const x509 = ({ certificatePem }: IssuedCertificate): X509Certificate =>
  new X509Certificate(certificatePem);

test("a certificate is valid from an hour ago, for as long as was asked, and not longer than its CA", () => {
  const now = new Date("2026-11-23T08:00:00.500Z");
  const ca = createAuthority({ name: "a", days: 10, now });
  const issue = (days: number): X509Certificate =>
    x509(issueClientCertificate(ca, { cluster: CLUSTER, name: "a", days, now }));
  expect(new Date(x509(ca).validFrom)).toEqual(new Date("2026-11-23T07:00:00Z"));
  expect(new Date(x509(ca).validTo)).toEqual(new Date("2026-12-03T08:00:00Z"));
  expect(new Date(issue(9).validFrom)).toEqual(new Date("2026-11-23T07:00:00Z"));
  expect(new Date(issue(9).validTo)).toEqual(new Date("2026-12-02T08:00:00Z"));
  expect(new Date(issue(397).validTo)).toEqual(new Date("2026-12-03T08:00:00Z"));
});

test("serial numbers are positive, differ, and have up to 127 bits", () => {
  const serials = Array.from({ length: 64 }, () => x509(clientCertificate("a")).serialNumber);
  expect(new Set(serials).size).toBe(serials.length);
  const numbers = serials.map((serial) => BigInt(`0x${serial}`));
  expect(numbers.every((number) => number > 0n && number < 1n << 127n)).toBe(true);
  // Some of 64 numbers have their highest bit.
  expect(numbers.some((number) => number >= 1n << 126n)).toBe(true);
});

test("each key is its certificate's own, on the curve P-256, and in PKCS #8", () => {
  for (const issued of [AUTHORITY, nodeCertificate(1), clientCertificate("a")]) {
    expect(issued.keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const key = createPrivateKey(issued.keyPem);
    expect(key.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect(x509(issued).checkPrivateKey(key)).toBe(true);
  }
  expect(
    x509(nodeCertificate(1)).checkPrivateKey(createPrivateKey(nodeCertificate(1).keyPem)),
  ).toBe(false);
});

describe("nothing is issued by", () => {
  const issue = (certificatePem: string, keyPem: string, now = new Date()): IssuedCertificate => {
    const options = { cluster: CLUSTER, name: "a", days: 1, now };
    return issueClientCertificate({ certificatePem, keyPem }, options);
  };

  test("a certificate that is not a CA's, or has another's key", () => {
    const leaf = nodeCertificate(1);
    expect(() => issue(leaf.certificatePem, leaf.keyPem)).toThrow("must not issue others");
    expect(() => issue(AUTHORITY.certificatePem, OTHER_AUTHORITY.keyPem)).toThrow(
      "the CA's key does not fit its certificate",
    );
  });

  test("a text that is not a certificate or not a key", () => {
    expect(() => issue("", AUTHORITY.keyPem)).toThrow("the CA's certificate cannot be read");
    expect(() => issue(AUTHORITY.certificatePem, "")).toThrow("the CA's key cannot be read");
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const rsa = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    expect(() => issue(AUTHORITY.certificatePem, rsa)).toThrow("does not fit");
  });

  test("a CA before and after its time", () => {
    const { certificatePem, keyPem } = AUTHORITY;
    expect(() => issue(certificatePem, keyPem, daysFromNow(4_000))).toThrow("the CA has expired");
    expect(() => issue(certificatePem, keyPem, daysFromNow(-101))).toThrow("is not valid before");
  });
});

describe("OpenSSL", () => {
  const openssl = installed("OpenSSL", "openssl");
  let place = "";
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), "holdfast-certificates-"));
  });
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  const path = (name: string, issued: IssuedCertificate): string => {
    const file = join(place, `${name}.crt`);
    writeFileSync(file, issued.certificatePem);
    return file;
  };
  const run = (...args: readonly string[]): string =>
    execFileSync(openssl ?? "", args, { stdio: "pipe" }).toString();
  const verify = (file: string, ca: string, ...more: readonly string[]): string =>
    run("verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-CAfile", ca, ...more, file);

  test.runIf(openssl !== undefined)("verifies what was issued, at its strictest", () => {
    const now = new Date("2048-06-01T00:00:00Z");
    const late = createAuthority({ name: "of the 21st century", days: 36_500, now });
    const at = String(now.getTime() / 1_000);
    for (const [ca, times] of [
      [AUTHORITY, []],
      [late, ["-attime", at]],
    ] as const) {
      const root = path("ca", ca);
      const validity = { days: 3_650, ...(ca === late ? { now } : {}) };
      const hosts = ["localhost", "127.0.0.1", "fd00::4", "*.db.svc"];
      const ofNode = path(
        "node",
        issueNodeCertificate(ca, { cluster: "ä, b", nodeId: 1, hosts, ...validity }),
      );
      const ofClient = path(
        "client",
        issueClientCertificate(ca, { cluster: "ä, b", name: "c/d", ...validity }),
      );
      expect(verify(root, root, ...times)).toContain("OK");
      for (const purpose of ["sslserver", "sslclient"]) {
        expect(verify(ofNode, root, "-purpose", purpose, ...times)).toContain("OK");
      }
      expect(verify(ofClient, root, "-purpose", "sslclient", ...times)).toContain("OK");
      expect(() => verify(ofClient, root, "-purpose", "sslserver", ...times)).toThrow();
    }
  });

  test.runIf(openssl !== undefined)("refuses what is another CA's, or issued by no CA", () => {
    const root = path("other", OTHER_AUTHORITY);
    expect(() => verify(path("node", nodeCertificate(1)), root)).toThrow("verification failed");
  });

  test.runIf(openssl !== undefined)("shows everything that belongs into a certificate", () => {
    const show = (issued: IssuedCertificate): string =>
      run("x509", "-noout", "-text", "-in", path("shown", issued)).replaceAll(/\s+/g, " ");
    const ca = show(AUTHORITY);
    expect(ca).toContain("X509v3 Basic Constraints: critical CA:TRUE, pathlen:0");
    expect(ca).toContain("X509v3 Key Usage: critical Certificate Sign, CRL Sign");
    const [, keyId] = /Subject Key Identifier: ([0-9A-F:]+)/.exec(ca) ?? [];
    const text = show(nodeCertificate(1));
    expect(text).toContain("X509v3 Basic Constraints: critical CA:FALSE");
    expect(text).toContain("X509v3 Key Usage: critical Digital Signature");
    expect(text).toContain("TLS Web Server Authentication, TLS Web Client Authentication");
    expect(text).toContain("URI:holdfast://holdfast/node/1, DNS:localhost, IP Address:127.0.0.1");
    expect(text).toContain(`Authority Key Identifier: ${keyId}`);
    expect(text).toContain("Signature Algorithm: ecdsa-with-SHA256");
    expect(show(clientCertificate("a"))).toMatch(
      /Extended Key Usage: TLS Web Client Authentication X509v3/,
    );
  });
});

interface Handshake {
  readonly server: IssuedCertificate;
  readonly client?: IssuedCertificate;
  readonly serverCa?: IssuedCertificate;
  readonly clientCa?: IssuedCertificate;
  readonly host?: string;
}

/**
 * Both sides verify the other; resolves to the peer that the server saw, or rejects with what
 * either said.
 */
async function shakeHands(options: Handshake): Promise<unknown> {
  const { clientCa = AUTHORITY, serverCa = AUTHORITY, host = "localhost" } = options;
  const server = createServer({
    ...{ cert: options.server.certificatePem, key: options.server.keyPem },
    // Without this it would end the connection and not say why.
    ...{ ca: clientCa.certificatePem, requestCert: true, rejectUnauthorized: false },
  });
  try {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const met = new Promise<unknown>((resolve, reject) => {
      server.once("secureConnection", (socket: TLSSocket) => {
        const certificate = socket.getPeerX509Certificate();
        if (socket.authorized) resolve(certificate && readCertifiedIdentity(certificate));
        else reject({ code: socket.authorizationError });
        socket.destroy();
      });
      server.once("tlsClientError", reject);
    });
    const own = options.client;
    const socket = connect({
      ...{ host: "127.0.0.1", port: (server.address() as AddressInfo).port, servername: host },
      ca: serverCa.certificatePem,
      ...(own === undefined ? {} : { cert: own.certificatePem, key: own.keyPem }),
    });
    const refused = new Promise<never>((_, reject) => socket.on("error", reject));
    const [seen] = await Promise.all([
      Promise.race([met, refused]),
      Promise.race([once(socket, "secureConnect"), refused]),
    ]);
    socket.destroy();
    return seen;
  } finally {
    server.close();
  }
}

describe("in a handshake of TLS in which both sides are verified", () => {
  test("a client reaches a node, and a node another node", async () => {
    expect(
      await shakeHands({ server: nodeCertificate(1), client: clientCertificate("billing") }),
    ).toEqual({
      ...{ kind: "client", cluster: CLUSTER, name: "billing" },
    });
    expect(await shakeHands({ server: nodeCertificate(1), client: nodeCertificate(2) })).toEqual({
      ...{ kind: "node", cluster: CLUSTER, nodeId: 2 },
    });
  });

  const ofOther = clientCertificate("a", { authority: OTHER_AUTHORITY });
  /** As OpenSSL calls it, which depends on what else the other side sends. */
  const OTHER_CA =
    "SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_SIGNATURE_FAILURE";
  const past = { from: -60 };
  const future = { from: 60 };

  test.each<[string, Handshake, string]>([
    [
      "an expired node",
      { server: nodeCertificate(1, undefined, past), client: clientCertificate("a") },
      "CERT_HAS_EXPIRED",
    ],
    [
      "a node of the future",
      { server: nodeCertificate(1, undefined, future), client: clientCertificate("a") },
      "CERT_NOT_YET_VALID",
    ],
    [
      "an expired client",
      { server: nodeCertificate(1), client: clientCertificate("a", past) },
      "CERT_HAS_EXPIRED",
    ],
    [
      "a client of the future",
      { server: nodeCertificate(1), client: clientCertificate("a", future) },
      "CERT_NOT_YET_VALID",
    ],
    [
      "a node of another CA of the same name",
      { server: nodeCertificate(1), client: clientCertificate("a"), serverCa: OTHER_AUTHORITY },
      OTHER_CA,
    ],
    [
      "a client of another CA of the same name",
      { server: nodeCertificate(1), client: ofOther },
      OTHER_CA,
    ],
    [
      "a client in place of a node",
      { server: clientCertificate("a"), client: clientCertificate("a") },
      "INVALID_PURPOSE",
    ],
    [
      "a host that is not the node's",
      { server: nodeCertificate(1), host: "db-2" },
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
    ["a client without a certificate", { server: nodeCertificate(1) }, "UNABLE_TO_GET_ISSUER_CERT"],
  ])("%s is refused", async (_, handshake, code) => {
    await expect(shakeHands(handshake)).rejects.toMatchObject({
      code: expect.stringMatching(new RegExp(code)),
    });
  });
});
