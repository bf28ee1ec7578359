/**
 * Every client of `clients` with a real cluster, three processes of which the leader is killed: what
 * the transcripts say of a cluster is what a cluster does.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, connect } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { until } from "../e2e/world/process-life.js";
import { type Driver, LANGUAGES, type Part, startDriver } from "./languages.js";

/** Long enough for a failover. */
const TTL_MS = 12_000;
let cluster: ClusterProcess;
let client: Client;

beforeAll(async () => {
  cluster = await startCluster();
  client = await connect({ endpoints: cluster.endpoints });
});

afterAll(async () => {
  await client?.close();
  await cluster?.stop();
});

for (const language of LANGUAGES) {
  const { name, missing, prepare } = language;
  const start = (part: Part): Driver => startDriver(language, part, cluster.endpoints.join(), "");

  describe.skipIf(missing !== undefined)(`${name} [${missing ?? "is tested"}]`, () => {
    beforeAll(prepare, 300_000);

    test("requests of several processes are granted one after the other, each with its token", async () => {
      const key = `${name}/größe a&b`;
      const lock = { keys: [key], ttlMs: TTL_MS };
      const drivers = Array.from({ length: 4 }, () => start({ lock }));
      const reports = await Promise.all(drivers.map((driver) => driver.reports));
      expect(reports.map(({ outcome }) => outcome)).toEqual(Array(4).fill("released"));
      expect(new Set(reports.map(({ token }) => token)).size).toBe(4);
      expect(await client.inspect(key)).toMatchObject({ holds: [], waiters: [] });
    });

    test("a lock that another has is refused to a try, and not in time to a short wait", async () => {
      await using held = await client.acquire(`${name}/held`);
      const keys = [held.key];
      const tried = start({ lock: { keys, ttlMs: TTL_MS, waitMs: 0 } });
      expect(await tried.reports).toEqual({ outcome: "LOCK_HELD" });
      const waited = start({ lock: { keys, ttlMs: TTL_MS, waitMs: 1_000 } });
      expect(await waited.reports).toEqual({ outcome: "LOCK_TIMEOUT" });
    });

    test("a lock that an operator revokes is lost", async () => {
      const key = `${name}/revoked`;
      const driver = start({ lock: { keys: [key], ttlMs: 3_000 }, holds: "until lost" });
      await driver.holding;
      await client.revoke({ key }, { now: true });
      const wanted = language.expected({ outcome: "lost", reason: "revoked" });
      expect(await driver.reports).toMatchObject(wanted);
    });

    test("a lock, and a request that waits for it, outlive the leader", async () => {
      const key = `${name}/failover`;
      const lock = { keys: [key], ttlMs: TTL_MS };
      const holder = start({ lock, holds: "until told" });
      await holder.holding;
      const waiter = start({ lock });
      await until("a waiter", async () => (await client.inspect(key)).waiters.length === 1);
      const leader = await cluster.leader();
      await leader.kill();
      await cluster.leader();
      holder.finish();
      const [first, second] = await Promise.all([holder.reports, waiter.reports]);
      expect([first["outcome"], second["outcome"]]).toEqual(["released", "released"]);
      expect(Number(second["token"])).toBeGreaterThan(Number(first["token"]));
      await leader.start();
    });
  });
}
