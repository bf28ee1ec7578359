/**
 * `holdfast cluster` as people start and stop it: what it says, what it keeps, and that it leaves
 * nothing running, whichever way it ends.
 */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endAllStarted } from "../../../lab/end-with-process.js";
import { freePorts } from "../../../lab/free-ports.js";
import { RespClient } from "../../doors/redis/world/resp-client.js";
import { runCli } from "../world/cluster-process.js";
import { COMMAND } from "../world/command-line.js";
import { expectFailure } from "../world/command-result.js";
import { startHolder } from "../world/holder-process.js";
import {
  interrupt,
  killLeftNodes,
  type StartedCluster,
  startLocal,
  startReady,
} from "../world/local-cluster.js";
import { gone, isRunning, until } from "../world/process-life.js";

/** A command of util-linux. */
const TOOL = "unshare";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-cluster-"));
});
afterAll(async () => {
  endAllStarted();
  killLeftNodes();
  await rm(directory, { recursive: true, force: true });
});

async function clusterIdOf({ ready }: StartedCluster): Promise<string> {
  const url = ready.endpoints[0]?.replace(/^ws/, "http");
  const status = (await (await fetch(`${url}/status`)).json()) as { readonly clusterId: string };
  expect(status.clusterId).toMatch(/^[0-9a-f]{32}$/);
  return status.clusterId;
}

/** A start that must fail. */
async function expectRefused(args: readonly string[], reason: RegExp, code = 1): Promise<void> {
  expectFailure(await runCli(["cluster", ...args]), code, reason);
}

test("a lock outlives Ctrl-C and the next start, on other client ports", async () => {
  const data = join(directory, "kept");
  const first = await startReady(data);
  expect(first.ready).toEqual({
    endpoints: first.ready.nodes.map(({ endpoint }) => endpoint),
    leader: expect.any(Number),
    nodes: [1, 2, 3].map((id) => ({
      id,
      pid: expect.any(Number),
      endpoint: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+$/),
      log: join(data, `n${id}.log`),
    })),
    access: { state: "open", identities: expect.any(Number) },
    tls: false,
  });
  expect(new Set(first.pids).size).toBe(3);
  expect(first.pids.every(isRunning)).toBe(true);
  await using holder = await startHolder(first.ready.endpoints, "kept/lock", 600_000);
  const clusterId = await clusterIdOf(first);
  // So that nobody gives it back.
  await holder.kill("SIGKILL");
  await interrupt(first);
  // Stopped in order, not killed.
  for (const { log } of first.ready.nodes) {
    expect(await readFile(log, "utf8")).not.toContain("holdfast: ");
  }

  const second = await startReady(data);
  expect(await clusterIdOf(second)).toBe(clusterId);
  expect(second.ready.nodes.map(({ id }) => id)).toEqual([1, 2, 3]);
  const endpoints = `--endpoints=${second.ready.endpoints.join(",")}`;
  const inspected = await runCli(["inspect", "kept/lock", "--json", endpoints]);
  expect(inspected.code).toBe(0);
  expect(JSON.parse(inspected.stdout)).toMatchObject({ holds: [{ token: holder.token }] });
  const refused = await runCli(["run", endpoints, "-n", "kept/lock", "--", "true"]);
  expect(refused.code).toBe(3);
  await interrupt(second);
});

test("two clusters with the same ports do not have the same id: none can be computed", async () => {
  const ids: string[] = [];
  const [port, peerPort] = await freePorts(2);
  for (const name of ["one", "other"]) {
    const ports = [`--port=${port}`, `--peer-port=${peerPort}`];
    const started = await startReady(join(directory, name), "--nodes=1", ...ports);
    ids.push(await clusterIdOf(started));
    await interrupt(started);
  }
  expect(new Set(ids).size).toBe(2);
});

test("people learn where it runs, which node leads and how to take a lock", async () => {
  const cluster = startLocal(join(directory, "people"), "--nodes=1");
  await cluster.printed("Ctrl-C stops it.\n");
  const { stdout } = cluster;
  expect(stdout).toMatch(/^Holdfast runs: one node, data in /);
  const [, endpoint, pid] = /^ {2}node 1 {2}(ws:\S+) {2}pid (\d+) {2}leader$/m.exec(stdout) ?? [];
  expect(stdout).toContain(`export HOLDFAST_ENDPOINTS=${endpoint}\n`);
  const ran = await runCli(["run", "demo", "-c", "echo $HOLDFAST_TOKEN"], {
    env: { HOLDFAST_ENDPOINTS: endpoint ?? "" },
  });
  expect(Number(ran.stdout)).toBeGreaterThan(0);
  await interrupt({ cluster, pids: [Number(pid)] });
  expect(cluster.stderr).toBe("holdfast: stopping\n");
});

test("its Redis ports and rules follow the options, which need --redis", async () => {
  const [redis = 0, sentinel = 0] = await freePorts(2);
  const flags = [`--redis-port=${redis}`, `--redis-sentinel-port=${sentinel}`];
  const rules = ["--redis-allow-unproven", "--redis-redlock"];
  const data = join(directory, "redis");
  const started = await startReady(data, "--nodes=1", "--redis", ...flags, ...rules);
  expect(started.ready.nodes).toMatchObject([
    { redis: `127.0.0.1:${redis}`, redisSentinel: `127.0.0.1:${sentinel}` },
  ]);
  const client = await RespClient.open(redis);
  expect(await client.call("SET", "k", "v", "NX", "PX", "60000")).toBe("+OK");
  expect(await client.call("DEL", "k")).toBe(":1");
  client.close();
  const other = await RespClient.open(sentinel);
  expect(await other.call("INFO")).toContain("redis_mode:sentinel");
  other.close();
  await interrupt(started);
  for (const flag of [...flags, ...rules]) {
    await expectRefused([`--data=${data}`, flag], /--redis-[a-z-]+ needs --redis/, 2);
  }
});

test("a secured cluster starts like any other, and people learn how to come in", async () => {
  const data = join(directory, "closed");
  const open = await startReady(data, "--nodes=1");
  const local = `--local=${join(data, "n1")}`;
  expect((await runCli(["access", "init", local])).code).toBe(0);
  expect((await runCli(["access", "anonymous", "deny", local])).code).toBe(0);
  await interrupt(open);
  const closed = startLocal(data);
  await closed.printed("Ctrl-C stops it.\n");
  expect(closed.stdout).toContain("\nThe cluster is secured: commands need an access token ");
  const [, way = ""] = /^ {2}(?:npx )?holdfast (access ls .*)$/m.exec(closed.stdout) ?? [];
  expect((await runCli(way.split(" "))).code).toBe(0);
  const [, endpoint = "", pid] = / (ws:\S+) {2}pid (\d+)/.exec(closed.stdout) ?? [];
  const env = { HOLDFAST_ENDPOINTS: endpoint };
  expectFailure(await runCli(["run", "demo", "--", "true"], { env }), 5, /does not know who asks/);
  await expectRefused([`--data=${data}`, `--port=${new URL(endpoint).port}`], /already started/);
  await interrupt({ cluster: closed, pids: [Number(pid)] });
  const again = await startReady(data);
  expect(again.ready.access.state).toBe("closed");
  await interrupt(again);
});

test("what is in the way of a start is said in one line, and what runs already is not disturbed", async () => {
  const data = join(directory, "first");
  const running = await startReady(data, "--nodes=1");
  const port = Number(new URL(running.ready.endpoints[0] ?? "").port);
  const note = JSON.parse(await readFile(join(data, "cluster.json"), "utf8"));
  const [peerPort] = note.peerPorts as [number];
  const elsewhere = `--data=${join(directory, "elsewhere")}`;
  const one = "--nodes=1";
  const [free, otherPeer] = await freePorts(2);

  await expectRefused(
    [elsewhere, one, `--port=${port}`, `--peer-port=${otherPeer}`],
    new RegExp(
      `port ${port} of node 1 is taken: .*pid ${running.pids[0]}.*already started.* \\(--port `,
    ),
  );
  await expectRefused(
    [elsewhere, one, `--port=${free}`, `--peer-port=${peerPort}`],
    new RegExp(`port ${peerPort} of node 1 is taken: .* \\(--peer-port chooses others\\)`),
  );
  // A second start on the same data, as it was typed the first time, and with other ports.
  await expectRefused([`--data=${data}`, `--port=${port}`], /already started/);
  await expectRefused(
    [`--data=${data}`, "--port=0"],
    /is taken: .*\(the data fix the peer ports\)/,
  );
  await expectRefused([`--data=${data}`, "--nodes=3"], /belongs to a cluster of 1/, 2);
  const twice = `--peer-port=${free}`;
  await expectRefused([elsewhere, one, `--port=${free}`, twice], /both a client port and a/, 2);

  // One node by hand on the data of a running one.
  const second = await runCli([
    "server",
    "--id=1",
    `--data=${join(data, "n1")}`,
    `--initial-cluster=1=127.0.0.1:${peerPort}`,
    `--cluster-name=${note.clusterName}`,
    `--peer-listen=127.0.0.1:${otherPeer}`,
    `--listen=127.0.0.1:${free}`,
  ]);
  expect([second.code, second.stdout]).toEqual([1, ""]);
  expect(second.stderr.split("\n").filter((line) => line.startsWith("holdfast: "))).toHaveLength(1);
  expect(second.stderr).toMatch(/\bn1\b.*(in use|another)/);

  const endpoints = `--endpoints=${running.ready.endpoints}`;
  expect((await runCli(["run", endpoints, "-n", "still", "--", "true"])).code).toBe(0);
  await interrupt(running);
});

test("a directory that cannot be used is said in one line, and no node is left running", async () => {
  const file = join(directory, "file");
  await writeFile(file, "");
  const free = ["--port=0", "--peer-port=0"];
  await expectRefused([`--data=${file}`, ...free], /file cannot be used: /);
  await expectRefused([`--data=${join(file, "below")}`, ...free], /below cannot be used: /);
  if (process.platform === "linux") {
    await expectRefused(["--data=/proc/no/such", ...free], /cannot be used: it does not exist/);
  }
  const damaged = join(directory, "damaged");
  await mkdir(damaged);
  await writeFile(join(damaged, "cluster.json"), "{");
  await expectRefused([`--data=${damaged}`, ...free], /cluster\.json is damaged/);

  // Here only one of three nodes cannot start: the others have to be stopped again.
  const partly = join(directory, "partly");
  await mkdir(partly);
  await writeFile(join(partly, "n2"), "");
  const ports = await freePorts(6);
  const peerPorts = ports.slice(3);
  await writeFile(join(partly, "cluster.json"), JSON.stringify({ peerPorts, clusterName: "any" }));
  await expectRefused(
    [`--data=${partly}`, "--port=0"],
    /node 2 did not start: .*n2: it is not a dir/,
  );
  // Free again: the process that listened on them is gone.
  await rm(join(partly, "n2"));
  const started = await startReady(partly);
  await interrupt(started);
});

test("a node without room on its disk is reported, though its log says nothing", async (context) => {
  const disk = join(directory, "disk");
  await mkdir(disk);
  // In name spaces of its own: the mount is nobody else's, and ends with the command.
  const mount = 'mount -t tmpfs -o size=3m tmpfs "$1" && shift && exec "$@"';
  const isolated = ["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", disk];
  const run = (...args: readonly string[]): SpawnSyncReturns<string> =>
    spawnSync(TOOL, [...isolated, ...args], { encoding: "utf8", timeout: 50_000 });
  if (run("true").status !== 0) context.skip("no mount of one's own can be made here");
  const data = `--data=${join(disk, "data")}`;
  const cluster = [process.execPath, COMMAND, "cluster", "--nodes=1", data];
  const anyPorts = ["--port=0", "--peer-port=0"];
  const { status, stdout, stderr } = run(...cluster, ...anyPorts);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(
    /^holdfast: node 1 did not start: .*the disk is full[^\n]*: make room on it/,
  );
  // Not even the note of what the cluster is made with has room.
  const fill = 'head -c 4m /dev/zero > "$1" 2> /dev/null; shift; exec "$@"';
  const full = run("sh", "-c", fill, "sh", join(disk, "zeros"), ...cluster, ...anyPorts);
  expect([full.status, full.stdout]).toEqual([1, ""]);
  expect(full.stderr).toMatch(/data cannot be used: the disk is full: make room on it [^\n]*\n$/);
});

test("a port that is not allowed is reported as that, not as an internal error", async (context) => {
  const lowest = await readFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").catch(
    () => "1024",
  );
  const user = process.getuid?.() === 0 ? { uid: 65_534 } : {};
  const canRun = (await runCli(["--version"], user)).code === 0;
  if (!canRun || Number(lowest) <= 1) context.skip("there is no such port, or no other user here");
  // Where anybody may make one, though it does not come to that.
  const data = `--data=${join(tmpdir(), `holdfast-low-${process.pid}`)}`;
  const [free] = await freePorts(1);
  const args = ["cluster", data, "--nodes=1", "--port=1", `--peer-port=${free}`];
  expect(await runCli(args, user)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "holdfast: port 1 of node 1 needs permissions that this user does not have\n",
  });
});

test("the nodes end with the process that started them, even if that is killed", async () => {
  const started = await startReady(join(directory, "orphans"));
  started.cluster.child.kill("SIGKILL");
  expect(await started.cluster.result).toMatchObject({ signal: "SIGKILL" });
  await gone(started.pids);
});

test("a node that dies is reported as well when somebody has removed its directory", async () => {
  const data = join(directory, "removed");
  const { cluster, pids } = await startReady(data, "--nodes=1");
  await rm(data, { recursive: true });
  process.kill(pids[0] ?? 0, "SIGKILL");
  const { code, stderr } = await cluster.result;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^holdfast: node 1 \(pid \d+\) ended by SIGKILL \(see /);
  expect(stderr).toMatch(/\nholdfast: no node is left\n$/);
});

test("a node that dies is reported, and with --restart started again", async () => {
  const { cluster, ready, pids } = await startReady(join(directory, "again"), "--restart");
  const [first = 0] = pids;
  process.kill(first, "SIGKILL");
  await cluster.noted(`holdfast: node 1 (pid ${first}) ended by SIGKILL`);
  await cluster.noted("holdfast: node 1 is running again as pid ");
  const again = Number(/is running again as pid (\d+)/.exec(cluster.stderr)?.[1]);
  const endpoints = `--endpoints=${ready.endpoints.join(",")}`;
  await until("node 1 to answer", async () => {
    const { stdout } = await runCli(["status", "--json", endpoints]);
    const { nodes } = JSON.parse(stdout) as { nodes: { id: number; pid: number | null }[] };
    return nodes.some(({ id, pid }) => id === 1 && pid === again);
  });
  await interrupt({ cluster, pids: [...pids, again] });
});

test("with --restart a node that cannot be started leaves the others alone, and is tried again", async () => {
  const data = join(directory, "moved");
  const { cluster, pids } = await startReady(data, "--restart");
  const log = join(data, "n1.log");
  await rm(log);
  await mkdir(log);
  const [first = 0] = pids;
  process.kill(first, "SIGKILL");
  await cluster.noted("holdfast: node 1 could not be started: EISDIR");
  await rm(log, { recursive: true });
  await cluster.noted("holdfast: node 1 is running again as pid ");
  const again = Number(/is running again as pid (\d+)/.exec(cluster.stderr)?.[1]);
  await interrupt({ cluster, pids: [...pids, again] });
});

test("interrupted before it is ready, it dies by the signal and leaves no node", async () => {
  const data = join(directory, "early");
  const cluster = startLocal(data);
  // Made as the nodes are started; they need a while to start and to agree.
  await until("the nodes to be started", () => existsSync(join(data, "n3.log")));
  process.kill(-cluster.pid, "SIGINT");
  expect(await cluster.result).toMatchObject({ code: null, signal: "SIGINT", stdout: "" });
  // Their peer ports are free: a start on the same data succeeds.
  await interrupt(await startReady(data));
});
