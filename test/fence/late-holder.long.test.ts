/**
 * The story that fencing is for, with a real cluster, a real process that is really stopped, and
 * real stores: a holder reads and is paused; its lease ends; another gets the lock, reads the same
 * and writes; the first one comes back and writes what it had in mind.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "../e2e/world/cluster-process.js";
import { startLateWriter } from "./late-writer.js";
import { startNumberService } from "./stores/number-service.js";
import { startObjectServer } from "./stores/object-server.js";
import { startPostgresql } from "./stores/postgresql.js";
import { startRedis } from "./stores/redis.js";
import { openTarget, type TargetSpec } from "./stores/targets.js";

/** The shortest there is. */
const TTL_MS = 1_000;
let cluster: ClusterProcess;

beforeAll(async () => {
  cluster = await startCluster();
});

afterAll(() => cluster?.stop());

async function expectTheLateHolderRefused(spec: TargetSpec): Promise<void> {
  const { endpoints } = cluster;
  const key = `number/${spec.store}`;
  const target = await openTarget(spec, true);
  const client = await connect({ endpoints, name: "rival" });
  try {
    const late = await startLateWriter({ endpoints, key, ttlMs: TTL_MS, target: spec });
    late.pause();
    // Granted when the lease of the paused one has ended.
    const lock = await client.acquire(key, { waitMs: 30_000 });
    expect(lock.token).toBeGreaterThan(late.token);
    expect(await target.read()).toEqual({ fenced: 0, bare: 0 });
    await target.writeFenced(lock, 100);
    await target.writeBare(100);

    expect(await late.resume()).toEqual({ fenced: "STALE_TOKEN", bare: "written" });

    // What the rival wrote is lost where nothing refused the late holder, and only there.
    expect(await target.read()).toEqual({ fenced: 100, bare: 1 });
    lock.assertHeld();
    await target.writeFenced(lock, 101);
    expect(await target.read()).toEqual({ fenced: 101, bare: 1 });
  } finally {
    await client.close();
    await target.close();
  }
}

test("SQLite refuses a holder that was paused, by the row's own fence", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-late-"));
  try {
    await expectTheLateHolderRefused({ store: "sqlite", file: join(directory, "number.db") });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a service over HTTP refuses a holder that was paused, by its gate", async () => {
  await using service = await startNumberService();
  await expectTheLateHolderRefused({ store: "http", url: service.url });
});

test("an object store refuses a holder that was paused, by conditional writes", async () => {
  await using server = await startObjectServer();
  await expectTheLateHolderRefused({ store: "objects", url: server.url });
});

test("PostgreSQL refuses a holder that was paused, by the table of gates", async (context) => {
  await using server = await startPostgresql();
  if (server === undefined) return context.skip("PostgreSQL is not installed");
  await expectTheLateHolderRefused({ store: "postgresql", port: server.port });
});

test("Redis refuses a holder that was paused, by its script", async (context) => {
  await using server = await startRedis();
  if (server === undefined) return context.skip("Redis is not installed");
  await expectTheLateHolderRefused({ store: "redis", port: server.port });
});
