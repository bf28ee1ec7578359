/**
 * Real nodes that require client certificates, all of whose certificates an intermediate authority has
 * issued: a reload ends only what is not trusted any more, and a new node joins.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAuthority, type IssuedCertificate } from "../../src/certificates/index.js";
import { chainOfAuthorities, withIntermediate } from "../certificates/intermediate.js";
import { SocketClient } from "../server/world/socket-client.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";
import { documentOf } from "./world/command-result.js";
import {
  clientOf,
  credentialsOf,
  NodeCertificates,
  nodeOf,
  observerTls,
} from "./world/node-certificates.js";
import { until } from "./world/process-life.js";

const TTL_MS = 60_000;
const CHAIN = chainOfAuthorities("prod");
const ROOT = CHAIN.root.certificatePem;
const FORMER = createAuthority({ name: "former authority", days: 30 });

let files: NodeCertificates;
beforeEach(() => {
  files = new NodeCertificates();
});
const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  files.remove();
});

/** Writes the files of a node that trusts `ca`; returns the arguments that name them. */
function nodeFiles(nodeId: number, ca: string): readonly string[] {
  files.write(nodeId, withIntermediate(nodeOf(CHAIN.intermediate, nodeId), CHAIN), ca);
  return files.argumentsOf(nodeId);
}

async function connectTo(
  { endpoints }: ClusterProcess,
  own: IssuedCertificate,
): Promise<SocketClient> {
  const tls = credentialsOf(own, ROOT);
  const client = await SocketClient.connect(endpoints[0] ?? "", undefined, undefined, tls);
  endings.push(() => client.close());
  await client.attach({ ttlMs: TTL_MS });
  return client;
}

/** The environment of commands with the certificate of a client. */
function variables({ certificatePem, keyPem }: IssuedCertificate): Record<string, string> {
  const put = (name: string, text: string): string => {
    writeFileSync(join(files.directory, name), text);
    return join(files.directory, name);
  };
  return {
    HOLDFAST_CA: put("root", ROOT),
    HOLDFAST_CERT: put("client.crt", certificatePem),
    HOLDFAST_CERT_KEY: put("client.key", keyPem),
  };
}

test("certificates with intermediates outlive a reload that removes another CA, and a node joins with one", async () => {
  const own = withIntermediate(clientOf(CHAIN.intermediate), CHAIN);
  const serverArguments = nodeFiles(1, `${ROOT}${FORMER.certificatePem}`);
  const tls = observerTls(own, ROOT);
  const cluster = await startCluster({ nodes: 1, serverArguments, tls });
  endings.push(() => cluster.stop());
  const kept = await connectTo(cluster, own);
  const former = await connectTo(cluster, clientOf(FORMER));

  writeFileSync(join(files.directory, "1", "ca"), ROOT);
  cluster.node(1).hangUp();
  expect((await former.closed).code).toBe(1008);
  await kept.acquire("kept", 1, TTL_MS);

  const env = variables(own);
  const { node, address } = await cluster.newcomer(2, nodeFiles(2, ROOT));
  endings.push(() => node.stop());
  const started = node.start();
  expect((await cluster.holdfast(["member", "add", "2", address], { env })).code).toBe(0);
  await started;
  const promoted = await cluster.holdfast(["member", "promote", "2"], { env });
  expect([promoted.code, promoted.stderr]).toEqual([0, expect.any(String)]);
  await until("node 2 to follow", async () => (await node.status())?.role === "follower");
  const members = documentOf<{ members: readonly Record<string, unknown>[] }>(
    await cluster.holdfast(["member", "ls", "--json"], { env }),
  );
  expect(members).toMatchObject({
    members: [
      { id: 1, role: "voter" },
      { id: 2, role: "voter", endpoint: node.endpoint },
    ],
  });
  await kept.end(1, 2);
});
