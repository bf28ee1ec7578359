/** The Redis door of a real node: rights, tokens, TLS and certificates; locks of both worlds. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { Redis, type RedisOptions } from "ioredis";
import { afterEach, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import {
  createAuthority,
  issueClientCertificate,
  issueNodeCertificate,
} from "../../../src/certificates/index.js";
import { connect, connectAdmin } from "../../../src/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";
import { RespClient } from "./world/resp-client.js";

const DAYS = { days: 30 };
const LOOPBACK = "127.0.0.1";

const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(
  further: (root: string) => Partial<NodeOptions> = () => ({}),
): Promise<{ node: RunningNode; directory: string }> {
  const root = mkdtempSync(join(tmpdir(), "holdfast-redis-"));
  endings.push(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, "data");
  const [port = 0] = await freePorts(1);
  const peer = { host: LOOPBACK, port };
  const node = await startNode({
    ...{ id: 1, dataDirectory: directory, peerListen: peer },
    initialCluster: [{ id: 1, address: peer }],
    listen: { host: LOOPBACK, port: 0 },
    redisListen: { host: LOOPBACK, port: 0 },
    ...further(root),
  });
  endings.push(() => node.stop());
  return { node, directory };
}

function redisOf({ redisPort }: RunningNode, options: Partial<RedisOptions> = {}): Redis {
  const redis = new Redis(redisPort, LOOPBACK, { retryStrategy: () => null, ...options } as never);
  redis.on("error", () => {});
  endings.push(() => redis.disconnect());
  return redis;
}

test("a lock of a Redis client may last a day by default, and refusals beyond that name the limit", async () => {
  const { node } = await start();
  const redis = redisOf(node);
  expect(await redis.set("backup", "me", "EX", 595, "NX")).toBe("OK");
  // What Laravel asks for by default.
  expect(await redis.set("nightly", "me", "EX", 86_400, "NX")).toBe("OK");
  expect(await redis.pttl("nightly")).toBeGreaterThan(86_000_000);
  const refused = redis.set("longer", "me", "EX", 86_401, "NX");
  await expect(refused).rejects.toThrowError(/longer than 86400000 ms, the setting leaseTtlMsMax/);
});

test("a lock of a Redis client is one of the cluster, and can be revoked there", async () => {
  const { node } = await start();
  const redis = redisOf(node);
  expect(await redis.set("orders/1", "me", "PX", 60_000, "NX")).toBe("OK");
  await using client = await connect({ endpoints: [node.endpoint] });
  const { holds } = await client.inspect("~redis/0/orders/1");
  expect(holds).toMatchObject([{ value: "me", session: 0, identity: "anonymous" }]);
  expect(await redis.call("HOLDFAST.TOKEN", "orders/1", "me")).toBe(holds[0]?.token);
  expect(await redis.pttl("orders/1")).toBeLessThanOrEqual(60_000);
  await client.revoke({ key: "~redis/0/orders/1" }, { now: true });
  expect(await redis.get("orders/1")).toBeNull();
});

test("the metrics count connections, commands, refusals, and who was cut off", async () => {
  const { node } = await start();
  const figures = async (): Promise<string[]> => {
    const page = await fetch(`http://${LOOPBACK}:${node.clientPort}/metrics`);
    return (await page.text()).split("\n").filter((line) => line.startsWith("holdfast_redis_"));
  };
  expect(await figures()).toEqual([
    "holdfast_redis_connections 0",
    "holdfast_redis_commands_total 0",
    "holdfast_redis_refused_total 0",
    "holdfast_redis_cut_off_total 0",
    "holdfast_redis_unendable_kinds 0",
  ]);
  const redis = redisOf(node, { enableReadyCheck: false });
  await redis.ping();
  const [, before = ""] = await figures();
  await expect(redis.lpush("list", "one")).rejects.toThrow(/NOHOLDFAST/);
  const [connections, commands = "", refused, cutOff] = await figures();
  expect(connections).toBe("holdfast_redis_connections 1");
  expect(Number(commands.split(" ")[1])).toBe(Number(before.split(" ")[1]) + 1);
  expect([refused, cutOff]).toEqual([
    "holdfast_redis_refused_total 1",
    "holdfast_redis_cut_off_total 0",
  ]);
  const rude = connectTcp(node.redisPort, LOOPBACK);
  await once(rude, "connect");
  rude.write("*1\r\n+what\r\n");
  await once(rude.resume(), "close");
  expect((await figures()).slice(2)).toEqual([
    "holdfast_redis_refused_total 1",
    "holdfast_redis_cut_off_total 1",
    "holdfast_redis_unendable_kinds 0",
  ]);
});

test("in a closed cluster a token signs in, with the rights of its identity", async () => {
  const { node, directory } = await start();
  await using admin = await connectAdmin({ endpoints: [`unix:${directory}`] });
  const { access } = admin;
  await access.addIdentity("root");
  await access.grant("root", "admin", { prefix: "" });
  await access.createToken("root");
  await access.addIdentity("worker");
  await access.grant("worker", "acquire", { prefix: "~redis/0/jobs/" });
  const { token } = await access.createToken("worker");
  await access.revoke("anonymous", { prefix: "" });

  const stranger = redisOf(node, { enableReadyCheck: false });
  await expect(stranger.set("jobs/1", "x", "PX", 1_000, "NX")).rejects.toThrow(/^NOAUTH/);
  const unknown = await RespClient.open(node.redisPort);
  endings.push(() => unknown.close());
  expect(await unknown.call("INFO")).toBe("-NOAUTH Authentication required.");
  expect(await unknown.call("AUTH", "hf_wrong")).toMatch(/^-WRONGPASS/);
  expect(await unknown.call("AUTH", "root", token)).toMatch(/^-WRONGPASS/);
  const worker = redisOf(node, { username: "worker", password: token });
  expect(await worker.set("jobs/1", "x", "PX", 60_000, "NX")).toBe("OK");
  await expect(worker.set("other", "x", "PX", 60_000, "NX")).rejects.toThrow(/^NOPERM/);
  const byDefault = redisOf(node, { password: token });
  expect(await byDefault.get("jobs/1")).toBe("x");

  await access.grant("anonymous", "observe", { prefix: "~redis/0/jobs/" });
  expect(await unknown.call("INFO")).toContain("redis_version");

  await access.removeIdentity("worker");
  await expect.poll(() => worker.status, { timeout: 10_000 }).toBe("end");
});

/** A node with TLS that asks clients for certificates, and who issues them. */
async function startSecure() {
  const authority = createAuthority({ name: "authority", ...DAYS });
  const { node, directory } = await start((root) => {
    const hosts = [LOOPBACK];
    const own = issueNodeCertificate(authority, { cluster: "prod", nodeId: 1, hosts, ...DAYS });
    const files = { cert: own.certificatePem, key: own.keyPem, ca: authority.certificatePem };
    const [tlsCert, tlsKey, tlsCa] = Object.entries(files).map(([name, text]) => {
      const path = join(root, `${name}.pem`);
      writeFileSync(path, text);
      return path;
    }) as [string, string, string];
    return { tlsCert, tlsKey, tlsCa, clientCa: tlsCa, clusterName: "prod" };
  });
  const admin = await connectAdmin({ endpoints: [`unix:${directory}`] });
  endings.push(() => admin.close());
  const ca = authority.certificatePem;
  const credentialsOf = (name: string) => {
    const shown = issueClientCertificate(authority, { cluster: "prod", name, ...DAYS });
    return { ca, cert: shown.certificatePem, key: shown.keyPem };
  };
  return { node, directory, admin, ca, credentialsOf };
}

test("with TLS the port has the node's certificate, and a client's certificate is its name", async () => {
  const { node, directory, admin, ca, credentialsOf } = await startSecure();
  await admin.access.addIdentity("worker");
  await admin.access.grant("worker", "acquire", { prefix: "" });
  await admin.access.addCertificate("worker");
  const plain = redisOf(node, { enableReadyCheck: false, enableOfflineQueue: true });
  await expect(plain.ping()).rejects.toThrow();
  const anonymous = redisOf(node, { tls: { ca } });
  expect(await anonymous.set("a", "x", "PX", 60_000, "NX")).toBe("OK");

  const named = redisOf(node, { tls: credentialsOf("worker") });
  expect(await named.set("b", "x", "PX", 60_000, "NX")).toBe("OK");
  await using client = await connect({ endpoints: [`unix:${directory}`] });
  const identityOf = async (key: string): Promise<string | undefined> =>
    (await client.inspect(`~redis/0/${key}`)).holds[0]?.identity;
  expect([await identityOf("a"), await identityOf("b")]).toEqual(["anonymous", "worker"]);
});

test("a client whose certificate names nobody whom the cluster knows is a stranger", async () => {
  const { node, admin, credentialsOf } = await startSecure();
  const { access } = admin;
  await access.addIdentity("worker");
  await access.grant("worker", "admin", { prefix: "" });
  await access.addCertificate("worker");
  const { token } = await access.createToken("worker");
  await access.revoke("anonymous", { prefix: "" });

  const named = redisOf(node, { tls: credentialsOf("worker") });
  expect(await named.set("a", "x", "PX", 60_000, "NX")).toBe("OK");
  const socket = connectTls({ port: node.redisPort, host: LOOPBACK, ...credentialsOf("nobody") });
  const nobody = RespClient.over(socket);
  endings.push(() => nobody.close());
  for (const command of [["INFO"], ["GET", "a"], ["SUBSCRIBE", "c"], ["SENTINEL", "masters"]]) {
    expect(await nobody.call(...command)).toBe("-NOAUTH Authentication required.");
  }
  expect(await nobody.call("HELLO", "3")).toMatch(/^-NOAUTH HELLO must be called/);
  expect(await nobody.call("AUTH", "x".repeat(5_000))).toMatch(/^-ERR Protocol error: a length of/);
  await nobody.closed();
  const known = connectTls({ port: node.redisPort, host: LOOPBACK, ...credentialsOf("nobody") });
  const signed = RespClient.over(known);
  endings.push(() => signed.close());
  expect(await signed.call("AUTH", "worker", token)).toBe("+OK");
  expect(await signed.call("GET", "a")).toBe("x");
});

test("who waits at the channel of a registry hears of each end of its locks, by release or time", async () => {
  const { node } = await start();
  const listener = redisOf(node);
  const heard: string[] = [];
  listener.on("message", (channel, message) => heard.push(`${channel} ${message}`));
  await listener.subscribe("registry-channel");
  const redis = redisOf(node);
  await redis.set("registry:a", "me", "PX", 60_000, "NX");
  await redis.set("registry:b", "me", "PX", 50, "NX");
  await redis.set("other:c", "me", "PX", 50, "NX");
  // As Spring's lock registry releases.
  const script = `
    local lockClientId = redis.call('GET', KEYS[1])
    if (lockClientId == ARGV[1] and redis.call('UNLINK', KEYS[1]) == 1) then
      redis.call('PUBLISH', ARGV[2], KEYS[1])
      return true
    end
    return false`;
  expect(await redis.eval(script, 1, "registry:a", "me", "registry-channel")).toBe(1);
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(2);
  expect(heard.sort()).toEqual(["registry-channel registry:a", "registry-channel registry:b"]);
});

test("an ioredis client finds the node by its port that is a sentinel only", async () => {
  const { node } = await start(() => ({ redisSentinelListen: { host: LOOPBACK, port: 0 } }));
  const sentinels = [{ host: LOOPBACK, port: node.redisSentinelPort }];
  const redis = new Redis({ sentinels, name: "mymaster" });
  // Until there is a leader, there is no master.
  redis.on("error", () => {});
  endings.push(() => redis.disconnect());
  expect(await redis.set("k", "v", "PX", 60_000, "NX")).toBe("OK");
});

test("PERSIST takes the end of a lock away, if the node and the setting allow it", async () => {
  const { node, directory } = await start(() => ({ redisAllowEndless: true }));
  const redis = redisOf(node);
  await redis.set("k", "v", "PX", 60_000, "NX");
  await expect(redis.persist("k")).rejects.toThrow(/^ERR .*endlessLeases/);
  await using admin = await connectAdmin({ endpoints: [`unix:${directory}`] });
  await admin.changeSetting("endlessLeases", 1);
  expect([await redis.persist("k"), await redis.ttl("k")]).toEqual([1, -1]);
});

test("with redisFair the client that asked first gets the lock, from any connection", async () => {
  const { node } = await start(() => ({ redisFair: true }));
  const [holder, first, second] = [redisOf(node), redisOf(node), redisOf(node)];
  const ask = (redis: Redis, value: string): Promise<"OK" | null> =>
    redis.set("k", value, "PX", 60_000, "NX");
  expect(await ask(holder, "holder")).toBe("OK");
  expect(await ask(first, "first")).toBeNull();
  expect(await ask(second, "second")).toBeNull();
  await using client = await connect({ endpoints: [node.endpoint] });
  await expect.poll(async () => (await client.inspect("~redis/0/k")).waiters.length).toBe(2);
  await holder.call("DELEX", "k", "IFEQ", "holder");
  expect(await ask(second, "second")).toBeNull();
  await expect.poll(() => ask(first, "first")).toBe("OK");
  expect(await second.get("k")).toBe("first");
  expect(await second.pttl("k")).toBeGreaterThan(50_000);
});
