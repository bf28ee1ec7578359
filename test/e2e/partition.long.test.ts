/** A leader that is cut off, and a follower that hears nothing, with proxies between all nodes. */
import { afterEach, expect, test } from "vitest";
import type { TcpProxy } from "../../lab/tcp-proxy.js";
import { connect } from "../../src/index.js";
import { until } from "./world/process-life.js";
import { endpointOf, IDS, type ProxiedCluster, startProxied } from "./world/proxied-cluster.js";

let proxied: ProxiedCluster | undefined;

afterEach(async () => {
  await proxied?.stop();
  proxied = undefined;
});

test("a leader cut off from the others is replaced, its clients move, and it comes back as a follower", async () => {
  proxied = await startProxied();
  const { cluster, endpoints } = proxied;
  const leader = await cluster.leader();
  await using client = await connect({ endpoints, ttlMs: 30_000 });
  const kept = await client.acquire("kept");
  const before = (await leader.status())?.term ?? 0;
  // Clients learn the proxies and nothing else.
  expect([...client.endpoints].sort()).toEqual([...endpoints].sort());

  for (const link of proxied.linksOf(leader.id)) link.cut();
  const during = await client.acquire("during");
  expect(during.token).toBeGreaterThan(kept.token);
  const others = cluster.nodes.filter((node) => node.id !== leader.id);
  await until("one of the others to lead", async () => {
    const statuses = await Promise.all(others.map((node) => node.status()));
    return statuses.some((status) => status?.role === "leader" && status.term > before);
  });
  await until("it to lead no more", async () => (await leader.status())?.role !== "leader");
  expect(kept.isHeld).toBe(true);

  for (const link of proxied.linksOf(leader.id)) link.heal();
  const after = await cluster.leader();
  await using late = await connect({
    endpoints: [endpointOf(proxied.clientPorts.get(leader.id) as TcpProxy)],
    followLeader: false,
  });
  // What it answers it must have caught up with.
  expect((await late.inspect("during")).holds[0]?.token).toBe(during.token);
  expect((await after.status())?.term).toBeGreaterThan(before);
  expect(await kept.release()).toEqual({ released: true });
});

test("a follower that can be heard but hears nothing disturbs nobody", async () => {
  proxied = await startProxied();
  const { cluster, endpoints, links } = proxied;
  const leader = await cluster.leader();
  const deaf = cluster.nodes.find((node) => node.id !== leader.id);
  await using client = await connect({ endpoints, ttlMs: 30_000 });
  for (const from of IDS) links.get(`${from}>${deaf?.id}`)?.cut();

  // Until it has noticed, and long enough to stand for election several times.
  while ((await deaf?.status())?.leader !== 0)
    await client.acquire("work").then((l) => l.release());
  const term = (await deaf?.status())?.term;
  for (let i = 0; i < 300; i += 1) {
    const lock = await client.acquire("work");
    expect(await lock.release()).toEqual({ released: true });
  }
  // It hears of no term of others, and asks for votes in none of its own.
  expect((await deaf?.status())?.term).toBe(term);
});
