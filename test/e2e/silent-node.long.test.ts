/**
 * A leader that is stopped, with all its connections open: whatever the lease of a client, another
 * node serves its calls, its waits and its commands within seconds. Real processes.
 */
import { expect, test } from "vitest";
import { type Client, connect } from "../../src/index.js";
import { runCli, startCluster } from "./world/cluster-process.js";
import { until } from "./world/process-life.js";

const TTLS_MS = [15_000, 60_000, 300_000, 600_000];
/** The promise takes five seconds of it; the rest is for a machine that runs other tests. */
const BOUND_MS = 9_000;

test("is left by every client, and a waiter hears of its turn from another node", async () => {
  await using cluster = await startCluster();
  const { endpoints } = cluster;
  const clients: Client[] = [];
  for (const ttlMs of TTLS_MS) {
    clients.push(await connect({ endpoints, ttlMs }), await connect({ endpoints, ttlMs }));
  }
  const holders = clients.filter((_, i) => i % 2 === 0);
  const waiters = clients.filter((_, i) => i % 2 === 1);
  const locks = await Promise.all(holders.map((client, i) => client.acquire(`k${i}`)));
  const waits = waiters.map((client, i) => client.acquire(`k${i}`));
  const [first = locks[0], second = locks[1]] = locks;
  const endings = endpoints.join(",");
  const running = runCli(["run", "--endpoints", endings, "--ttl", "5m", "job", "--", "sleep", "2"]);
  await until("the job is held", async () => {
    return (await holders[0]?.inspect("job"))?.holds.length === 1;
  });
  const leader = await cluster.leader();
  process.kill(leader.pid, "SIGSTOP");
  try {
    const calls = [
      ...holders.map((client) => client.tryAcquire(`free ${client.session}`)),
      ...locks.map((lock) => lock.release()),
      ...waits,
      holders[0]?.inspect("k0"),
    ];
    const limit = AbortSignal.timeout(BOUND_MS);
    const late = new Promise((_, reject) => {
      limit.addEventListener("abort", () => reject(limit.reason));
    });
    await Promise.race([Promise.all(calls), late]);
    expect(first?.isHeld || second?.isHeld).toBe(false);
    // What ran under a lock of five minutes leaves its key open.
    expect((await running).code).toBe(0);
    const next = await runCli(["run", "--endpoints", endings, "-w", "10s", "job", "--", "true"]);
    expect(next).toMatchObject({ code: 0 });
  } finally {
    process.kill(leader.pid, "SIGCONT");
    await Promise.all(clients.map((client) => client.close()));
  }
}, 120_000);
