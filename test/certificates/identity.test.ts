/** Whom a certificate is for: one identity has one spelling, and no other name can pass for it. */
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NAME_TAG } from "../../src/certificates/certificate-parts.js";
import { CONTEXT_CONSTRUCTED, element, sequence, TAG } from "../../src/certificates/der.js";
import {
  createAuthority,
  issueClientCertificate,
  issueNodeCertificate,
  readCertifiedIdentity,
  readHosts,
} from "../../src/certificates/index.js";
import { issueBy } from "../../src/certificates/issue.js";
import { installed } from "../fence/stores/installed.js";

const authority = createAuthority({ name: "test CA", days: 1 });
const NODE = "holdfast://holdfast/node/1";

const uri = (text: string): Uint8Array => element(NAME_TAG.uri, Buffer.from(text, "latin1"));
const dns = (text: string): Uint8Array => element(NAME_TAG.dns, Buffer.from(text, "latin1"));

function certified(...names: readonly Uint8Array[]): X509Certificate {
  const { certificatePem } = issueBy(authority, "x", names, [], { days: 1 });
  return new X509Certificate(certificatePem);
}

const read = (...names: readonly Uint8Array[]) => readCertifiedIdentity(certified(...names));

test("a certificate names the node or the client for which it was issued", () => {
  const node = issueNodeCertificate(authority, {
    ...{ cluster: "orders & co, ltd", nodeId: 4_294_967_295, hosts: ["db-1", "10.0.0.1", "::1"] },
    days: 1,
  });
  const client = issueClientCertificate(authority, {
    ...{ cluster: "holdfast", name: 'a, URI:"b"/ü(\u{1f600})' },
    days: 1,
  });
  const [ofNode, ofClient] = [node, client].map((it) => new X509Certificate(it.certificatePem));
  if (ofNode === undefined || ofClient === undefined) throw new Error("nothing was issued");
  expect(readCertifiedIdentity(ofNode)).toEqual({
    ...{ kind: "node", cluster: "orders & co, ltd", nodeId: 4_294_967_295 },
  });
  expect(readHosts(ofNode)).toEqual(["db-1", "10.0.0.1", "::1"]);
  expect(readCertifiedIdentity(ofClient)).toEqual({
    ...{ kind: "client", cluster: "holdfast", name: 'a, URI:"b"/ü(\u{1f600})' },
  });
  expect(readHosts(ofClient)).toEqual([]);
});

test("every name that can be certified is read as it was written", () => {
  const name = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
    .filter((text) => [...text].length <= 64 && !/[\p{Cc}\p{Cs}]/u.test(text));
  fc.assert(
    fc.property(name, name, (cluster, client) => {
      const options = { cluster, name: client, days: 1 };
      const { certificatePem } = issueClientCertificate(authority, options);
      const identity = readCertifiedIdentity(new X509Certificate(certificatePem));
      expect(identity).toEqual({ kind: "client", cluster, name: client });
    }),
    { numRuns: 30 },
  );
});

describe("a certificate names nobody", () => {
  test.each([
    ["without names", []],
    ["with a DNS name that looks like one", [dns(NODE)]],
    ["with a DNS name that goes on with one", [dns(`db-1, URI:${NODE}`)]],
    ["with two nodes", [uri(NODE), uri("holdfast://holdfast/node/2")]],
    ["with the same node twice", [uri(NODE), uri(NODE)]],
    ["with a node and a client", [uri(NODE), uri("holdfast://holdfast/client/a")]],
    ["with a node and a wrong one", [uri(NODE), uri("holdfast:nothing")]],
    ["with a node and one in capitals", [uri(NODE), uri("HOLDFAST://holdfast/node/2")]],
    ["with a URI that holds another", [uri(`https://a/, URI:${NODE}`)]],
    ["with a name that is not a primitive", [element(CONTEXT_CONSTRUCTED + 6, uri(NODE))]],
    ["with the text of a URI in another type", [element(TAG.utf8String, Buffer.from(NODE))]],
  ])("%s", (_, names: readonly Uint8Array[]) => {
    expect(read(...names)).toBeUndefined();
  });

  test.each([
    "HOLDFAST://holdfast/node/1",
    "holdfast://holdfast/Node/1",
    "holdfast://holdfast/node/01",
    "holdfast://holdfast/node/+1",
    "holdfast://holdfast/node/1e0",
    "holdfast://holdfast/node/%31",
    "holdfast://holdfast/node/0",
    "holdfast://holdfast/node/4294967296",
    "holdfast://holdfast/node/1/",
    "holdfast://holdfast/node/1?a",
    "holdfast://holdfast/node/1#a",
    "holdfast://holdfast/node/1, DNS:a",
    "holdfast://holdfast/node/1\0",
    "holdfast://holdfast/node/1\0.example",
    "holdfast://holdfast\0/node/1",
    " holdfast://holdfast/node/1",
    "holdfast://holdfast/node/1 ",
    "holdfast://holdfast/node/1\n",
    '"holdfast://holdfast/node/1"',
    "holdfast://user@holdfast/node/1",
    "holdfast://holdfast:80/node/1",
    "holdfast:///node/1",
    "holdfast:/holdfast/node/1",
    "holdfast://holdfast/node/",
    "holdfast://holdfast/client/",
    "holdfast://holdfast/client/a/b",
    "holdfast://holdfast/client/%61",
    "holdfast://holdfast/client/%2f",
    "holdfast://holdfast/client/%2",
    "holdfast://holdfast/client/%C3",
    "holdfast://holdfast/client/%00",
    "holdfast://holdfast/client/a%0Ab",
    "holdfast://holdfast/client/a'b",
    'holdfast://holdfast/client/a"b',
    "holdfast://holdfast/client/a,b",
    "holdfast://holdfast/client/\u00fc",
    `holdfast://holdfast/client/${"a".repeat(65)}`,
    `holdfast://${"c".repeat(129)}/node/1`,
    "holdfast://holdfast/admin/a",
    "holdfast://holdfast/node/1/client/a",
  ])("by %j", (text) => {
    expect(read(uri(text))).toBeUndefined();
  });

  const openssl = installed("OpenSSL", "openssl");

  test.runIf(openssl !== undefined)("that is a CA, whatever it says", () => {
    const place = mkdtempSync(join(tmpdir(), "holdfast-identity-"));
    const certificateWith = (isCa: "TRUE" | "FALSE"): X509Certificate => {
      const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x";
      const names = ["-addext", `subjectAltName=URI:${NODE}`];
      const constraints = ["-addext", `basicConstraints=critical,CA:${isCa}`];
      const key = ["-keyout", join(place, "key")];
      const args = [...request.split(" "), ...names, ...constraints, ...key];
      return new X509Certificate(execFileSync(openssl ?? "", args, { stdio: "pipe" }));
    };
    try {
      expect(readCertifiedIdentity(certificateWith("FALSE"))).toMatchObject({ nodeId: 1 });
      expect(readCertifiedIdentity(certificateWith("TRUE"))).toBeUndefined();
    } finally {
      rmSync(place, { recursive: true });
    }
  });
});

test("names of other kinds and URIs of others do not matter", () => {
  const directory = element(CONTEXT_CONSTRUCTED + 4, sequence());
  const others = [dns("db-1"), uri("spiffe://example/holdfast"), uri(""), directory];
  expect(read(...others, uri(NODE))).toEqual({ kind: "node", cluster: "holdfast", nodeId: 1 });
  expect(read(uri(NODE), ...others)).toEqual({ kind: "node", cluster: "holdfast", nodeId: 1 });
});

test.each([
  [{ cluster: "" }, "1 to 128 characters, not 0"],
  [{ cluster: "c".repeat(129) }, "1 to 128 characters, not 129"],
  [{ cluster: "a\nb" }, "must not have control characters"],
  [{ cluster: "\ud800" }, "must not have control characters"],
  [{ name: "" }, "1 to 64 characters, not 0"],
  [{ name: "n".repeat(65) }, "1 to 64 characters, not 65"],
  [{ name: "a\0b" }, "must not have control characters"],
  [{ days: 0 }, "1 to 36500 days, not 0"],
  [{ days: 1.5 }, "1 to 36500 days, not 1.5"],
])("a client cannot be certified with %j", (wrong, message) => {
  const options = { cluster: "holdfast", name: "a", days: 1, ...wrong };
  expect(() => issueClientCertificate(authority, options)).toThrow(message);
});

test.each([0, -1, 1.5, Number.NaN, 2 ** 32])("no node has the number %d", (nodeId) => {
  const options = { cluster: "holdfast", nodeId, hosts: [], days: 1 };
  expect(() => issueNodeCertificate(authority, options)).toThrow("a node's number is 1 to");
});

describe("hosts", () => {
  const hostsOf = (...hosts: readonly string[]): string[] => {
    const options = { cluster: "holdfast", nodeId: 1, hosts, days: 1 };
    return readHosts(new X509Certificate(issueNodeCertificate(authority, options).certificatePem));
  };

  test("are DNS names and addresses, each in the form in which they are compared", () => {
    expect(
      hostsOf(
        "localhost",
        "DB-1.Example",
        "*.db.svc",
        "db_1",
        "0.0.0.0",
        "255.9.10.1",
        "::",
        "::1",
      ),
    ).toEqual([
      "localhost",
      "db-1.example",
      "*.db.svc",
      "db_1",
      "0.0.0.0",
      "255.9.10.1",
      "::",
      "::1",
    ]);
    expect(hostsOf("FD00:0:0::0004", "2001:db8:1:2:3:4:5:6", "::ffff:10.0.0.1", "1::")).toEqual([
      ...["fd00::4", "2001:db8:1:2:3:4:5:6", "::ffff:a00:1", "1::"],
    ]);
  });

  test("are what OpenSSL compares with", () => {
    const hosts = ["db-1.example", "*.db.svc", "10.0.0.1", "fd00::4"];
    const options = { cluster: "holdfast", nodeId: 1, hosts, days: 1 };
    const { certificatePem } = issueNodeCertificate(authority, options);
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.checkHost("db-1.example")).toBe("db-1.example");
    expect(certificate.checkHost("a.db.svc")).toBe("*.db.svc");
    expect(certificate.checkIP("10.0.0.1")).toBe("10.0.0.1");
    expect(certificate.checkIP("fd00:0::4")).toBe("fd00:0::4");
    expect(certificate.checkHost("db-2.example")).toBeUndefined();
    expect(certificate.checkIP("10.0.0.2")).toBeUndefined();
  });

  test.each([
    ...["", ".", "a.", ".a", "a..b", "-a", "a-", "a b", "a,b", "a\0b", "bücher.example", "a:7411"],
    ...[
      "ws://a",
      "10.0.0",
      "10.0.0.256",
      "01.2.3.4",
      "1.2.3.4.5",
      "7411",
      "[::1]",
      "::1%eth0",
      ":",
    ],
    ...["1:2:3:4:5:6:7:8:9", "::1]/[", "*", "*.a", "a.*.b", "*a.b.c", "a".repeat(64)],
    `${"a.".repeat(127)}ab`,
  ])("are never %j", (host) => {
    expect(() => hostsOf(host)).toThrow("is not a host: a DNS name or an IP address is required");
  });
});
