/** The options of a node as they are checked and completed, and what follows from them. */
import { describe, expect, test } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { HoldfastError } from "../../../src/errors/index.js";
import {
  computeClusterId,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  resolveOptions,
  resolveTuning,
  startNode,
  VERSION,
} from "../../../src/server/index.js";

const MEMBERS = [
  { id: 1, address: { host: "127.0.0.1", port: 7_511 } },
  { id: 2, address: { host: "127.0.0.1", port: 7_512 } },
  { id: 3, address: { host: "127.0.0.1", port: 7_513 } },
];
const GOOD: NodeOptions = {
  id: 1,
  dataDirectory: "/data",
  listen: { host: "127.0.0.1", port: 7_411 },
  peerListen: { host: "127.0.0.1", port: 7_511 },
  initialCluster: MEMBERS,
};

const TLS = { tlsCert: "cert.pem", tlsKey: "key.pem", tlsCa: "ca.pem" };
/** To other machines. */
const OPEN = {
  listen: { host: "10.1.2.3", port: 7_411 },
  peerListen: { host: "10.1.2.3", port: 7_511 },
};

function refusal(changed: Partial<NodeOptions>): string {
  try {
    resolveOptions({ ...GOOD, ...changed });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "INVALID_ARGUMENT") return error.message;
    throw error;
  }
  throw new Error("was not refused");
}

describe("the options of a node", () => {
  test("are completed with the defaults", () => {
    const resolved = resolveOptions({
      ...GOOD,
      peerAddresses: [{ id: 3, address: { host: "10.0.0.9", port: 99 } }],
    });
    expect(resolved.tuning).toEqual(NODE_TUNING_DEFAULTS);
    expect([...resolved.peerAddresses]).toEqual([[3, { host: "10.0.0.9", port: 99 }]]);
    expect(resolved.clusterId).toMatch(/^[0-9a-f]{32}$/);
  });

  test("let a node be open to other machines whose clients must have a name", () => {
    const required = { access: "required", hasData: true } as const;
    expect(resolveOptions({ ...GOOD, ...OPEN, ...TLS, access: "required" }).tls).toBeDefined();
    expect(resolveOptions({ ...GOOD, ...OPEN, ...TLS }, required).isAccessRequired).toBe(true);
    const taken = { ...GOOD, access: "open" } as const;
    expect(resolveOptions(taken, required).isAccessRequired).toBe(false);
  });

  test("let a node be open to other machines that must show certificates", () => {
    const closed = { ...TLS, clientCa: "clients.pem", requireClientCert: true };
    const { tls } = resolveOptions({ ...GOOD, ...OPEN, ...closed, clusterName: "prod" });
    expect(tls).toEqual({
      ...{ cluster: "prod", cert: "cert.pem", key: "key.pem", ca: "ca.pem" },
      ...{ clientCa: "clients.pem", requiresClientCert: true, minVersion: "1.3" },
    });
    expect(resolveOptions({ ...GOOD, ...OPEN, ...TLS, insecure: true }).tls).toBeDefined();
    expect(resolveOptions({ ...GOOD, ...TLS, peerListen: OPEN.peerListen }).tls).toBeDefined();
  });

  test.each<[string, Partial<NodeOptions>, string]>([
    ["an id that is not a node's", { id: 0 }, "id 0 is not a whole number"],
    ["an id beyond 32 bits", { id: 2 ** 32 }, "id 4294967296"],
    ["an id that is not a member's", { id: 7 }, "id 7 is not in initialCluster (1, 2, 3)"],
    ["no directory", { dataDirectory: "" }, "dataDirectory is empty"],
    ["a port that is none", { listen: { host: "::1", port: 70_000 } }, "listen port 70000"],
    ["an empty host", { peerListen: { host: "", port: 1 } }, "peerListen has an empty host"],
    ["no members", { initialCluster: [] }, "initialCluster has 0 members"],
    ["a member twice", { initialCluster: [...MEMBERS, ...MEMBERS] }, "names node 1 twice"],
    [
      "an address twice",
      { initialCluster: [...MEMBERS, { id: 4, address: { host: "127.0.0.1", port: 7_511 } }] },
      "the address 127.0.0.1:7511 twice",
    ],
    [
      "an open client port",
      { listen: { host: "10.1.2.3", port: 7_411 } },
      "listen 10.1.2.3:7411 is open to other machines, without encryption (tlsCert, tlsKey and tlsCa) " +
        "and to any client (access required, or clientCa and requireClientCert): " +
        "add what is missing, say so with insecure, or listen on 127.0.0.1",
    ],
    [
      "an open peer port",
      { peerListen: { host: "::", port: 7_511 } },
      "peerListen [::]:7511 is open to other machines, without encryption (tlsCert, tlsKey and tlsCa): add",
    ],
    [
      "listening everywhere without saying where clients should go",
      { listen: { host: "0.0.0.0", port: 7_411 }, insecure: true },
      "advertise is missing",
    ],
    ["half a TLS", { tlsCert: "c" }, 'tlsCert "c" without tlsKey and tlsCa: TLS needs all three'],
    [
      "authorities of clients without TLS",
      { clientCa: "c" },
      'clientCa "c" without tlsCert, tlsKey and tlsCa: TLS is off',
    ],
    [
      "a version without TLS",
      { tlsMinVersion: "1.3" },
      'tlsMinVersion "1.3" without tlsCert, tlsKey and tlsCa: TLS is off',
    ],
    [
      "required certificates without TLS",
      { requireClientCert: true },
      "requireClientCert without tlsCert, tlsKey, tlsCa and clientCa: no certificate",
    ],
    [
      "required certificates that nobody could verify",
      { ...TLS, requireClientCert: true },
      "requireClientCert without clientCa",
    ],
    [
      "a version of TLS that is not spoken",
      { ...TLS, tlsMinVersion: "1.1" as "1.2" },
      'tlsMinVersion "1.1" is neither',
    ],
    [
      "an advertised address in plain text with TLS",
      { ...TLS, advertise: "ws://a:1" },
      'advertise "ws://a:1" is plain text, and TLS is on: use wss://',
    ],
    [
      "an open client port with TLS alone",
      { ...TLS, ...OPEN, clientCa: "c" },
      "listen 10.1.2.3:7411 is open to other machines, to any client (access required, or clientCa",
    ],
    [
      "an open client port in plain text, even if clients must have a name",
      { listen: { host: "10.1.2.3", port: 7_411 }, access: "required" },
      "open to other machines, without encryption (tlsCert, tlsKey and tlsCa): add what is missing",
    ],
    [
      "access that is neither",
      { access: "closed" as "open" },
      'access "closed" is neither required nor open',
    ],
    [
      "an open port for health checks",
      { ...TLS, healthListen: { host: "10.1.2.3", port: 7_412 } },
      "healthListen 10.1.2.3:7412 is open to other machines, in plain text",
    ],
    ["an address to advertise that is not a URL", { advertise: "here" }, 'advertise "here"'],
    ["a URL of another protocol", { advertise: "http://a:1" }, 'advertise "http://a:1"'],
    [
      "an address for a node that is not a peer",
      { peerAddresses: [{ id: 1, address: { host: "a", port: 1 } }] },
      "peerAddresses names node 1",
    ],
    [
      "founding and joining at once",
      { join: ["ws://a:1"] },
      "join and initialCluster exclude each other",
    ],
    ["an empty cluster name", { clusterName: "" }, "clusterName has 0 characters"],
  ])("refuse %s by name and value", (_what, changed, message) => {
    expect(refusal(changed)).toContain(message);
  });

  test.each<[string, unknown, string]>([
    ["no object", null, "the options must be an object"],
    ["a list", [GOOD], "the options must be an object"],
    ["an id that is a text", { ...GOOD, id: "1" }, "id must be a number"],
    [
      "a directory that is a URL",
      { ...GOOD, dataDirectory: new URL("file:///data") },
      "dataDirectory must be a string",
    ],
    [
      "an address that is a text",
      { ...GOOD, listen: "127.0.0.1:7411" },
      "listen must be { host: string, port: number }",
    ],
    ["a log that is an object", { ...GOOD, log: console }, "log must be a function"],
    ["a token that is a text", { ...GOOD, joinToken: "secret" }, "joinToken must be a function"],
    [
      "a controller as its signal",
      { ...GOOD, signal: new AbortController() },
      "signal must be an AbortSignal",
    ],
    ["tuning that is null", { ...GOOD, tuning: null }, "tuning must be an object"],
    [
      "tuning that is a text",
      { ...GOOD, tuning: { electionTimeoutMs: "600" } },
      "electionTimeoutMs must be a number",
    ],
  ])("refuse %s, as a start does", async (_what, options, message) => {
    const error = { code: "INVALID_ARGUMENT", message };
    expect(() => resolveOptions(options as NodeOptions)).toThrow(expect.objectContaining(error));
    await expect(startNode(options as NodeOptions)).rejects.toMatchObject(error);
  });

  test("let in no web page but those whose origin is named as browsers send it", () => {
    expect(resolveOptions(GOOD).allowedOrigins).toEqual([]);
    const origins = [
      "https://ops.example",
      "http://localhost:3000",
      "http://[::1]:8080",
      "chrome-extension://abcdefghijklmnop",
    ];
    const allowedOrigins = [...origins, ...origins];
    expect(resolveOptions({ ...GOOD, allowedOrigins }).allowedOrigins).toEqual(origins);
    const wrong: [string, string][] = [
      ["*", "pages of any site"],
      ["null", "pages of any site"],
      ["", "is not an origin like"],
      ["ops.example", "is not an origin like"],
      ["https://*.ops.example", "is not an origin like"],
      ["https://ops.example/", "is not an origin like"],
      ["https://ops.example/page", "is not an origin like"],
      ["https://me@ops.example", "is not an origin like"],
      ["https://ops.example:443", "browsers send https://ops.example"],
      ["HTTPS://Ops.Example", "is not an origin like"],
      [`https://${"a".repeat(2_000)}`, "is not an origin like"],
    ];
    for (const [origin, problem] of wrong) {
      expect(refusal({ allowedOrigins: [origin] }), origin).toContain(problem);
    }
  });

  test("answer to the hosts of their own addresses, and to names that are said", () => {
    const listen = { host: "n1.internal", port: 7411 };
    const advertise = "wss://n1.example:443";
    const allowedHosts = ["holdfast", "holdfast.ops.svc.cluster.local"];
    expect(
      resolveOptions({ ...GOOD, listen, advertise, allowedHosts, insecure: true }),
    ).toMatchObject({
      allowedHosts: ["n1.internal", "n1.example", ...allowedHosts],
    });
    for (const name of [
      "",
      "*",
      "*.example",
      "a:1",
      "http://a",
      "a/b",
      "a b",
      "-",
      "a".repeat(300),
    ]) {
      expect(refusal({ allowedHosts: [name] }), name).toContain("is not a host name");
    }
  });

  test("keep an audit when that is said, for 30 days and up to 4 GiB unless something else is", () => {
    expect(resolveOptions(GOOD).audit).toBeUndefined();
    const defaults = { keepMs: 30 * 86_400_000, bytesMax: 4 * 2 ** 30 };
    expect(resolveOptions({ ...GOOD, audit: true }).audit).toEqual(defaults);
    const auditKeepMs = 60_000;
    const auditBytesMax = 2 ** 20;
    const least = { ...GOOD, audit: true, auditKeepMs, auditBytesMax };
    expect(resolveOptions(least).audit).toEqual({ keepMs: auditKeepMs, bytesMax: auditBytesMax });
    expect(refusal({ audit: true, auditBytesMax: auditBytesMax - 1 })).toContain(
      "auditBytesMax 1048575",
    );
    expect(refusal({ auditBytesMax })).toBe(
      "auditBytesMax 1048576 without audit: there is nothing to keep",
    );
    expect(refusal({ audit: true, auditKeepMs: 59_999 })).toContain("auditKeepMs 59999");
    expect(refusal({ auditKeepMs })).toBe(
      "auditKeepMs 60000 without audit: there is nothing to keep",
    );
  });

  test("measure up to twenty prefixes of keys apart, each once", () => {
    expect(resolveOptions(GOOD).metricsPrefixes).toEqual([]);
    const metricsPrefixes = ["orders/", "jobs/", "orders/"];
    expect(resolveOptions({ ...GOOD, metricsPrefixes }).metricsPrefixes).toEqual([
      "orders/",
      "jobs/",
    ]);
    const many = (count: number) => Array.from({ length: count }, (_, i) => `${i}/`);
    expect(resolveOptions({ ...GOOD, metricsPrefixes: many(20) }).metricsPrefixes).toHaveLength(20);
    expect(refusal({ metricsPrefixes: many(21) })).toContain("has 21 values, not at most 20");
    expect(refusal({ metricsPrefixes: [""] })).toContain("it is empty");
    expect(refusal({ metricsPrefixes: ["a\n"] })).toContain("control character");
    expect(refusal({ metricsPrefixes: ["other"] })).toContain("what all other keys are");
  });

  test("may be open to other machines when that is said aloud", () => {
    const listen = { host: "0.0.0.0", port: 7_411 };
    const advertise = "ws://lock-1.example:7411";
    expect(resolveOptions({ ...GOOD, listen, advertise, insecure: true }).advertise).toBe(
      advertise,
    );
  });
});

describe("tuning", () => {
  test.each<[Parameters<typeof resolveTuning>[0], string]>([
    [{ electionTimeoutMs: Number.NaN }, "electionTimeoutMs NaN"],
    [{ pipelineEntriesMax: 1.5 }, "pipelineEntriesMax 1.5 is not a whole number above 0"],
    [{ segmentBytes: -1 }, "segmentBytes -1"],
    [{ electionTimeoutMs: 150 }, "heartbeatIntervalMs 100 is more than half of electionTimeoutMs"],
    [{ closedPeerDelayMs: 601 }, "closedPeerDelayMs 601 is more than electionTimeoutMs 600"],
    [{ uncommittedBytesMax: 1_000 }, "batchBytesMax 65536 is more than uncommittedBytesMax 1000"],
    [{ appendBytesMax: 9 << 20 }, "appendBytesMax 9437184 is more than inflightBytesMax 8388608"],
    [{ trailingLogBytes: 65 << 20 }, "trailingLogBytes 68157440 is more than snapshotLogBytes"],
    [{ segmentBytes: 64 << 10 }, "batchBytesMax 65536 is more than half of segmentBytes"],
    [{ electionTimeout: 1 } as object, "tuning has no option electionTimeout"],
  ])("%o is refused with both numbers", (tuning, message) => {
    expect(() => resolveTuning(tuning)).toThrow(message);
  });

  test("lets the log grow with the table, unless it is said how long it may become", () => {
    expect(resolveTuning({ electionTimeoutMs: 700 }).snapshotSizeFactor).toBe(2);
    expect(resolveTuning({ snapshotLogBytes: 64 << 20 }).snapshotSizeFactor).toBe(0);
    const both = { snapshotLogBytes: 64 << 20, snapshotSizeFactor: 0.5 };
    expect(resolveTuning(both).snapshotSizeFactor).toBe(0.5);
  });
});

describe("the cluster id", () => {
  test("depends on name and members, and not on their order", () => {
    const id = computeClusterId("holdfast", MEMBERS);
    expect(computeClusterId("holdfast", [...MEMBERS].reverse())).toBe(id);
    expect(computeClusterId("other", MEMBERS)).not.toBe(id);
    expect(computeClusterId("holdfast", MEMBERS.slice(1))).not.toBe(id);
  });
});

test("the version is the package's", () => {
  expect(VERSION).toBe(packageJson.version);
});
