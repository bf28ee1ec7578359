/**
 * What `holdfast run` does when it cannot keep its lock: the command is gone before another can
 * hold the lock, however stubborn it is, and even if nobody is left to end it.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parentDeathPrefix } from "../../../../bin/run/parent-death.js";
import { endAllStarted } from "../../../../lab/end-with-process.js";
import { freePorts } from "../../../../lab/free-ports.js";
import { TcpProxy } from "../../../../lab/tcp-proxy.js";
import { connect } from "../../../../src/index.js";
import {
  type ClusterProcess,
  type RunningCli,
  startCli,
  startCluster,
} from "../../world/cluster-process.js";
import { gone, isRunning, until } from "../../world/process-life.js";

/** Ignores SIGTERM, itself and in all it starts, and beats in a file as long as it lives. */
const STUBBORN =
  "trap '' TERM INT HUP; echo in $$; while :; do echo beat >> beats; sleep 0.02; done";
/** Long enough that a busy machine renews it in time. */
const LEASE_FLAGS = ["--ttl=4s", "--kill-grace=1200ms"];

/** Numbers of processes that only a failure of what is tested here would leave running. */
const commands: number[] = [];
afterAll(() => {
  endAllStarted();
  for (const pid of commands.filter(isRunning)) process.kill(pid, "SIGKILL");
});

/** Starts a run that holds `key`; resolves when its command runs, with the command's number. */
async function startHolding(
  cluster: ClusterProcess,
  endpoint: string,
  key: string,
  line: string,
): Promise<{ readonly run: RunningCli; readonly command: number }> {
  const run = startCli(["run", `--endpoints=${endpoint}`, ...LEASE_FLAGS, key, "-c", line], {
    cwd: cluster.directory,
    keepInputOpen: true,
  });
  await run.printed("\n");
  const command = Number(run.stdout.slice(3));
  commands.push(command);
  return { run, command };
}

test.concurrent("cut off from a cluster that works on, a stubborn command is dead before the next holder is let in", async () => {
  const ports = await freePorts(2);
  const proxy = await TcpProxy.to(ports[0] ?? 0);
  const through = `ws://127.0.0.1:${proxy.address.port}`;
  // Clients know the proxy and no other way in.
  const serverArguments = [`--advertise=${through}`];
  await using cluster = await startCluster({ nodes: 1, ports, serverArguments });
  const { run, command } = await startHolding(cluster, through, "cut", STUBBORN);
  await using next = await connect({ endpoints: cluster.endpoints, followLeader: false });
  const [held] = (await next.inspect("cut")).holds;
  const beats = (): Promise<string> => readFile(join(cluster.directory, "beats"), "utf8");
  const waiting = next.acquire("cut", { waitMs: 30_000 });
  expect(isRunning(command)).toBe(true);

  await proxy.close();
  const lock = await waiting;
  expect(isRunning(command)).toBe(false);
  const last = await beats();
  expect(lock.token).toBeGreaterThan(held?.token ?? Number.POSITIVE_INFINITY);

  const { code, signal, stderr } = await run.result;
  expect([code, signal]).toEqual([6, null]);
  expect(stderr).toContain("holdfast: the lock cut is being lost: ending the command\n");
  expect(stderr).toContain("holdfast: the lock cut was lost before the command had ended\n");
  // Nor did anything that the command had started go on.
  expect(await beats()).toBe(last);
});

test.concurrent("with a majority paused, a stubborn command is killed and the run says 6; the lock becomes free", async () => {
  await using cluster = await startCluster();
  const endpoints = cluster.endpoints.join(",");
  const { run, command } = await startHolding(cluster, endpoints, "paused", STUBBORN);
  const paused = cluster.nodes.slice(0, 2);
  for (const node of paused) node.pause();
  const { code, stderr } = await run.result;
  expect([code, isRunning(command)]).toEqual([6, false]);
  expect(stderr).toContain("holdfast: the lock paused was lost before the command had ended\n");
  for (const node of paused) node.resume();
  await using next = await connect({ endpoints: cluster.endpoints });
  const lock = await next.acquire("paused", { waitMs: 30_000 });
  expect(lock.isHeld).toBe(true);
});

test.concurrent("a command that obeys ends by the SIGTERM, with the grace still left to it", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const line = "trap 'echo told; exit 0' TERM; echo in $$; while :; do sleep 0.02; done";
  const endpoints = cluster.endpoints.join(",");
  const { run } = await startHolding(cluster, endpoints, "obedient", line);
  const [node] = cluster.nodes;
  node?.pause();
  const { code, stdout } = await run.result;
  node?.resume();
  expect(stdout).toContain("told\n");
  // Its own exit code would say that all went well.
  expect(code).toBe(6);
});

test.concurrent("when every node dies, the command is ended while its lock is still its own", async () => {
  await using cluster = await startCluster();
  const endpoints = cluster.endpoints.join(",");
  const { run, command } = await startHolding(cluster, endpoints, "dead", STUBBORN);
  const waiting = startCli(["run", `--endpoints=${endpoints}`, "-w", "2s", "dead", "--", "true"]);
  await using observer = await connect({ endpoints: cluster.endpoints });
  await until("the waiter", async () => (await observer.inspect("dead")).waiters.length === 1);
  for (const node of cluster.nodes) node.kill("SIGKILL");
  const { code, stdout, stderr } = await run.result;
  expect([code, isRunning(command), stdout]).toEqual([6, false, `in ${command}\n`]);
  expect(stderr).toContain("holdfast: the lock dead is being lost: ending the command\n");
  // Nobody counts its wait any more but itself.
  expect(await waiting.result).toMatchObject({ code: 124, stdout: "" });
});

test.concurrent("a command that ends after the cluster has died passes its code on; the release is reported as open", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const flags = [`--endpoints=${cluster.endpoints}`, "--connect-timeout=1s"];
  const line = "echo in; read answer; exit 9";
  const run = startCli(["run", ...flags, "ended", "-c", line], { keepInputOpen: true });
  await run.printed("in\n");
  for (const node of cluster.nodes) node.kill("SIGKILL");
  run.child.stdin?.write("go\n");
  const { code, stderr } = await run.result;
  expect(code).toBe(9);
  expect(stderr).toBe(
    "holdfast: the cluster did not confirm the release of ended: the lock ends within 15s\n",
  );
});

test.concurrent("a signal ends the wait for the release to be confirmed", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const flags = [`--endpoints=${cluster.endpoints}`, "--connect-timeout=1h", "--ttl=10m"];
  const run = startCli(["run", ...flags, "left", "-c", "echo in $$; read answer; exit 9"], {
    keepInputOpen: true,
  });
  await run.printed("\n");
  const command = Number(run.stdout.slice(3));
  for (const node of cluster.nodes) await node.kill("SIGKILL");
  run.child.stdin?.write("go\n");
  await gone([command]);
  // Again, until the run knows as well that its command has ended.
  await until("the run to end", () => {
    run.child.kill("SIGTERM");
    return run.child.exitCode !== null;
  });
  expect(await run.result).toMatchObject({
    code: 9,
    stderr:
      "holdfast: the cluster did not confirm the release of left: the lock ends within 10m 00s\n",
  });
});

test.concurrent("a run that is killed takes its command along", async (context) => {
  if ((await parentDeathPrefix()).length === 0) {
    context.skip("no setpriv of util-linux here: the command of a killed run would go on");
  }
  await using cluster = await startCluster({ nodes: 1 });
  await using next = await connect({ endpoints: cluster.endpoints });
  const endpoints = cluster.endpoints.join(",");
  const line = "echo in $$; exec sleep 600";
  const { run, command } = await startHolding(cluster, endpoints, "orphan", line);
  const waiting = next.acquire("orphan", { waitMs: 30_000 });
  await until("the waiter", async () => (await next.inspect("orphan")).waiters.length === 1);
  run.child.kill("SIGKILL");
  await gone([command]);
  expect(await run.result).toMatchObject({ signal: "SIGKILL" });
  // Nobody could release it: the lease had to end.
  expect((await waiting).isHeld).toBe(true);
});

test.concurrent("a wait that the cluster heard nothing of for too long goes on at the end of the queue", async () => {
  const ports = await freePorts(2);
  const proxy = await TcpProxy.to(ports[0] ?? 0);
  const through = `ws://127.0.0.1:${proxy.address.port}`;
  await using cluster = await startCluster({
    nodes: 1,
    ports,
    serverArguments: [`--advertise=${through}`],
  });
  await using holder = await connect({ endpoints: cluster.endpoints, followLeader: false });
  const lock = await holder.acquire("place");
  const waiters = async (): Promise<number> => (await holder.inspect("place")).waiters.length;
  const flags = [`--endpoints=${through}`, "--ttl=2s", "--kill-grace=600ms"];
  const patient = startCli(["run", ...flags, "place", "--", "echo", "ran"]);
  const hasty = startCli(["run", ...flags, "-w", "6s", "-q", "place", "--", "echo", "ran"]);
  await until("both to wait", async () => (await waiters()) === 2);

  proxy.cut();
  await until("both places to be lost", async () => (await waiters()) === 0);
  proxy.heal();
  await patient.noted("\n");
  expect(patient.stderr).toBe(
    "holdfast: the cluster heard nothing from here for longer than --ttl 2s: the place in the " +
      "queue of place is lost, waiting at the end of the queue\n",
  );
  await until("both to wait again", async () => (await waiters()) === 2);
  // The time of the first wait counts; and quiet is quiet.
  expect(await hasty.result).toMatchObject({ code: 124, stdout: "", stderr: "" });
  await lock.release();
  expect(await patient.result).toMatchObject({ code: 0, stdout: "ran\n" });
  await proxy.close();
});
