import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeOptions, requireStartable } from "../../../bin/commands/running/server.js";
import type { ServerFlags } from "../../../bin/config/server-values.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { startFailure } from "../../../bin/exit/start-failure.js";
import { type ResolvedOptions, resolveOptions } from "../../../src/server/index.js";
import { openDataDirectory } from "../../../src/storage/index.js";

const LISTEN = { host: "127.0.0.1", port: 7_411 };
const FLAGS: ServerFlags = {
  id: 4,
  data: "n4",
  listen: LISTEN,
  logFormat: "text",
  logLevel: "info",
};
const ADDRESS = { host: "127.0.0.1", port: 7_511 };
const HEALTH = { host: "127.0.0.1", port: 7_412 };
const JOIN = ["ws://127.0.0.1:7412"];

/** The node as these flags would start it. */
function started(flags: Partial<ServerFlags>): ResolvedOptions {
  const options = nodeOptions({ ...FLAGS, ...flags });
  try {
    return resolveOptions(options);
  } catch (error) {
    throw startFailure(error, options);
  }
}

function refusal(flags: Partial<ServerFlags>): string {
  try {
    started(flags);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error.exitCode).toBe(EXIT.usage);
    return error.message;
  }
  throw new Error("it was not refused");
}

test("a founder listens for peers where the others expect it", () => {
  const initialCluster = [
    { id: 4, address: ADDRESS },
    { id: 5, address: { host: "127.0.0.1", port: 7_512 } },
  ];
  expect(started({ initialCluster })).toMatchObject({ id: 4, peerListen: ADDRESS, join: [] });
  expect(refusal({ id: 6, initialCluster })).toBe("--id 6 is not in --initial-cluster (4, 5)");
});

test("the prefixes that are measured apart are those that are named", () => {
  const founding = { initialCluster: [{ id: 4, address: ADDRESS }] };
  const metricsPrefix = ["orders/", "jobs/"];
  const options = nodeOptions({ ...FLAGS, ...founding, metricsPrefix });
  expect(options).toMatchObject({ metricsPrefixes: metricsPrefix });
  expect(nodeOptions({ ...FLAGS, ...founding })).not.toHaveProperty("metricsPrefixes");
});

test("an audit is kept where that is asked for, and only there", () => {
  const founding = { initialCluster: [{ id: 4, address: ADDRESS }] };
  expect(nodeOptions({ ...FLAGS, ...founding })).not.toHaveProperty("audit");
  const options = nodeOptions({ ...FLAGS, ...founding, audit: true, auditKeep: 90_000 });
  expect(options).toMatchObject({ audit: true, auditKeepMs: 90_000 });
  expect(refusal({ ...founding, auditKeep: 90_000 })).toContain(
    "--audit-keep 1.5m without --audit",
  );
  const auditMaxSize = 2 ** 21;
  const limited = nodeOptions({ ...FLAGS, ...founding, audit: true, auditMaxSize });
  expect(limited).toMatchObject({ audit: true, auditBytesMax: auditMaxSize });
  expect(refusal({ ...founding, auditMaxSize })).toContain("--audit-max-size 2MiB without --audit");
});

test("a node that was added joins instead, at the address it was added with", () => {
  const options = nodeOptions({ ...FLAGS, join: JOIN, peerListen: ADDRESS });
  expect(options).toMatchObject({ id: 4, join: JOIN, peerListen: ADDRESS });
  expect(options).not.toHaveProperty("initialCluster");
  expect(refusal({ join: JOIN })).toMatch(/^--join requires --peer-listen/);
});

test("founding and joining exclude each other, and one of them is needed at first", () => {
  const initialCluster = [{ id: 4, address: ADDRESS }];
  expect(refusal({ join: JOIN, initialCluster })).toMatch(/exclude each other/);
  expect(refusal({})).toMatch(/^give --initial-cluster .* or --join .*$/);
  // Data that are there say the rest.
  expect(nodeOptions({ ...FLAGS, peerListen: ADDRESS }).peerListen).toEqual(ADDRESS);
});

test("tuning that contradicts itself is refused with both values", () => {
  const flags = { peerListen: ADDRESS };
  expect(refusal({ ...flags, electionTimeout: 600, heartbeatInterval: 301 })).toBe(
    "--heartbeat-interval 301ms is more than half of --election-timeout 600ms: " +
      "followers would not wait that long",
  );
  const trailingLogSize = 65 << 20;
  for (const given of [{ trailingLogSize, snapshotLogSize: 64 << 20 }, { trailingLogSize }]) {
    expect(refusal({ ...flags, ...given })).toBe(
      "--trailing-log-size 65MiB is more than --snapshot-log-size 64MiB: " +
        "a snapshot would free nothing",
    );
  }
  expect(nodeOptions({ ...FLAGS, ...flags, electionTimeout: 2_000 }).tuning).toEqual({
    electionTimeoutMs: 2_000,
  });
});

test("a trace goes where it is told to", () => {
  const flags = { ...FLAGS, peerListen: ADDRESS };
  expect(nodeOptions({ ...flags, trace: "-" }).traceFile).toBe("-");
  expect(nodeOptions(flags)).not.toHaveProperty("traceFile");
});

test("the files of TLS are the node's own to judge", () => {
  const given = {
    tlsCert: "c",
    tlsKey: "k",
    tlsCa: "a",
    clientCa: "b",
    tlsMinVersion: "1.2",
  } as const;
  const flags = { ...given, requireClientCert: true, healthListen: HEALTH, peerListen: ADDRESS };
  expect(nodeOptions({ ...FLAGS, ...flags })).toMatchObject({ ...given, requireClientCert: true });
  expect(nodeOptions({ ...FLAGS, ...flags }).healthListen).toEqual(HEALTH);
  expect(nodeOptions({ ...FLAGS, peerListen: ADDRESS })).not.toHaveProperty("requireClientCert");
});

test("each port needs an address of its own", () => {
  expect(refusal({ peerListen: ADDRESS, healthListen: LISTEN })).toBe(
    "--listen and --health-listen are both 127.0.0.1:7411: each needs its own address",
  );
  expect(refusal({ peerListen: LISTEN })).toMatch(/^--listen and --peer-listen are both/);
});

/** What a start of node 4 on that directory says, without an address or a cluster. */
async function saidOf(data: string): Promise<string> {
  return requireStartable({ ...FLAGS, data }).then(
    () => "",
    (error: Failure) => error.message,
  );
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-data-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test("a node whose data belong to a cluster lacks only its address", async () => {
  const data = join(temporaryDirectory(), "n4");
  const opened = await openDataDirectory({
    ...{ path: data, nodeId: 4, clusterId: "5e".repeat(16), segmentBytes: 1 << 20 },
  });
  await opened.close();
  expect(await saidOf(data)).toBe(
    `the data in ${data} belong to a cluster already: give --peer-listen, ` +
      "the address of this node for the others",
  );
  await requireStartable({ ...FLAGS, data, peerListen: ADDRESS });
});

test("data that this user may not read are not taken for none", async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "file"), "");
  expect(await saidOf(join(directory, "file"))).toMatch(/^cannot use the data directory .*file: /);
  expect(await saidOf(join(directory, "none"))).toMatch(/^give --initial-cluster/);
  mkdirSync(join(directory, "n4"), { mode: 0o000 });
  // Root may read everything, so the test gives root up for as long as it takes.
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) {
    chmodSync(directory, 0o755);
    process.seteuid?.(65_534);
  }
  try {
    expect(await saidOf(join(directory, "n4"))).toMatch(/n4: no permission$/);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
