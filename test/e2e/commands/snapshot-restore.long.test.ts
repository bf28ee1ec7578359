/**
 * Making a new cluster of real processes of a saved one: what is refused, and that nothing of the old
 * cluster can be taken for something of the new one. Two could hold one lock otherwise. How the file
 * comes about is in `snapshot-save.long.test.ts`.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endAllStarted } from "../../../lab/end-with-process.js";
import { type Admin, connect, connectAdmin, type HandedOver } from "../../../src/index.js";
import { ClusterProcess, runCli, startCli } from "../world/cluster-process.js";
import { expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { NodeHandle } from "../world/node-handle.js";
import { until } from "../world/process-life.js";
import { NOBODY, SnapshotScene, TTL_MS } from "../world/snapshot-scene.js";

/** Longer than the leases of the old cluster's clients. */
const QUIET = "5s";

const scene = new SnapshotScene();
const { ask, file, membersText, restore } = scene;
/** What people keep of the old cluster: a connection, and a lock for another process. */
let oldAdmin: Admin;
let handed: HandedOver;
/** The last token that the old cluster gave, after the snapshot was saved. */
let lastToken = 0;
let restored: ClusterProcess;

beforeAll(async () => {
  await scene.start();
  oldAdmin = await connectAdmin({ endpoints: scene.old.endpoints, timeoutMs: 2_000 });
  expect((await ask(["snapshot", "save", file()])).code).toBe(0);
});

afterAll(async () => {
  endAllStarted();
  await oldAdmin?.close();
  await restored?.stop();
  await scene.stop();
});

describe("restoring", () => {
  test("needs permission, and is given up by Ctrl-C, without a trace", async () => {
    const args = (to: string) => [
      ...["snapshot", "restore", "-", "--id=1", `--data=${to}`, "--restore-id=drill"],
      `--initial-cluster=${membersText()}`,
    ];
    await mkdir(join(scene.place, "closed"), { mode: 0o555 });
    const unprivileged = process.getuid?.() === 0 ? { uid: NOBODY } : {};
    const input = await readFile(file());
    const closed = join(scene.place, "closed", "n1");
    const denied = await runCli(args(closed), { ...unprivileged, input });
    expectFailure(denied, 1, /cannot use the data directory .*: no permission/);
    await rm(join(scene.place, "closed"), { recursive: true });
    const half = startCli(args(join(scene.place, "n1")), {
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
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
  });
  test("is refused with options that would let two hold one lock, or make no sense", async () => {
    const quiet = (text: string) => ({ more: [`--quiet-time=${text}`] });
    expectFailure(await restore(1, quiet("1s")), 2, /--quiet-time 1s is shorter than the lease/);
    const both = { more: ["--quiet-time=5m", "--old-leases-are-over"] };
    expectFailure(await restore(1, both), 2, /exclude each other/);
    expectFailure(await restore(9), 2, /id 9 is not in --initial-cluster/);
    expectFailure(await restore(1, quiet("9d")), 2, /--quiet-time/);
    const bare = ["snapshot", "restore", file(), "--id=1", `--data=${join(scene.place, "x")}`];
    expectFailure(await ask(bare), 2, /required option '--initial-cluster/);
    await mkdir(join(scene.place, "full"));
    await writeFile(join(scene.place, "full", "mine"), "x");
    expectFailure(await restore(1, { to: "full" }), 2, /full is not empty, it has "mine"/);
    await rm(join(scene.place, "full"), { recursive: true });
    expect(await readdir(scene.place)).toEqual(["locks.hfs"]);
  });
  test("founds a cluster of its own, which nothing of the old one gets into", async () => {
    // What the file knows nothing of.
    for (let round = 0; round < 20; round += 1) {
      const lock = await scene.client.acquire("later");
      lastToken = lock.token;
      await lock.release();
    }
    const leaving = await connect({ endpoints: scene.old.endpoints, name: "leaving" });
    await leaving.acquire("handed over");
    handed = await leaving.handOver();
    for (const node of scene.old.nodes) await node.stop();
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
    expect((await readdir(scene.place)).sort()).toEqual(["locks.hfs", "n1", "n2", "n3"]);
    const nodes = [1, 2, 3].map(restoredNode);
    restored = new ClusterProcess(nodes, scene.place, false);
    await Promise.all(nodes.map((node) => node.start()));
    await restored.leader();
    const { clusterId } = await statusOf(nodes[0] as NodeHandle);
    expect(clusterId).toBe([...ids][0]);
  });
  test("opens no session in the quiet time, says so, and then grants with higher tokens", async () => {
    const { endpoints } = restored;
    const status = await restored.holdfast(["status"]);
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
  test("is refused as another cluster by clients and nodes that knew the old one", async () => {
    const another = expect.stringContaining("belongs to another cluster");
    await expect(oldAdmin.members()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: another,
    });
    const { endpoints } = restored;
    await using client = await connect({ endpoints });
    await expect(client.adopt(handed)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("handed over in another cluster"),
    });
  });
  test("ends what clients of the old cluster held, and lets them begin again", async () => {
    expect(scene.held.signal.aborted).toBe(true);
    expect(scene.held.signal.reason).toMatchObject({ code: "LOCK_LOST" });
    const again = await scene.client.acquire("held", { waitMs: 20_000 });
    expect(again.token).toBeGreaterThan(lastToken);
    await again.release();
  });
  test("does not start with founders, nor let a node of the old cluster in", async () => {
    const third = restored.node(3);
    await third.stop();
    const founding = [
      ...["server", "--id=3", `--data=${join(scene.place, "n3")}`],
      ...[`--listen=127.0.0.1:${scene.ports[2]}`, `--initial-cluster=${membersText()}`],
    ];
    const refused = await runCli(founding);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/belong to another cluster: --initial-cluster and /);
    const stranger = scene.old.node(3);
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
    expectFailure(linearizable, 4, /UNAVAILABLE/);
    const stale = await runCli(["snapshot", "save", "--stale", file("last.hfs")], { env });
    // On a busy machine it has time to say that nobody leads.
    expect(stale.stderr).toMatch(/^(holdfast: no leader: 1 of 3 nodes answers.*\n)?$/);
    expect(stale.code).toBe(0);
    const again = await restore(1, {
      from: file("last.hfs"),
      to: "m1",
      more: ["--old-leases-are-over"],
    });
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect(again.stdout).toContain("Do the same for nodes 2 and 3");
    expect(again.stdout).toContain("sessions are opened at once");
    const data = `--data=${join(scene.place, "n1")}`;
    const offline = ["snapshot", "save", data, file("offline.hfs"), "--json"];
    expectFailure(await runCli(offline), 1, /in use by another process/);
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
    const nowhere = ["snapshot", "save", `--data=${join(scene.place, "none")}`, file("x.hfs")];
    expectFailure(await runCli(nowhere), 2, /is not the data directory of a node/);
    const both = ["snapshot", "save", "--stale", data, file("x.hfs")];
    expectFailure(await runCli(both), 2, /exclude each other/);
  });
});
function restoredNode(id: number): NodeHandle {
  const listen = `127.0.0.1:${scene.ports[id - 1]}`;
  return new NodeHandle(id, `ws://${listen}`, [
    ...[`--id=${id}`, `--data=${join(scene.place, `n${id}`)}`, `--listen=${listen}`],
    ...[`--peer-listen=127.0.0.1:${scene.ports[2 + id]}`, "--stop-on-stdin-end"],
  ]);
}
async function statusOf(node: NodeHandle): Promise<{ clusterId: string; quietMs: number }> {
  const response = await fetch(`${node.endpoint.replace("ws:", "http:")}/status`);
  return (await response.json()) as { clusterId: string; quietMs: number };
}
