/**
 * Saving a cluster of real processes to a file and making a new one of it: what is in the file, what
 * is refused, and that nothing of the old cluster can be taken for something of the new one.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Admin,
  type Client,
  connect,
  connectAdmin,
  type ExportedSession,
  type Lock,
} from "../../src/index.js";
import {
  type CliOptions,
  type CliResult,
  ClusterProcess,
  runCli,
  startCli,
  startCluster,
} from "./cluster-process.js";
import { bareEnvironment, COMMAND } from "./command-line.js";
import { expectDocumented } from "./documented-json.js";
import { endAllStarted, endWithTest } from "./end-with-test.js";
import { freePorts } from "./free-ports.js";
import { NodeHandle } from "./node-handle.js";
import { until } from "./process-life.js";

/** Leases of the clients here: a quiet time must be longer. */
const TTL_MS = 2_000;
const QUIET = "5s";
/** A user who owns nothing here. */
const NOBODY = 65_534;

let place = "";
let ports: number[] = [];
let old: ClusterProcess;
let oldClient: Client;
let held: Lock;
/** What people keep of the old cluster: a connection, and a session for another process. */
let oldAdmin: Admin;
let exported: ExportedSession;
/** The last token that the old cluster gave, after the snapshot was saved. */
let lastToken = 0;
let restored: ClusterProcess;

const file = (name = "locks.hfs"): string => join(place, name);
const bad = (): string => join(old.directory, "bad.hfs");
const membersText = (): string =>
  [1, 2, 3].map((id) => `${id}=127.0.0.1:${ports[2 + id]}`).join(",");

function ask(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(args, { env: { HOLDFAST_ENDPOINTS: old.endpoints.join(",") }, ...options });
}

/** Ends so, and says why in one line on standard error alone. */
function expectEnd({ code, stdout, stderr }: CliResult, expected: number, reason: RegExp): void {
  expect([code, stdout, stderr]).toEqual([expected, "", expect.stringMatching(reason)]);
  expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
}

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-snapshot-"));
  ports = await freePorts(6);
  old = await startCluster({ ports });
  oldClient = await connect({ endpoints: old.endpoints, ttlMs: TTL_MS, name: "old" });
  held = await oldClient.acquire("held");
  oldAdmin = await connectAdmin({ endpoints: old.endpoints, timeoutMs: 2_000 });
  expect((await ask(["settings", "set", "waitersMax", "77"])).code).toBe(0);
  expect((await ask(["limit", "pool", "7"])).code).toBe(0);
});

afterAll(async () => {
  endAllStarted();
  await oldClient?.close();
  await oldAdmin?.close();
  await restored?.stop();
  await old?.stop();
  await rm(place, { recursive: true, force: true });
});

describe("saving", () => {
  test("writes a file for its owner alone, and says what is in it", async () => {
    const saved = await ask(["snapshot", "save", file(), "--json"]);
    expect([saved.code, saved.stderr]).toEqual([0, ""]);
    const document = JSON.parse(saved.stdout) as { bytes: number; index: number };
    expectDocumented(document, "snapshot save");
    const { mode, size } = await stat(file());
    expect([mode & 0o777, size]).toEqual([0o600, document.bytes]);
    expect(await readdir(place)).toEqual(["locks.hfs"]);

    const inspected = await ask(["snapshot", "inspect", file(), "--json"]);
    const contents: unknown = JSON.parse(inspected.stdout);
    expectDocumented(contents, "snapshot inspect");
    expect(contents).toMatchObject({
      ...{ index: document.index, bytes: document.bytes, isIntact: true, longestLeaseMs: TTL_MS },
      ...{ holds: 1, waiters: 0 },
      settings: { waitersMax: 77 },
    });
  });

  test("shows people the same in words", async () => {
    const { code, stdout } = await ask(["snapshot", "inspect", file()]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cluster +[0-9a-f]{32}$/m);
    expect(stdout).toMatch(/^locks in use +\d+; holds 1, waiters 0, closings 0$/m);
    expect(stdout).toMatch(/^settings +waitersMax 77$/m);
    expect(stdout).toMatch(/^digest +ok$/m);
  });

  test("replaces nothing unless it is told to", async () => {
    const before = await readFile(file());
    expectEnd(await ask(["snapshot", "save", file()]), 1, /exists: --force replaces it/);
    expect((await readFile(file())).equals(before)).toBe(true);
    const forced = await ask(["snapshot", "save", file(), "--force"]);
    expect([forced.code, forced.stdout]).toEqual([0, expect.stringContaining("of cluster")]);
    expect(await readdir(place)).toEqual(["locks.hfs"]);
  });

  test("goes through pipes, both ways", async () => {
    const { code, stdoutBytes, stderr } = await ask(["snapshot", "save", "-"]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^holdfast: standard output: /)]);
    const { stdout } = await ask(["snapshot", "inspect", "-", "--json"], { input: stdoutBytes });
    expect(JSON.parse(stdout)).toMatchObject({ file: "-", bytes: stdoutBytes.length });
    expectEnd(await ask(["snapshot", "save", "-", "--json"]), 2, /exclude each other/);
  });

  test("from a program gives the same", async () => {
    await using admin = await connectAdmin({ endpoints: old.endpoints });
    const snapshot = await admin.snapshot();
    let bytes = 0;
    for await (const chunk of snapshot.chunks()) bytes += chunk.length;
    expect([snapshot.clusterId, bytes]).toEqual([admin.clusterId, snapshot.byteLength]);
  });

  test("says in one line what is in the way, and leaves nothing behind", async () => {
    const [port] = await freePorts(1);
    const nowhere = { HOLDFAST_ENDPOINTS: `127.0.0.1:${port}`, HOLDFAST_CONNECT_TIMEOUT: "200ms" };
    const other = file("other.hfs");
    expectEnd(await ask(["snapshot", "save", other], { env: nowhere }), 4, /UNAVAILABLE/);
    expectEnd(await ask(["snapshot", "save", file("no/such/place")]), 1, /there is no such place/);
    await mkdir(file("directory"));
    const replacing = await ask(["snapshot", "save", file("directory"), "--force"]);
    expectEnd(replacing, 1, /is no ordinary file/);
    expectEnd(await ask(["snapshot", "save"]), 2, /missing required argument 'file'/);
    expectEnd(await ask(["snapshot", "sav", other]), 2, /Did you mean save\?/);
    await chmod(place, 0o755);
    await chmod(file("directory"), 0o555);
    const unprivileged = process.getuid?.() === 0 ? { uid: NOBODY } : {};
    const denied = await ask(["snapshot", "save", file("directory/x")], {
      env: { HOLDFAST_ENDPOINTS: old.endpoints.join(",") },
      ...unprivileged,
    });
    expectEnd(denied, 1, /permission denied/);
    await rm(file("directory"), { recursive: true });
    expect(await readdir(place)).toEqual(["locks.hfs"]);
  });

  test.skipIf(!existsSync("/dev/full"))("says when the disk is full", async () => {
    const full = await open("/dev/full", "w");
    const child = spawn(process.execPath, [COMMAND, "snapshot", "save", "-"], {
      stdio: ["ignore", full.fd, "pipe"],
      env: { ...bareEnvironment(), HOLDFAST_ENDPOINTS: old.endpoints.join(",") },
    });
    endWithTest(child);
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    await full.close();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^holdfast: [^\n]*ENOSPC[^\n]*\n$/)]);
  });

  test("is given up by Ctrl-C without a trace", async () => {
    const paused = await old.leader();
    for (const node of old.nodes) node.pause();
    const saving = startCli(["snapshot", "save", file("late.hfs")], {
      env: { HOLDFAST_ENDPOINTS: paused.endpoint, HOLDFAST_CONNECT_TIMEOUT: "1m" },
    });
    await until("it listens", () => saving.child.pid !== undefined);
    await until("the signal is obeyed", () => {
      saving.child.kill("SIGINT");
      return saving.child.exitCode !== null || saving.child.signalCode !== null;
    });
    for (const node of old.nodes) node.resume();
    const { code, signal } = await saving.result;
    expect(code ?? signal).toBe(code === null ? "SIGINT" : 130);
    expect(await readdir(place)).toEqual(["locks.hfs"]);
    await old.leader();
  });
});

describe("a file that is not whole", () => {
  test("is refused, by name, and nothing is made of it", async () => {
    const whole = await readFile(file());
    const altered = Buffer.from(whole);
    altered[whole.length - 50] = (altered[whole.length - 50] ?? 0) ^ 1;
    const later = Buffer.from(whole);
    later.writeUInt32LE(2, 16);
    const wrong: readonly (readonly [Buffer | string, RegExp])[] = [
      [whole.subarray(0, whole.length - 10), /bad\.hfs: the snapshot is cut short/],
      [altered, /bad\.hfs: the snapshot is damaged/],
      [later, /bad\.hfs: the snapshot is in format 2/],
      ["# notes\n", /bad\.hfs: this is no snapshot of a Holdfast cluster/],
      ["", /bad\.hfs: this is no snapshot/],
    ];
    for (const [content, reason] of wrong) {
      await writeFile(bad(), content);
      expectEnd(await ask(["snapshot", "inspect", bad()]), 1, reason);
      expectEnd(await restore(1, { from: bad() }), 1, reason);
    }
    await rm(bad());
    expectEnd(await ask(["snapshot", "inspect", bad()]), 1, /there is no such file/);
    expectEnd(await ask(["snapshot", "inspect", place]), 1, /it is a directory/);
    expect(await readdir(place)).toEqual(["locks.hfs"]);
  });
});

interface Restoring {
  readonly from?: string;
  readonly to?: string;
  readonly more?: readonly string[];
}

function restore(id: number, { from, to = `n${id}`, more }: Restoring = {}): Promise<CliResult> {
  return ask([
    ...["snapshot", "restore", from ?? file(), `--id=${id}`, `--data=${join(place, to)}`],
    ...[`--initial-cluster=${membersText()}`, "--restore-id=drill"],
    ...(more ?? []),
  ]);
}

describe("restoring", () => {
  test("needs permission, and is given up by Ctrl-C, without a trace", async () => {
    const args = (to: string) => [
      ...["snapshot", "restore", "-", "--id=1", `--data=${to}`, "--restore-id=drill"],
      `--initial-cluster=${membersText()}`,
    ];
    await mkdir(join(place, "closed"), { mode: 0o555 });
    const unprivileged = process.getuid?.() === 0 ? { uid: NOBODY } : {};
    const input = await readFile(file());
    const denied = await runCli(args(join(place, "closed", "n1")), { ...unprivileged, input });
    expectEnd(denied, 1, /cannot use the data directory .*: no permission/);
    await rm(join(place, "closed"), { recursive: true });
    const half = startCli(args(join(place, "n1")), {
      input: input.subarray(0, input.length >> 1),
      keepInputOpen: true,
    });
    await until("the signal is obeyed", () => {
      half.child.kill("SIGINT");
      return half.child.exitCode !== null || half.child.signalCode !== null;
    });
    const { code, signal, stdout } = await half.result;
    // Before it listens to signals the system ends it.
    expect([code ?? signal, stdout]).toEqual([code === null ? "SIGINT" : 130, ""]);
    expect(await readdir(place)).toEqual(["locks.hfs"]);
  });

  test("is refused with options that would let two hold one lock, or make no sense", async () => {
    const quiet = (text: string) => ({ more: [`--quiet-time=${text}`] });
    expectEnd(await restore(1, quiet("1s")), 2, /--quiet-time 1000 ms is shorter than the lease/);
    const both = { more: ["--quiet-time=5m", "--old-leases-are-over"] };
    expectEnd(await restore(1, both), 2, /exclude each other/);
    expectEnd(await restore(9), 2, /id 9 is not in --initial-cluster/);
    expectEnd(await restore(1, quiet("2h")), 2, /--quiet-time/);
    const bare = ["snapshot", "restore", file(), "--id=1", `--data=${join(place, "x")}`];
    expectEnd(await ask(bare), 2, /required option '--initial-cluster/);
    await mkdir(join(place, "full"));
    await writeFile(join(place, "full", "mine"), "x");
    expectEnd(await restore(1, { to: "full" }), 2, /full is not empty, it has "mine"/);
    await rm(join(place, "full"), { recursive: true });
    expect(await readdir(place)).toEqual(["locks.hfs"]);
  });

  test("founds a cluster of its own, which nothing of the old one gets into", async () => {
    // What the file knows nothing of.
    for (let round = 0; round < 20; round += 1) {
      const lock = await oldClient.acquire("later");
      lastToken = lock.token;
      await lock.release();
    }
    const leaving = await connect({ endpoints: old.endpoints, name: "leaving" });
    await leaving.acquire("exported");
    exported = await leaving.export();
    for (const node of old.nodes) await node.stop();

    const ids = new Set<string>();
    for (const id of [1, 2, 3]) {
      const { code, stdout, stderr } = await restore(id, {
        more: [`--quiet-time=${QUIET}`, "--json"],
      });
      expect([code, stderr]).toEqual([0, ""]);
      const document = JSON.parse(stdout) as { clusterId: string; tokenFloor: number };
      expectDocumented(document, "snapshot restore");
      expect(document.tokenFloor).toBeGreaterThan(lastToken);
      ids.add(document.clusterId);
    }
    expect(ids.size).toBe(1);
    expect((await readdir(place)).sort()).toEqual(["locks.hfs", "n1", "n2", "n3"]);

    const nodes = [1, 2, 3].map(restoredNode);
    restored = new ClusterProcess(nodes, place, false);
    await Promise.all(nodes.map((node) => node.start()));
    await restored.leader();
    const { clusterId } = await statusOf(nodes[0] as NodeHandle);
    expect(clusterId).toBe([...ids][0]);
  });

  test("opens no session in the quiet time, says so, and grants behind it with higher tokens", async () => {
    const { endpoints } = restored;
    const status = await runCli(["status"], {
      env: { HOLDFAST_ENDPOINTS: endpoints.join(",") },
    });
    expect(status.stdout).toMatch(/restored from a snapshot: no session is opened for \d/);
    await expect(connect({ endpoints, connectTimeoutMs: 300 })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("the cluster was restored a short time ago"),
    });
    const client = await connect({ endpoints, connectTimeoutMs: 30_000, ttlMs: TTL_MS });
    const leader = await restored.leader();
    expect((await statusOf(leader)).quietMs).toBe(0);
    const lock = await client.acquire("held", { waitMs: 0 });
    expect(lock.token).toBeGreaterThan(lastToken);
    const limits = await client.settings();
    expect(limits.find(({ name }) => name === "waitersMax")?.value).toBe(77);
    await using slots = await client.semaphore("pool").acquire({ permits: 7, waitMs: 0 });
    expect(slots.slots).toHaveLength(7);
    await lock.release();
    await slots.release();
    await client.close();
  });

  test("is told from the old one by those who knew that, and told so", async () => {
    const another = expect.stringContaining("belongs to another cluster");
    await expect(oldAdmin.members()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: another,
    });
    const { endpoints } = restored;
    const resuming = connect({ endpoints, resume: exported, connectTimeoutMs: 1_000 });
    await expect(resuming).rejects.toMatchObject({ code: "UNAVAILABLE", message: another });
  });

  test("ends what clients of the old cluster held, and lets them begin again", async () => {
    expect(held.signal.aborted).toBe(true);
    expect(held.signal.reason).toMatchObject({ code: "LOCK_LOST" });
    const again = await oldClient.acquire("held", { waitMs: 20_000 });
    expect(again.token).toBeGreaterThan(lastToken);
    await again.release();
  });

  test("does not start with founders, nor let a node of the old cluster in", async () => {
    const third = restored.node(3);
    await third.stop();
    const founding = [
      ...["server", "--id=3", `--data=${join(place, "n3")}`, `--listen=127.0.0.1:${ports[2]}`],
      `--initial-cluster=${membersText()}`,
    ];
    const refused = await runCli(founding);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/belong to another cluster: --initial-cluster and /);

    const stranger = old.node(3);
    await stranger.start();
    await until("the refusal", () => restored.node(1).stderr.includes("refused"));
    const ready = await fetch(stranger.endpoint.replace("ws:", "http:").concat("/readyz"));
    expect(ready.status).toBe(503);
    const client = await connect({ endpoints: restored.endpoints.slice(0, 2) });
    const lock = await client.acquire("without the third");
    await lock.release();
    await client.close();
    await stranger.stop();
    await third.start();
    await restored.leader();
  });

  test("a majority that is lost leaves a node whose table can be saved, and restored", async () => {
    const [survivor, ...others] = restored.nodes;
    if (survivor === undefined) throw new Error("three nodes are needed");
    for (const node of others) await node.kill();
    const env = { HOLDFAST_ENDPOINTS: survivor.endpoint, HOLDFAST_CONNECT_TIMEOUT: "3s" };
    const linearizable = await runCli(["snapshot", "save", file("last.hfs")], { env });
    expectEnd(linearizable, 4, /UNAVAILABLE/);
    const stale = await runCli(["snapshot", "save", "--stale", file("last.hfs")], { env });
    expect([stale.code, stale.stderr]).toEqual([0, ""]);
    const again = await restore(1, {
      from: file("last.hfs"),
      to: "m1",
      more: ["--old-leases-are-over"],
    });
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect(again.stdout).toContain("Do the same for nodes 2, 3");
    expect(again.stdout).toContain("sessions are opened at once");

    const data = `--data=${join(place, "n1")}`;
    const offline = ["snapshot", "save", data, file("offline.hfs"), "--json"];
    expectEnd(await runCli(offline), 1, /in use by another process/);
    await survivor.stop();
    const { code, stdout, stderr } = await runCli(offline);
    expect([code, stderr]).toEqual([0, ""]);
    const read = JSON.parse(stdout) as { index: number; nodeId: number };
    expectDocumented(read, "snapshot save");
    const known = await runCli(["snapshot", "inspect", file("last.hfs"), "--json"]);
    expect(read.index).toBeGreaterThanOrEqual((JSON.parse(known.stdout) as typeof read).index);
    const inspected = await runCli(["snapshot", "inspect", file("offline.hfs"), "--json"]);
    expect(JSON.parse(inspected.stdout)).toMatchObject({
      nodeId: 1,
      settings: { waitersMax: 77 },
      members: [{ id: 1 }, { id: 2 }, { id: 3 }],
    });
    const nowhere = ["snapshot", "save", `--data=${join(place, "none")}`, file("x.hfs")];
    expectEnd(await runCli(nowhere), 2, /is no data directory of a node/);
    const both = ["snapshot", "save", "--stale", data, file("x.hfs")];
    expectEnd(await runCli(both), 2, /exclude each other/);
  });
});

function restoredNode(id: number): NodeHandle {
  const listen = `127.0.0.1:${ports[id - 1]}`;
  return new NodeHandle(id, `ws://${listen}`, [
    ...[`--id=${id}`, `--data=${join(place, `n${id}`)}`, `--listen=${listen}`],
    ...[`--peer-listen=127.0.0.1:${ports[2 + id]}`, "--stop-on-stdin-end"],
  ]);
}

async function statusOf(node: NodeHandle): Promise<{ clusterId: string; quietMs: number }> {
  const response = await fetch(`${node.endpoint.replace("ws:", "http:")}/status`);
  return (await response.json()) as { clusterId: string; quietMs: number };
}
