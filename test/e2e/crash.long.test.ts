/**
 * Nodes that die, with real processes: nothing that was acknowledged is lost, no token is granted
 * twice, and waiters keep their order.
 */
import { expect, test } from "vitest";
import { type Client, connect, type Lock } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";

/** Tokens in the order in which their holders had the lock, each with its holder. */
interface Grant {
  readonly key: string;
  readonly token: number;
}

async function connectMany(cluster: ClusterProcess, count: number): Promise<Client[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      connect({ endpoints: cluster.endpoints, name: `worker-${index}` }),
    ),
  );
}

test("kill -9 of the leader while 50 clients work: no acknowledged lock lost, no token twice, order kept", async () => {
  await using cluster = await startCluster();
  await using observer = await connect({ endpoints: cluster.endpoints, name: "observer" });

  // A lock that must survive, and a queue behind it whose order must survive.
  const survivor = await observer.acquire("survivor");
  const order: number[] = [];
  const queue: Promise<void>[] = [];
  const waiters = await connectMany(cluster, 5);
  for (const [index, waiter] of waiters.entries()) {
    queue.push(
      waiter.using("survivor", () => {
        order.push(index);
      }),
    );
    // Enqueued one after the other: the next asks when this one is seen waiting.
    while ((await observer.inspect("survivor")).waiters.length <= index);
  }

  // 50 clients on five keys, each counting how many are inside.
  const clients = await connectMany(cluster, 50);
  const grants: Grant[] = [];
  const inside = new Map<string, number>();
  let overlaps = 0;
  let working = true;
  const work = clients.map(async (client, index) => {
    const key = `work/${index % 5}`;
    while (working) {
      await client.using(key, async (lock) => {
        const others = inside.get(key) ?? 0;
        if (others > 0) overlaps += 1;
        inside.set(key, others + 1);
        grants.push({ key, token: lock.token });
        await new Promise((resolve) => setImmediate(resolve));
        inside.set(key, (inside.get(key) ?? 1) - 1);
      });
    }
  });

  const grantsReach = async (count: number): Promise<void> => {
    while (grants.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await grantsReach(500);
  const leader = await cluster.leader();
  await leader.kill("SIGKILL");
  await grantsReach(grants.length + 500);
  await leader.restart();
  await grantsReach(grants.length + 500);
  working = false;
  await Promise.all(work);

  expect(overlaps).toBe(0);
  expect(new Set(grants.map((grant) => grant.token)).size).toBe(grants.length);
  for (const key of inside.keys()) {
    const tokens = grants.filter((grant) => grant.key === key).map((grant) => grant.token);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
  }

  expect(survivor.isHeld).toBe(true);
  const view = await observer.inspect("survivor");
  expect(view.holds.map((hold) => hold.token)).toEqual([survivor.token]);
  expect(view.waiters.map((waiter) => waiter.sessionName)).toEqual(
    waiters.map((_, index) => `worker-${index}`),
  );
  await survivor.release();
  await Promise.all(queue);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  await Promise.all([...clients, ...waiters].map((client) => client.close()));
});

test("all three killed and restarted: holds, waiters and tokens are as they were", async () => {
  await using cluster = await startCluster();
  await using client = await connect({ endpoints: cluster.endpoints, ttlMs: 60_000 });
  const locks: Lock[] = [];
  for (let i = 0; i < 20; i += 1) locks.push(await client.acquire(`kept/${i}`));
  await using other = await connect({ endpoints: cluster.endpoints, ttlMs: 60_000 });
  const waiting = other.acquire("kept/0");
  while ((await client.inspect("kept/0")).waiters.length === 0);

  await Promise.all(cluster.nodes.map((node) => node.kill("SIGKILL")));
  await Promise.all(cluster.nodes.map((node) => node.restart()));

  for (const lock of locks) {
    const view = await client.inspect(lock.key);
    expect(view.holds.map((hold) => hold.token)).toEqual([lock.token]);
    expect(lock.isHeld).toBe(true);
  }
  expect(await locks[0]?.release()).toEqual({ released: true });
  const next = await waiting;
  expect(next.token).toBeGreaterThan(Math.max(...locks.map((lock) => lock.token)));
});

test("a follower that was away catches up and serves reads and locks", async () => {
  await using cluster = await startCluster();
  await using client = await connect({ endpoints: cluster.endpoints });
  const leader = await cluster.leader();
  const follower = cluster.nodes.find((node) => node.id !== leader.id);
  if (follower === undefined) throw new Error("no follower");

  await follower.kill("SIGKILL");
  const away: Lock[] = [];
  for (let i = 0; i < 200; i += 1) away.push(await client.acquire(`away/${i}`));
  await follower.restart();

  // Only this node is asked: what it answers it must have caught up with.
  await using attached = await connect({ endpoints: [follower.endpoint], followLeader: false });
  for (const lock of away) {
    const view = await attached.inspect(lock.key);
    expect(view.holds.map((hold) => hold.token)).toEqual([lock.token]);
  }
  const own = await attached.acquire("through/follower");
  expect(own.token).toBeGreaterThan(away.at(-1)?.token ?? Number.POSITIVE_INFINITY);
});
