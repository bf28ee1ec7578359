/** The certificates of a local cluster: made once, used again, renewed in time, never overwritten. */
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ClusterCertificates } from "../../../bin/local-cluster/cluster-certificates.js";
import { type ClusterPlan, planCluster } from "../../../bin/local-cluster/cluster-plan.js";
import {
  createAuthority,
  type IssuedCertificate,
  issueClientCertificate,
  issueNodeCertificate,
  readCertifiedIdentity,
} from "../../../src/certificates/index.js";

const CLUSTER = "any";
const NAMES = ["ca", "client-local", "node-1", "node-2"];
const SOON_DAYS = 29;

let parent = "";
let certs = "";
let plan: ClusterPlan;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "holdfast-cluster-"));
  certs = join(parent, "certs");
  plan = planCluster(parent, CLUSTER, [7411, 7412], [7511, 7512], "wss");
});
afterEach(() => rmSync(parent, { recursive: true }));

const read = (name: string): string => readFileSync(join(certs, name), "utf8");
const x509 = (name: string): X509Certificate => new X509Certificate(read(`${name}.crt`));
const contents = (): string[] => readdirSync(certs).map((name) => `${name} ${read(name)}`);
const pair = (name: string): IssuedCertificate => {
  return { certificatePem: read(`${name}.crt`), keyPem: read(`${name}.key`) };
};

function put(name: string, { certificatePem, keyPem }: IssuedCertificate): void {
  writeFileSync(join(certs, `${name}.crt`), certificatePem);
  writeFileSync(join(certs, `${name}.key`), keyPem);
}

async function complete(): Promise<string[]> {
  const certificates = await ClusterCertificates.open(plan);
  const replaced = await certificates.complete();
  return replaced.map((path) => path.slice(certs.length + 1));
}

function demandVerified(): void {
  const ca = x509("ca");
  for (const name of NAMES) expect(x509(name).verify(ca.publicKey), name).toBe(true);
}

test("each node and a client get certificates of one CA, with keys for their owner alone", async () => {
  expect(await complete()).toEqual([]);
  expect(readdirSync(certs)).toEqual(NAMES.flatMap((name) => [`${name}.crt`, `${name}.key`]));
  demandVerified();
  expect(x509("ca").ca).toBe(true);
  expect(NAMES.slice(1).map((name) => readCertifiedIdentity(x509(name)))).toEqual([
    { kind: "client", cluster: CLUSTER, name: "local" },
    { kind: "node", cluster: CLUSTER, nodeId: 1 },
    { kind: "node", cluster: CLUSTER, nodeId: 2 },
  ]);
  for (const host of ["127.0.0.1", "::1"]) expect(x509("node-2").checkIP(host)).toBeDefined();
  expect(x509("node-2").checkHost("localhost")).toBeDefined();
  for (const name of NAMES) {
    expect(statSync(join(certs, `${name}.key`)).mode & 0o777).toBe(0o600);
  }
});

test("they are made once: a later start writes nothing, and reads pages as a node", async () => {
  await complete();
  const before = contents();
  const again = await ClusterCertificates.open(plan);
  const { certificatePem: cert, keyPem: key } = pair("node-1");
  expect(again.access).toEqual({ ca: read("ca.crt"), cert, key });
  expect(await again.complete()).toEqual([]);
  expect(contents()).toEqual(before);
});

test("a certificate and key that are gone are both made again by the same CA", async () => {
  await complete();
  const ca = read("ca.crt");
  for (const kind of ["crt", "key"]) rmSync(join(certs, `node-2.${kind}`));
  expect(await complete()).toEqual([]);
  expect(read("ca.crt")).toBe(ca);
  demandVerified();
});

test.each<[string, { readonly days: number; readonly now?: Date }]>([
  ["expires soon", { days: SOON_DAYS }],
  ["has expired", { days: 1, now: new Date(Date.now() - 3 * 86_400_000) }],
])("a certificate that %s is renewed, and nothing else", async (_, validity) => {
  await complete();
  const founded = { days: 3_650, now: new Date(Date.now() - 10 * 86_400_000) };
  const authority = createAuthority({ name: "older", ...founded });
  put("ca", authority);
  const hosts = ["127.0.0.1"];
  const node = (nodeId: number, days = validity) =>
    issueNodeCertificate(authority, { cluster: CLUSTER, nodeId, hosts, ...days });
  put("node-1", node(1));
  put("node-2", node(2, { days: SOON_DAYS + 2 }));
  put(
    "client-local",
    issueClientCertificate(authority, { cluster: CLUSTER, name: "local", ...validity }),
  );
  const kept = [read("ca.crt"), read("node-2.crt")];
  expect(await complete()).toEqual(["node-1.crt", "client-local.crt"]);
  expect([read("ca.crt"), read("node-2.crt")]).toEqual(kept);
  demandVerified();
  expect(await complete()).toEqual([]);
});

test("with a CA that expires soon all are renewed, because a new CA verifies no old ones", async () => {
  await complete();
  const authority = createAuthority({ name: "old", days: SOON_DAYS });
  const issuing = { cluster: CLUSTER, days: 397 };
  put("ca", authority);
  for (const nodeId of [1, 2]) {
    put(`node-${nodeId}`, issueNodeCertificate(authority, { ...issuing, nodeId, hosts: [] }));
  }
  put("client-local", issueClientCertificate(authority, { ...issuing, name: "local" }));
  expect(await complete()).toEqual(["ca.crt", "node-1.crt", "node-2.crt", "client-local.crt"]);
  expect(x509("ca").checkIssued(new X509Certificate(authority.certificatePem))).toBe(false);
  demandVerified();
});

const other = createAuthority({ name: "other", days: 100 });
const ofOther = issueNodeCertificate(other, {
  ...{ cluster: CLUSTER, nodeId: 1, hosts: [], days: 90 },
});
const gone = (name: string) => () => rmSync(join(certs, name));
const spoiled = (name: string) => () => writeFileSync(join(certs, name), "spoiled");

test.each<[string, () => void, RegExp]>([
  ["the CA's key is gone", gone("ca.key"), /ca\.key is missing: restore it, or delete \S+certs to/],
  ["the CA's certificate is gone", gone("ca.crt"), /ca\.crt is missing: /],
  [
    "the CA is gone",
    () => ["ca.crt", "ca.key"].map((name) => rmSync(join(certs, name))),
    /ca\.crt is missing, which issued \S+node-1\.crt: restore it and \S+ca\.key, or delete/,
  ],
  ["a node's key is gone", gone("node-2.key"), /node-2\.key is missing: .*delete \S+node-2\.crt/],
  ["a node's certificate is gone", gone("node-2.crt"), /node-2\.crt is missing: /],
  ["the CA's key is damaged", spoiled("ca.key"), /ca\.key is damaged: /],
  ["the CA's certificate is damaged", spoiled("ca.crt"), /ca\.crt is damaged: /],
  ["a node's key is damaged", spoiled("node-1.key"), /node-1\.key is damaged: /],
  ["a client's certificate is empty", spoiled("client-local.crt"), /client-local\.crt is damaged/],
  [
    "a key is another one's",
    () => writeFileSync(join(certs, "node-1.key"), read("node-2.key")),
    /node-1\.key is not the key of \S+node-1\.crt: /,
  ],
  ["the CA is none", () => put("ca", pair("node-1")), /ca\.crt is not the certificate of a CA: /],
  [
    "nodes are swapped",
    () => put("node-1", pair("node-2")),
    /node-1\.crt is not the certificate of node 1 of this cluster: /,
  ],
  [
    "another CA has issued one",
    () => put("node-1", ofOther),
    /node-1\.crt was not issued by the CA next to it: /,
  ],
  [
    "the CA is another one",
    () => put("ca", other),
    /node-1\.crt was not issued by the CA next to it: /,
  ],
])("if %s, that is said and nothing is overwritten", async (_, spoil, sentence) => {
  await complete();
  spoil();
  const before = contents();
  await expect(ClusterCertificates.open(plan)).rejects.toThrow(sentence);
  expect(contents()).toEqual(before);
});

test("certificates of another cluster are refused", async () => {
  await complete();
  const renamed = planCluster(parent, "other", [7411, 7412], [7511, 7512], "wss");
  await expect(ClusterCertificates.open(renamed)).rejects.toThrow(/is not the certificate of node/);
});

test("a path that cannot be a directory is reported as such", async () => {
  writeFileSync(certs, "");
  await expect(ClusterCertificates.open(plan)).rejects.toThrow(
    /cannot read \S+ca\.crt: a part of the path is not a directory/,
  );
});
