/** `holdfast cluster --tls`: how its endpoints are reached, and that its data do not depend on TLS. */
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endAllStarted } from "../../../lab/end-with-process.js";
import { issueClientCertificate } from "../../../src/certificates/index.js";
import { bareEnvironment, type CliResult, runCli } from "../world/command-line.js";
import { documentOf, expectFailure } from "../world/command-result.js";
import {
  interrupt,
  killLeftNodes,
  type StartedCluster,
  startLocal,
  startReady,
} from "../world/local-cluster.js";
import { until } from "../world/process-life.js";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-cluster-tls-"));
});
afterAll(async () => {
  endAllStarted();
  killLeftNodes();
  await rm(directory, { recursive: true, force: true });
});

/** In another directory than the cluster's, as another shell may be. */
function holdfast({ ready }: StartedCluster, ...args: readonly string[]): Promise<CliResult> {
  const env = { HOLDFAST_ENDPOINTS: ready.endpoints.join(",") };
  return runCli(args, { cwd: tmpdir(), env });
}

async function tokenFrom(started: StartedCluster, ...flags: readonly string[]): Promise<number> {
  const print = ["-c", 'printf %s "$HOLDFAST_TOKEN"'];
  const ran = await holdfast(started, "run", ...flags, "demo", ...print);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  return Number(ran.stdout);
}

/** A setting, which is in the log. */
async function waitersMaxOf(started: StartedCluster, ...flags: readonly string[]): Promise<number> {
  const result = await holdfast(started, "settings", "get", "waitersMax", "--json", ...flags);
  return documentOf<[{ value: number }]>(result)[0].value;
}

test("locks are taken with --ca alone; any next start has the same CA and data", async () => {
  const data = join(directory, "kept");
  const first = await startReady(data, "--nodes=1", "--tls");
  const certs = join(data, "certs");
  expect(first.ready).toEqual({
    endpoints: [expect.stringMatching(/^wss:\/\/127\.0\.0\.1:\d+$/)],
    leader: 1,
    nodes: [expect.objectContaining({ id: 1, endpoint: first.ready.endpoints[0] })],
    ...{ access: expect.objectContaining({ state: "open" }), tls: true },
    ...{ ca: join(certs, "ca.crt"), cert: join(certs, "client-local.crt") },
    certKey: join(certs, "client-local.key"),
  });
  const ca = `--ca=${first.ready.ca}`;
  expect(await tokenFrom(first, ca)).toBeGreaterThan(0);
  expect((await holdfast(first, "settings", "set", "waitersMax", "4711", ca)).code).toBe(0);
  expectFailure(
    await holdfast(first, "run", "demo", "--connect-timeout=2s", "--", "true"),
    4,
    /from a CA that is not trusted here: give the CA of the cluster \(ca\)/,
  );
  const plain = first.ready.endpoints[0]?.replace("wss:", "ws:");
  const inPlainText = await runCli(["status", `--endpoints=${plain}`]);
  expect(inPlainText.code).toBe(4);
  expect(inPlainText.stdout).toContain("if it speaks TLS, its endpoint begins with wss://");
  const before = await readFile(join(certs, "ca.crt"), "utf8");
  await interrupt(first);

  const second = await startReady(data);
  expect(second.ready).not.toHaveProperty("ca");
  expect(second.ready.endpoints[0]).toMatch(/^ws:/);
  expect(await waitersMaxOf(second)).toBe(4_711);
  expect((await holdfast(second, "settings", "set", "waitersMax", "4712")).code).toBe(0);
  await interrupt(second);

  const third = await startReady(data, "--tls");
  expect(await readFile(join(certs, "ca.crt"), "utf8")).toBe(before);
  expect(await waitersMaxOf(third, ca)).toBe(4_712);
  await interrupt(third);
});

test("people learn what to put into the environment of another shell", async () => {
  const data = join(directory, "it's told");
  const cluster = startLocal(data, "--nodes=1", "--tls", "--require-client-cert");
  await cluster.printed("Ctrl-C stops it.\n");
  const pid = Number(/pid (\d+)/.exec(cluster.stdout)?.[1]);
  const exports = cluster.stdout.split("\n").filter((line) => line.startsWith("  export "));
  expect(exports.map((line) => /HOLDFAST_\w+/.exec(line)?.[0])).toEqual([
    ...["HOLDFAST_ENDPOINTS", "HOLDFAST_CA", "HOLDFAST_CERT", "HOLDFAST_CERT_KEY"],
  ]);
  // What a shell makes of them.
  const script = `${exports.join("\n")}\nenv -0`;
  const variables = execFileSync("sh", ["-c", script], {
    ...{ encoding: "utf8", env: bareEnvironment() },
  }).split("\0");
  const env = Object.fromEntries(
    variables.filter((text) => text.startsWith("HOLDFAST_")).map((text) => text.split("=", 2)),
  ) as Record<string, string>;
  const nodes = documentOf<{ nodes: unknown[] }>(await runCli(["status", "--json"], { env })).nodes;
  expect(nodes).toEqual([expect.objectContaining({ id: 1, role: "leader" })]);
  expect((await runCli(["run", "demo", "-n", "--", "true"], { env })).code).toBe(0);
  const { HOLDFAST_CERT: _, HOLDFAST_CERT_KEY: __, ...rest } = env;
  expectFailure(
    await runCli(["ls", "--connect-timeout=2s"], { env: rest }),
    4,
    /certificate of this client \(cert, key\)/,
  );
  await interrupt({ cluster, pids: [pid] });
});

test("a node that is killed comes back with its certificate", async () => {
  const started = await startReady(join(directory, "again"), "--tls", "--restart");
  const { cluster, ready, pids } = started;
  const ca = `--ca=${ready.ca}`;
  process.kill(pids[0] ?? 0, "SIGKILL");
  await cluster.noted("holdfast: node 1 is running again as pid ");
  const again = Number(/is running again as pid (\d+)/.exec(cluster.stderr)?.[1]);
  await until("node 1 to follow the leader", async () => {
    const { stdout } = await holdfast(started, "status", "--json", ca);
    const { nodes } = JSON.parse(stdout) as { nodes: { pid: number | null; role: string }[] };
    return nodes.some(({ pid, role }) => pid === again && role === "follower");
  });
  expect(await tokenFrom(started, ca)).toBeGreaterThan(0);
  await interrupt({ cluster, pids: [...pids, again] });
});

test("client certificates cannot be required without TLS", async () => {
  const flags = [`--data=${join(directory, "without")}`, "--require-client-cert"];
  const sentence = /^holdfast: --require-client-cert needs --tls\n$/;
  expectFailure(await runCli(["cluster", ...flags]), 2, sentence);
});

test("a certificate that expires soon is renewed with a line that says so; without the CA's key nothing starts", async () => {
  const data = join(directory, "renewed");
  await interrupt(await startReady(data, "--nodes=1", "--tls"));
  const at = (name: string): string => join(data, "certs", name);
  const read = (file: string): Promise<string> => readFile(file, "utf8");
  const authority = { certificatePem: await read(at("ca.crt")), keyPem: await read(at("ca.key")) };
  const { clusterName: cluster } = JSON.parse(await read(join(data, "cluster.json")));
  const short = issueClientCertificate(authority, { cluster, name: "local", days: 7 });
  await writeFile(at("client-local.crt"), short.certificatePem);
  await writeFile(at("client-local.key"), short.keyPem);
  const started = await startReady(data, "--nodes=1", "--tls", "--require-client-cert");
  expect(started.cluster.stderr).toBe(
    `holdfast: renewed certificates that had expired or were about to: ${at("client-local.crt")}\n`,
  );
  const { ca, cert, certKey } = started.ready;
  const access = [`--ca=${ca}`, `--cert=${cert}`, `--cert-key=${certKey}`];
  expect(await tokenFrom(started, ...access)).toBeGreaterThan(0);
  await interrupt(started);

  await rm(at("ca.key"));
  expectFailure(
    await runCli(["cluster", `--data=${data}`, "--port=0", "--tls"]),
    1,
    /ca\.key is missing: restore it, or delete .*certs to have all certificates made again/,
  );
});
